package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/memory"
)

// Two processes that share a working directory never promise more than there is, and
// who takes the lead over knows what was promised: of jobs that each need more than a
// quarter of what is free, three are let through, and then one for each that ends.
// Shows: P8
func TestTwoProcessesShareSpace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	free, err := w.cfg.Work.Free()
	if err != nil {
		t.Fatal(err)
	}
	w.web.on("/large", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", fmt.Sprint(free/10*3))
	})
	jobs := make([]domain.JobID, 6)
	for i := range jobs {
		jobs[i] = w.jobIn(domain.JobProvisioning, domain.TypeFile, "/large", func(s *domain.Submission) { s.FileName = "large" })
	}
	process := func() (*memory.Store, func()) {
		s := w.mem.Session()
		cfg := w.cfg
		h := *w.h
		h.Live = s
		cfg.Handler, cfg.Claims, cfg.Space, cfg.Outbox, cfg.Workers = &h, s, s, s, map[string]int{}
		for _, d := range Daemons {
			cfg.Workers[d.Name] = 0
		}
		cfg.Workers[domain.DaemonJobProvisioning] = 2
		r, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		return s, func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	first, stopFirst := process()
	second, stopSecond := process()
	defer stopSecond()

	// rest waits until each job downloads or was told that it waits.
	rest := func(want int) (through []domain.JobID) {
		t.Helper()
		for {
			through = nil
			told := 0
			for _, id := range jobs {
				switch j := w.job(id); {
				case j.Promised():
					through = append(through, id)
				case j.State != domain.JobProvisioning || j.Reason != nil:
					told++
				}
			}
			if len(through) > want || len(through) == want && len(through)+told == len(jobs) {
				break
			}
			w.clock.Advance(time.Second) // those that wait look again
			pause(t.Context(), time.Millisecond)
			if t.Context().Err() != nil {
				t.Fatalf("%d through, %d told\n%s", len(through), told, w.log)
			}
		}
		if len(through) != want {
			t.Fatalf("%d jobs of 3/10 of the space each are let through\n%s", len(through), w.log)
		}
		return through
	}
	through := rest(3)
	w.mem.Expire(first) // whoever leads
	w.mem.Expire(second)
	rest(3)
	stopFirst()
	w.doJob(through[0], domain.FailJob{Reason: domain.Reason{Class: domain.ClassSystem, Code: reason.CodeInternal, Message: "a test"}})
	if again := rest(3); slices.Contains(again, through[0]) {
		t.Errorf("%v after %s failed", again, through[0])
	}
}
