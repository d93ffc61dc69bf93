package recorded_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/recorded"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// TestArrivals: a batch counts from its submission to its first report.
func TestArrivals(t *testing.T) {
	t.Parallel()
	got, left, err := recorded.Arrivals(strings.NewReader(`
{"type":"batch.submitted","subject":"batch/bid0000000002","time":"2026-03-01T12:00:10.000Z","data":{"submission":{"submitter":"ben"}}}
{"type":"batch.submitted","subject":"batch/bid0000000001","time":"2026-03-01T12:00:00.000Z","data":{"submission":{"submitter":"ana"}}}
{"type":"job.created","subject":"job/jid0000000001","time":"2026-03-01T12:00:01.000Z","data":{}}
{"type":"batch.submitted","subject":"batch/bid0000000003","time":"2026-03-01T12:00:20.000Z","data":{"submission":{"submitter":"ana"}}}
{"type":"batch.failed","subject":"batch/bid0000000009","time":"2026-03-01T12:00:20.000Z","data":{}}
{"type":"batch.failed","subject":"batch/bid0000000001","time":"2026-03-01T12:01:00.000Z","data":{}}
{"type":"batch.completed","subject":"batch/bid0000000001","time":"2026-03-02T12:00:00.000Z","data":{}}
{"type":"batch.completed","subject":"batch/bid0000000002","time":"2026-03-01T12:00:12.500Z","data":{}}`[1:]))
	want := []simulate.Arrival{{User: "ben", At: 10 * time.Second, Service: 2500 * time.Millisecond}, {User: "ana", Service: time.Minute}}
	if err != nil || left != 1 || !slices.Equal(got, want) {
		t.Errorf("%+v, %d left, %v", got, left, err)
	}
}

// TestNoArrivals: what is no event is named by its line.
func TestNoArrivals(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                                   "no batch in it was submitted and reported",
		"seq,id,type\n":                      "line 1 is no event: give the output of",
		`{"type":"a","subject":"b"}` + "\n{": "line 2 is no event",
		`{"type":"batch.submitted","subject":"batch/b","time":"2026-03-01T12:00:10.000Z"}`: "no batch in it was submitted and reported",
	} {
		if _, _, err := recorded.Arrivals(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v does not say %q", text, err, says)
		}
	}
}
