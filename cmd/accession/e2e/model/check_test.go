package model_test

import (
	"errors"
	"maps"
	"slices"
	"sort"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// checkJob compares a job with the model.
func (r *run) checkJob(j *model.Job) {
	at, err := r.processes[0].store.Job(r.Context(), domain.JobID(j.ID))
	if errors.Is(err, eventstore.ErrNotFound) && j.Gone {
		return
	}
	s := at.State
	got := model.Job{ID: string(s.ID), State: string(s.State), Last: string(s.LastSuccessful), Retries: s.RetryCount, Priority: s.Priority,
		Version: int(s.Version), Cleaned: s.Cleaned}
	if err != nil || j.Gone || got.Say() != j.Say() || string(s.Configuration.BatchID) != j.Batch.ID {
		r.Fatalf("%s is %s (%v), want %s (gone %t)", j.ID, got.Say(), err, j.Say(), j.Gone)
	}
}

// checkBatch compares a batch with the model, and how many jobs it refers to.
func (r *run) checkBatch(b *model.Batch) {
	live := r.processes[0].store
	at, err := live.Batch(r.Context(), domain.BatchID(b.ID))
	if errors.Is(err, eventstore.ErrNotFound) && b.Gone {
		return
	}
	got := model.Batch{ID: string(at.State.ID), State: string(at.State.State), Version: int(at.State.Version), Next: at.State.NextRow}
	if at.State.Listing != nil {
		got.Rows = at.State.Listing.Rows
	}
	if err != nil || b.Gone || got.Say() != b.Say() || at.State.Cleaned() != b.Cleaned {
		r.Fatalf("%s is %s (%v), want %s (gone %t)", b.ID, got.Say(), err, b.Say(), b.Gone)
	}
	refs, err := live.Refs(r.Context(), at.State.ID)
	want := eventstore.Refs{Processing: r.want.Count(b, "processing"), Failed: r.want.Count(b, "failed"), Completed: r.want.Count(b, "completed")}
	if err != nil && (b.Next > 0 || !errors.Is(err, eventstore.ErrNotFound)) || refs != want {
		r.Fatalf("%s has %+v (%v), want %+v", b.ID, refs, err, want)
	}
}

// end compares everything: the model, the live state and the log.
func (r *run) end() {
	for _, j := range r.want.Jobs {
		r.checkJob(j)
	}
	for _, b := range r.want.Batches {
		r.checkBatch(b)
	}
	r.sent(r.processes[0].store)
	r.checkHolds()
	r.checkLog()
	r.checkFold()
	wrong, err := r.servers.whole(r.Context())
	if err != nil || len(wrong) > 0 {
		r.Fatalf("live state and log do not agree: %v %v", wrong, err)
	}
}

func (r *run) checkHolds() {
	h, err := r.processes[0].store.Holds(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	names := func(m map[string]domain.Hold) []string { return slices.Sorted(maps.Keys(m)) }
	wanted := func(m map[string]bool) (on []string) {
		for name, is := range m {
			if is {
				on = append(on, name)
			}
		}
		sort.Strings(on)
		return on
	}
	if !slices.Equal(names(h.Collections), wanted(r.want.Held)) || !slices.Equal(names(h.Queues), wanted(r.want.Paused)) {
		r.Fatalf("on hold: %v and %v, want %v and %v", names(h.Collections), names(h.Queues), wanted(r.want.Held), wanted(r.want.Paused))
	}
}

// checkLog compares how far each history goes.
func (r *run) checkLog() {
	last := map[string]int{}
	for e, err := range r.servers.log().Read(r.Context(), eventstore.ReadOptions{}) {
		if err != nil {
			r.Fatal(err)
		}
		if int(e.Version) != last[e.Aggregate.ID]+1 {
			r.Fatalf("the log has %s after number %d", e.ID(), last[e.Aggregate.ID])
		}
		last[e.Aggregate.ID] = int(e.Version)
	}
	for _, b := range r.want.Batches {
		if last[b.ID] != b.Version {
			r.Fatalf("the log has %d events of %s, want %d", last[b.ID], b.ID, b.Version)
		}
	}
	for _, j := range r.want.Jobs {
		if last[j.ID] != j.Version {
			r.Fatalf("the log has %d events of %s, want %d", last[j.ID], j.ID, j.Version)
		}
	}
}

// checkFold compares the fold of the log with the live state.
func (r *run) checkFold() {
	h, err := consistency.FoldAll(r.Context(), r.servers.log(), nil)
	if err != nil {
		r.Fatal(err)
	}
	live, folded := r.processes[0].store, map[string]bool{}
	for _, b := range h.Batches {
		at, err := live.Batch(r.Context(), b.ID)
		if diff := cmp.Diff(b, at.State); err != nil || diff != "" {
			r.Fatalf("%s: %v, log (-) and live state (+):\n%s", b.ID, err, diff)
		}
		folded[string(b.ID)] = true
	}
	for _, j := range h.Jobs {
		at, err := live.Job(r.Context(), j.ID)
		if diff := cmp.Diff(j, at.State); err != nil || diff != "" {
			r.Fatalf("%s: %v, log (-) and live state (+):\n%s", j.ID, err, diff)
		}
		folded[string(j.ID)] = true
	}
	for _, s := range h.Settings {
		at, err := live.Setting(r.Context(), s.Kind, s.Name)
		if diff := cmp.Diff(s, at.State); err != nil || diff != "" {
			r.Fatalf("%s %s: %v, log (-) and live state (+):\n%s", s.Kind, s.Name, err, diff)
		}
	}
	for _, j := range r.want.Jobs {
		if is := !j.Gone && !j.Batch.Cleaned; folded[j.ID] != is {
			r.Fatalf("the fold of the log has %s: %t, want %t", j.ID, folded[j.ID], is)
		}
	}
	for _, b := range r.want.Batches {
		if b.State != "deleted" && !folded[b.ID] {
			r.Fatalf("the fold of the log does not have %s", b.ID)
		}
	}
}
