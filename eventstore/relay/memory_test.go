package relay_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/relay"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// Whole batches walk through the handler while three relays, whose sessions end
// again and again, take the events to the log: at the end the fold of the log is
// the live state.
func TestRelayedHistoryIsTheLiveState(t *testing.T) {
	t.Parallel()
	server, log := memory.New(memory.Options{Shards: 3}), memory.NewLog(nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var relays, walks sync.WaitGroup
	var sessions []*memory.Store
	for range 3 {
		s := server.Session()
		sessions = append(sessions, s)
		relays.Go(func() {
			r := &relay.Relay{Outbox: s, Log: log, Logger: slog.New(&lines{})}
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	kit := storetest.NewKit(t, server.Session())
	const batches, jobs = 6, 4
	var mu sync.Mutex
	var ids []domain.BatchID
	total := int64(0)
	for range batches {
		walks.Go(func() {
			batch, list := kit.Started(make([]int, jobs)...)
			for i, j := range list {
				server.Expire(sessions[i%len(sessions)])
				v := kit.Walk(j, domain.JobCompleted).Version
				mu.Lock()
				total += v
				mu.Unlock()
			}
			v := kit.Reported(batch).Version
			mu.Lock()
			total, ids = total+v, append(ids, batch)
			mu.Unlock()
		})
	}
	walks.Wait()
	for _, err := range log.Read(t.Context(), eventstore.ReadOptions{Follow: true, To: uint64(total)}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	relays.Wait()

	folded := map[domain.BatchID]domain.Batch{}
	history := map[domain.JobID]domain.Job{}
	for e, err := range log.Read(t.Context(), eventstore.ReadOptions{}) {
		if err == nil && e.Aggregate.Kind == domain.KindBatch {
			id := domain.BatchID(e.Aggregate.ID)
			folded[id], err = domain.EvolveBatch(folded[id], e)
		} else if err == nil {
			id := domain.JobID(e.Aggregate.ID)
			history[id], err = domain.EvolveJob(history[id], e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(folded) != batches || len(history) != batches*jobs {
		t.Errorf("%d batches and %d jobs in the log", len(folded), len(history))
	}
	for _, id := range ids {
		want := kit.Batch(id).State
		want.NextRow = 0 // kept in the live state only
		if diff := cmp.Diff(want, folded[id]); diff != "" {
			t.Errorf("%s (-live +log):\n%s", id, diff)
		}
	}
	for id, got := range history {
		if diff := cmp.Diff(kit.Job(id).State, got); diff != "" {
			t.Errorf("%s (-live +log):\n%s", id, diff)
		}
	}
}

// A relay wakes within a moment of the write, without being asked.
func TestRelayIsPrompt(t *testing.T) {
	t.Parallel()
	server, log := memory.New(memory.Options{Shards: 2}), memory.NewLog(nil)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- (&relay.Relay{Outbox: server.Session(), Log: log}).Run(ctx) }()
	kit := storetest.NewKit(t, server.Session())
	for n := range 20 {
		id := kit.Submit()
		for e, err := range log.Read(ctx, eventstore.ReadOptions{Follow: true, From: uint64(n + 1), To: uint64(n + 1)}) {
			if err != nil || e.Aggregate != id.Aggregate() {
				t.Fatalf("%s, %v; want that of %s", e.ID(), err, id)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
