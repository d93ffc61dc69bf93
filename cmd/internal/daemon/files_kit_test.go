package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// fileHistory is one file as its events have it.
type fileHistory struct {
	domain.File
	rows   string // of the file table, in order
	events []domain.Recorded
}

// fileStatesOf folds the histories of a job's files, by name. An event that is not legal
// fails the test.
func (w *fixture) fileStatesOf(id domain.JobID) map[string]fileHistory {
	w.Helper()
	all := map[string]fileHistory{}
	for r, err := range w.history.Read(w.Context(), eventstore.ReadOptions{}) {
		if err != nil {
			w.Fatal(err)
		}
		m, ok := domain.MoveOfFile(r.Data)
		if !ok || m.JobID != id {
			continue
		}
		l, known := all[m.Path]
		if !known {
			l.Hash = domain.FileHash(r.Aggregate.ID)
		}
		if l.File, err = domain.EvolveFile(l.File, r); err != nil {
			w.Fatalf("%s: %v", m.Path, err)
		}
		row, _ := domain.FileRow(m.From, m.To)
		l.rows, l.events = strings.TrimSpace(l.rows+" "+row.Row), append(l.events, r)
		all[m.Path] = l
	}
	return all
}

// wantRows checks which rows each file of a job took.
func (w *fixture) wantRows(id domain.JobID, want map[string]string) map[string]fileHistory {
	w.Helper()
	got := w.fileStatesOf(id)
	for name, rows := range want {
		if got[name].rows != rows {
			w.Errorf("%s took %q, want %q\n%s", name, got[name].rows, rows, w.log)
		}
	}
	if len(got) != len(want) {
		w.Errorf("%d files in the history, want %d", len(got), len(want))
	}
	return got
}

// operate asks for a command about a file of a job, as another process does.
func (w *fixture) operate(id domain.JobID, name string, cmd domain.FileCommand) {
	w.Helper()
	h := &files.Handler{Log: w.history, Clock: w.clock.Now, NewID: w.h.NewID}
	if _, err := h.File(w.Context(), domain.HashFile(string(id), name), cmd, operator()); err != nil {
		w.Fatal(err)
	}
}

// flaky is a log that refuses so many writes from the one on that is named first.
type flaky struct {
	eventstore.Log
	n           atomic.Int32
	first, last int32
}

func (l *flaky) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	if n := l.n.Add(1); n >= l.first && n <= l.last {
		return nil, fmt.Errorf("write %d: the log is away", n)
	}
	return l.Log.Append(ctx, events)
}

// away lets writes of files' events fail from the next one on.
func (w *fixture) away(after, times int32) *flaky {
	f := &flaky{Log: w.history, first: after + 1, last: after + times}
	w.r.steps.cfg.Files = &files.Handler{Log: f, Clock: w.clock.Now, NewID: w.h.NewID}
	return f
}

// dying is a daemon whose worker loses its session at the end of its step.
func (w *fixture) dying(name string) Daemon {
	d := daemonNamed(name)
	step := d.jobStep
	d.jobStep = func(s *steps, ctx context.Context, t *JobTask) Outcome {
		out := step(s, ctx, t)
		w.mem.Expire(w.store)
		return out
	}
	return d
}
