// Package queue is what the daemons do with a deposit queue: [Pending] grabs the next batch,
// and [Resting] frees the places of batches whose open jobs are all held or wait for
// working space.
package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// Pending claims pending batches.
type Pending struct {
	Handler *eventstore.Handler
	Claims  eventstore.Claims
	Log     *slog.Logger
}

// found is a batch to list, claimed.
type found struct {
	claim   *eventstore.Claim
	batch   domain.Batch
	grabbed bool
	err     error
}

// Synchronous is the processor of synchronous deposits, which wait in no queue. No setting
// has this name.
const Synchronous = "(synchronous)"

// Next claims a pending batch that waits in no deposit queue, such as one whose worker has
// died; as long as there is none it grabs the next one of a processor. For [Synchronous] it
// claims a synchronous deposit.
func (r *Pending) Next(ctx context.Context, processor string, gate eventstore.Gate[domain.Batch]) (*eventstore.Claim, domain.Batch, error) {
	if processor == Synchronous {
		claim, is, err := r.Claims.NextBatch(ctx, eventstore.Synchronous, gate)
		return claim, is.State, err
	}
	for {
		p := r.first(ctx, processor, gate)
		if p.err != nil || !p.grabbed || gate == nil || gate.Enter(ctx, p.batch) == "" {
			return p.claim, p.batch, p.err
		}
		gate.Leave()
		r.release(ctx, p.claim) // its server has no room now: it waits for that, and keeps its place among the running ones
	}
}

// first returns the batch that was claimed first, and releases a second one.
func (r *Pending) first(ctx context.Context, processor string, gate eventstore.Gate[domain.Batch]) found {
	if r.Handler.Rings == nil {
		claim, is, err := r.Claims.NextBatch(ctx, domain.BatchPending, gate)
		return found{claim: claim, batch: is.State, err: err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	both, before := make(chan found, 2), newIdle(gate)
	go func() {
		claim, is, err := r.Claims.NextBatch(ctx, domain.BatchPending, before)
		both <- found{claim: claim, batch: is.State, err: err}
	}()
	go func() {
		before.wait(ctx)
		res, err := r.Handler.Grab(ctx, fair.QueueMetadata, processor, eventstore.Meta{Actor: domain.DaemonActor(domain.DaemonBatchPending), TraceParent: eventstore.NewTrace().Parent()})
		if err == nil && res.Claim == nil {
			err = errors.New("a batch was grabbed without a claim")
		}
		both <- found{claim: res.Claim, batch: res.State, grabbed: true, err: err}
	}()
	one := <-both
	cancel()
	other := <-both
	if one.err != nil && other.err == nil {
		one, other = other, one
	}
	if other.err == nil {
		if !other.grabbed && gate != nil {
			gate.Leave()
		}
		r.release(ctx, other.claim)
	}
	return one
}

// release releases a claim that is not used.
func (r *Pending) release(ctx context.Context, c *eventstore.Claim) {
	if err := r.Claims.Release(context.WithoutCancel(ctx), c, 0); err != nil {
		r.Log.Warn("a claim is released later", "error", err)
	}
}

// idle is a gate that closes a channel once nothing can be claimed.
type idle struct {
	eventstore.Gate[domain.Batch]
	idle chan struct{}
	once *sync.Once
}

func newIdle(gate eventstore.Gate[domain.Batch]) idle {
	if gate == nil {
		gate = open{}
	}
	return idle{gate, make(chan struct{}), &sync.Once{}}
}

// wait returns once nothing can be claimed, or ctx has ended.
func (i idle) wait(ctx context.Context) {
	select {
	case <-i.idle:
	case <-ctx.Done():
	}
}

// Idle implements eventstore.Idler.
func (i idle) Idle() { i.once.Do(func() { close(i.idle) }) }

// open is a gate that lets everything in.
type open struct{}

func (open) Open(string) bool                           { return true }
func (open) Enter(context.Context, domain.Batch) string { return "" }
func (open) Leave()                                     {}
func (open) Free(string) bool                           { return true }
func (open) Changed() <-chan struct{}                   { return nil }
