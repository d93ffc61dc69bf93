package cli

import (
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// drawn keeps what was drawn and tells of every drawing.
type drawn struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func (d *drawn) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.news <- struct{}{}:
	default:
	}
	return d.text.Write(b)
}

// TestBarIsDrawnWhileTheBatchMoves has the two goroutines meet: the one that draws
// and the one that follows the batch.
func TestBarIsDrawnWhileTheBatchMoves(t *testing.T) {
	t.Parallel()
	w := &drawn{news: make(chan struct{}, 1)}
	jobs := map[domain.JobState]int{domain.JobPending: 1, domain.JobEstimating: 12, domain.JobProvisioning: 13, domain.JobDownloading: 14, domain.JobProcessing: 15}
	end, err := watchBar(t.Context(), w, "bid0000000001", func(seen func(app.Event, app.Progress)) (app.Progress, error) {
		p := app.Progress{Batch: "bid0000000001", State: domain.BatchProcessing, Listed: 55, Jobs: jobs}
		for range 3 {
			<-w.news
			for n := range 50 {
				p.Completed = n
				seen(app.Event{}, p)
			}
		}
		<-w.news
		<-w.news
		p.State, p.Completed = domain.BatchCompleted, 55
		return p, nil
	})
	if err != nil || end.Completed != 55 {
		t.Errorf("%+v, %v", end, err)
	}
	text := w.text.String()
	for _, want := range []string{"bid0000000001", "49 of 55 jobs", "[=", "55 of 55 jobs"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not drawn:\n%s", want, text)
		}
	}
}

func TestPhasesLeaveRoomForTheBar(t *testing.T) {
	t.Parallel()
	now := app.Progress{Jobs: map[domain.JobState]int{domain.JobPending: 3, domain.JobEstimating: 12, domain.JobCompleted: 7}}
	for _, c := range []struct {
		columns int
		want    string
	}{
		{80, "  3 pending, 12 estimating, 7 completed"},
		{39, "  3 pending, 12 estimating, 7 completed"},
		{38, "  …, 12 estimating, 7 completed"},
		{30, "  …, 7 completed"},
		{15, ""},
		{-20, ""},
	} {
		if got := phasesWithin(now, c.columns); got != c.want {
			t.Errorf("in %d columns: %q, want %q", c.columns, got, c.want)
		}
	}
	if got := phasesWithin(app.Progress{}, 80); strings.TrimSpace(got) != "" {
		t.Errorf("nothing is %q", got)
	}
}
