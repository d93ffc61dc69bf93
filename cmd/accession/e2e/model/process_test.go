package model_test

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// process is one that works on batches and jobs.
type process struct {
	store   storetest.Store
	handler *eventstore.Handler
	// late are the batches and jobs of which it may know less than is so: it has not
	// heard of the last event, or may have found them locked. Over ZooKeeper it finds
	// out by itself, some time later.
	late map[string]bool
	// submissions are the batches of whose submission it has heard. Of another one it
	// reads who submitted it.
	submissions map[domain.BatchID]bool
}

func newProcess(s storetest.Store) *process {
	return &process{s, storetest.NewHandler(s), map[string]bool{}, map[domain.BatchID]bool{}}
}

// tell lets the processes hear of events, as of those in the log; sometimes they do not.
func (r *run) tell(events []domain.Recorded) {
	for _, p := range r.processes {
		for _, e := range events {
			if r.dice("unheard", 16) == 15 {
				p.late[e.Aggregate.ID] = true
				continue
			}
			p.store.Observe(e)
			if e.Type == domain.EventBatchSubmitted {
				p.submissions[e.BatchID] = true
			}
			p.late[e.Aggregate.ID] = !p.submissions[e.BatchID]
		}
	}
}

// sawLocks notes that a process looked for work in a state: it may have set aside what
// is locked.
func (r *run) sawLocks(n int, state string) {
	for _, b := range r.want.Batches {
		if b.State == state && b.Holder != "" {
			r.processes[n].late[b.ID] = true
		}
	}
	for _, j := range r.want.Jobs {
		if j.State == state && j.Holder != "" {
			r.processes[n].late[j.ID] = true
		}
	}
}

// mayTake reports whether a process may take one of what waits in this order: it is the
// first, or the process knows of it, or of all before it, late.
func (r *run) mayTake(n int, id string, waiting []string) bool {
	late := r.processes[n].late
	if r.servers.exact() {
		late = nil
	}
	for _, before := range waiting {
		switch {
		case before == id:
			return true
		case !late[before] && !late[id]:
			return false
		}
	}
	return false
}

func idsOfJobs(jobs []*model.Job) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func idsOfBatches(batches []*model.Batch) (ids []string) {
	for _, b := range batches {
		ids = append(ids, b.ID)
	}
	return ids
}
