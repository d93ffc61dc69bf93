package entries

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Workers are those that have work, and those that have ended some in the last 24 hours.
type Workers struct {
	Items []Worker `json:"items"`
	// More says that more workers have work than are listed.
	More bool `json:"more,omitempty"`
}

// Worker is a worker of the compute queue, once for each entry that it has.
type Worker struct {
	ID   string `json:"id"` // its name
	Name string `json:"name"`
	// Kind is session or lease, "" = the worker has no work now.
	Kind     string      `json:"kind,omitempty"`
	Entry    compute.ID  `json:"entry,omitempty"`
	Dataset  string      `json:"dataset,omitempty"`
	Group    string      `json:"group,omitempty"`
	Attempt  int         `json:"attempt,omitempty"`
	Since    domain.Time `json:"since,omitzero"`     // when it took the entry
	Deadline domain.Time `json:"deadline,omitzero"`  // when its lease is overdue, unless it is renewed
	Progress string      `json:"progress,omitempty"` // that it has said last
	// Completed and Failed are how many entries a worker of this name ended in the last 24 hours.
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
}

// How a worker has its work.
const (
	bySession = "session"
	byLease   = "lease"
)

const (
	mostWorkers = 1000
	endedWithin = 24 * time.Hour
)

// AllWorkers returns the workers, by name: who has work is read from the live state, what they
// have ended from the tables.
func AllWorkers(ctx context.Context, a *app.App) (w Workers, err error) {
	defer app.Explained(&err, "list workers")
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return w, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return w, err
	}
	ids, err := handler.Entries.EntryIDs(ctx)
	if err != nil {
		return w, err
	}
	owned := ids.Owned[:min(len(ids.Owned), mostWorkers)]
	w.More = len(owned) < len(ids.Owned)
	w.Items = []Worker{}
	for _, id := range owned {
		one, has, err := workerOf(ctx, handler, id)
		if err != nil {
			return w, err
		}
		if has {
			w.Items = append(w.Items, one)
		}
	}
	ended, err := query.WorkersEnded(ctx, db, time.Now().Add(-endedWithin), mostWorkers)
	for _, e := range ended {
		w.ended(e)
	}
	slices.SortStableFunc(w.Items, func(a, b Worker) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Entry, b.Entry)) })
	return w, err
}

// workerOf returns the worker that has an entry, if one has it.
func workerOf(ctx context.Context, h *eventstore.Handler, id compute.ID) (w Worker, has bool, err error) {
	at, err := h.Entries.LoadEntry(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) || errors.Is(err, eventstore.ErrBroken) || err == nil && !at.State.Owned() {
		return w, false, nil // it has ended since, or verify finds it
	}
	if err != nil {
		return w, false, err
	}
	e := at.State
	name, _, _ := strings.Cut(e.Worker, "/")
	w = Worker{ID: name, Name: name, Kind: bySession, Entry: id, Dataset: e.Work.Dataset, Group: e.Work.Group, Attempt: e.Attempt, Since: e.Modified}
	l, err := h.Leases.LoadLease(ctx, id)
	switch {
	case err == nil:
		w.Kind, w.Deadline, w.Progress = byLease, domain.At(l.Renewed.Add(l.Timeout)), l.Progress
	case errors.Is(err, eventstore.ErrNotFound):
		err = nil
	}
	return w, true, err
}

// ended says of each row of a worker what it has ended, or adds one.
func (w *Workers) ended(e query.WorkerEnded) {
	found := false
	for i := range w.Items {
		if w.Items[i].Name == e.Name {
			w.Items[i].Completed, w.Items[i].Failed, found = e.Completed, e.Failed, true
		}
	}
	if !found {
		w.Items = append(w.Items, Worker{ID: e.Name, Name: e.Name, Completed: e.Completed, Failed: e.Failed})
	}
}
