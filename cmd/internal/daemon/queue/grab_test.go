package queue_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/queue"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// TestWhatWaitsInNoQueueComesFirst: a batch is grabbed only while none can be claimed that
// waits in no deposit queue.
func TestWhatWaitsInNoQueueComesFirst(t *testing.T) {
	t.Parallel()
	const before, queued = 50, 3
	store := memory.New(memory.Options{}).Session()
	old, kit := storetest.NewKit(t, store), storetest.NewRingKit(t, store)
	for range queued {
		kit.Deposits("ana1")
	}
	for range before {
		old.Deposits("mal1")
	}
	p := &queue.Pending{Handler: kit.Handler, Claims: kit.Store, Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range before + queued {
		c, b, err := p.Next(ctx, "default", eventstore.Gate[domain.Batch](nil))
		if err != nil || c == nil {
			t.Fatal(err)
		}
		if grabbed := b.Ticket != nil; grabbed != (n >= before) {
			t.Fatalf("number %d is %s, grabbed: %t", n, b.ID, grabbed)
		}
	}
}

// TestSynchronousIsNotGrabbed: the workers of synchronous deposits claim these alone, and the
// others none of them.
func TestSynchronousIsNotGrabbed(t *testing.T) {
	t.Parallel()
	kit := storetest.NewRingKit(t, memory.New(memory.Options{}).Session())
	kit.Deposits("ana1")
	id, err := kit.Store.ReserveBatchID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sub := domain.Submission{ProfileName: storetest.Profile, Submitter: "ana", Type: domain.TypeFile, PayloadURL: "https://example.org/now", SubmissionMode: "add"}
	kit.DoBatch(id, domain.SubmitBatch{Submission: sub, Synchronous: true}, storetest.Operator())
	p := &queue.Pending{Handler: kit.Handler, Claims: kit.Store, Log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, processor := range []string{"default", queue.Synchronous} {
		_, b, err := p.Next(ctx, processor, eventstore.Gate[domain.Batch](nil))
		if err != nil || (b.ID == id) != (processor == queue.Synchronous) {
			t.Errorf("%s claims %s (%v)", processor, b.ID, err)
		}
	}
}
