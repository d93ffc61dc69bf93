package ops

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("it is away")

// shared is what an installation of tests says of itself.
func shared(lag func() error) Installation {
	return Installation{
		Overview: func(context.Context) (eventstore.Overview, error) {
			workers := make([]eventstore.WorkerInfo, 3)
			workers[1].Daemons = []string{domain.DaemonBatchPending, domain.DaemonJobNotify}
			return eventstore.Overview{Workers: workers, Queues: map[domain.JobState]int{domain.JobPending: 7},
				Outbox: eventstore.OutboxDepth{Unsent: 5, Oldest: 2 * time.Second}, Batches: 2, Jobs: 9, Heap: 72_000}, nil
		},
		HeapLimit: 1_000_000,
		Permits:   func(context.Context) (Permits, error) { return Permits{PermitCount{40, 1}, PermitCount{64, 2}}, nil },
		Oldest: func(context.Context) (map[domain.JobState]time.Time, error) {
			return map[domain.JobState]time.Time{domain.JobPending: time.Now().Add(-time.Hour)}, nil
		},
		OldestBatches: func(context.Context) (map[domain.BatchState]time.Time, error) {
			return map[domain.BatchState]time.Time{domain.BatchReporting: time.Now().Add(-time.Hour)}, nil
		},
		Holds: func(context.Context) (eventstore.Holds, error) {
			at := func(age time.Duration) domain.Hold {
				return domain.Hold{By: "ana", When: domain.At(time.Now().Add(-age))}
			}
			return eventstore.Holds{Queues: map[string]domain.Hold{"notify": at(time.Hour), "ingest": at(time.Minute)}}, nil
		},
		Types:  func(context.Context) (*Lag, error) { return &Lag{Events: 13, Age: 90 * time.Second}, nil },
		Lag:    func(context.Context) (int64, time.Duration, error) { return 4, 1500 * time.Millisecond, lag() },
		Poison: func(context.Context) (int, error) { return 6, nil },
		Audit: func(context.Context) (Audit, error) {
			return Audit{Complete: time.Now().Add(-time.Hour), Objects: 9, Bytes: 10, Findings: 11, Corrupt: 12}, nil
		},
		Mails:       func(context.Context) (int, time.Duration, error) { return 4, 5 * time.Minute, nil },
		Bulk:        func(context.Context) (Bulk, error) { return Bulk{1, 2, 3 * time.Minute, 15}, nil },
		Unexplained: func(context.Context) (int, error) { return 8, nil },
		Overdue:     func(context.Context) (int, error) { return 14, nil },
		Level:       func() int { return 2 },
		Unreadable:  func() int { return 3 },
		Sessions:    func() (bool, int64) { return true, 2 },
		Held:        func() int { return 1 },
	}
}

// server is a Server with everything, over its handler.
func server(m *Metrics, h *Health, pprof bool) *Server {
	return &Server{Metrics: m, Health: h, About: About{Version: "v1", Instance: "test", Roles: []string{"relay"}}, Level: &slog.LevelVar{},
		Pprof: pprof, Log: slog.New(slog.DiscardHandler)}
}

// ask makes one request; header lines are NAME: VALUE.
func ask(t *testing.T, h http.Handler, method, target, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(text)
}
