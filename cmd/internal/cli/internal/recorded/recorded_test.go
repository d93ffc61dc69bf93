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

// TestGrabbedArrivals: a batch that was grabbed takes a server from then on, and has waited
// since it was received, or released. A synchronous one is none of the queue.
func TestGrabbedArrivals(t *testing.T) {
	t.Parallel()
	got, left, err := recorded.Arrivals(strings.NewReader(`
{"type":"batch.submitted","subject":"batch/bid0000000001","time":"2026-03-01T12:00:00.000Z","data":{"submission":{"submitter":"ana","size":7},"ticket":{"queue":"metadata","user":"ana@x","slot":1}}}
{"type":"batch.submitted","subject":"batch/bid0000000002","time":"2026-03-01T12:00:01.000Z","data":{"submission":{"submitter":"ben"},"ticket":{"queue":"metadata","user":"ben","slot":2}}}
{"type":"batch.grabbed","subject":"batch/bid0000000001","time":"2026-03-01T12:00:30.000Z","data":{"ticket":{"queue":"metadata","user":"ana@x","slot":1,"turn":1}}}
{"type":"batch.held","subject":"batch/bid0000000002","time":"2026-03-01T12:00:31.000Z","data":{}}
{"type":"batch.submitted","subject":"batch/bid0000000003","time":"2026-03-01T12:00:35.000Z","data":{"submission":{"submitter":"cleo"},"ticket":{"queue":"metadata","user":"cleo","slot":0,"synchronous":true}}}
{"type":"batch.completed","subject":"batch/bid0000000003","time":"2026-03-01T12:00:36.000Z","data":{}}
{"type":"batch.released","subject":"batch/bid0000000002","time":"2026-03-01T12:00:40.000Z","data":{"ticket":{"queue":"metadata","user":"ben","slot":3}}}
{"type":"batch.completed","subject":"batch/bid0000000001","time":"2026-03-01T12:00:50.000Z","data":{}}
{"type":"batch.grabbed","subject":"batch/bid0000000002","time":"2026-03-01T12:00:45.000Z","data":{"ticket":{"queue":"metadata","user":"ben","slot":3,"turn":3}}}
{"type":"batch.failed","subject":"batch/bid0000000002","time":"2026-03-01T12:00:46.000Z","data":{}}`[1:]))
	want := []simulate.Arrival{
		{User: "ana@x", Size: 7, Service: 20 * time.Second, Grabbed: true, Waited: 30 * time.Second},
		{User: "ben", At: 40 * time.Second, Service: time.Second, Grabbed: true, Waited: 5 * time.Second},
	}
	if err != nil || left != 0 || !slices.Equal(got, want) {
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
