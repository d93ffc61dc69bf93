package zklive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// leaders elects leaders: a lead is an ephemeral node below /leaders, held by one
// worker at a time.
type leaders struct {
	session *session.Session
	root    layout.Root
	outbox  *outbox
	mu      sync.Mutex
	mutexes map[string]chan struct{} // the node excludes other processes, the mutex other goroutines of this one
}

// resignTime bounds how long the end of a lead waits for the deletion of its node.
const resignTime = 5 * time.Second

// Lead implements eventstore.Outbox.
func (l *leaders) Lead(ctx context.Context, shard int) (context.Context, func(), error) {
	lead, _, resign, err := l.lead(ctx, fmt.Sprintf("relay-%02d", shard))
	if err == nil {
		l.outbox.led(lead, shard)
	}
	return lead, resign, err
}

// LeadRole is Lead for a role: there is one leader of all processes.
func (l *leaders) LeadRole(ctx context.Context, role string) (lead context.Context, resign func(), err error) {
	lead, _, resign, err = l.lead(ctx, role)
	return lead, resign, err
}

// lead waits for a lead, and also returns the worker that holds it.
func (l *leaders) lead(ctx context.Context, name string) (context.Context, *session.Worker, func(), error) {
	mutex := l.mutex(name)
	select {
	case mutex <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	}
	free := func() { <-mutex }
	for {
		w, err := l.session.Worker(ctx)
		if err == nil {
			_, err = l.session.TryMulti(ctx, "zklive/lead/take", l.root.Lead(name, w.ID))
			leads := err == nil
			if !leads {
				leads, _ = l.session.HeldBy(ctx, l.root.Leader(name), w.ID)
			}
			if leads {
				lead, resign := l.newLead(ctx, name, w, free)
				return lead, w, resign, nil
			}
			if ctx.Err() != nil && !session.Answered(err) { // it may have the lead without knowing
				l.session.Spawn(func() { defer free(); l.resignUnknown(name, w) })
				return nil, nil, nil, ctx.Err()
			}
			err = l.waitGone(ctx, l.root.Leader(name))
		}
		if err != nil {
			free()
			return nil, nil, nil, err
		}
	}
}

// newLead returns the context of a lead, and the function that ends it.
func (l *leaders) newLead(ctx context.Context, name string, w *session.Worker, free func()) (context.Context, func()) {
	lead, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-w.Lost:
		case <-l.session.Context().Done():
		case <-lead.Done():
		}
		cancel()
	}()
	return lead, sync.OnceFunc(func() {
		cancel()
		rctx, done := context.WithTimeout(context.WithoutCancel(ctx), resignTime)
		defer done()
		if err := l.resign(rctx, name, w); err == nil || session.Answered(err) {
			free()
			return
		}
		l.session.Spawn(func() { defer free(); l.resignUnknown(name, w) })
	})
}

// resign removes the worker's node.
func (l *leaders) resign(ctx context.Context, name string, w *session.Worker) error {
	_, err := l.session.TryMulti(ctx, "zklive/lead/resign", l.root.Resign(name, w.ID))
	return err
}

// resignUnknown ends a lead that may or may not be held, and tries until it succeeds.
func (l *leaders) resignUnknown(name string, w *session.Worker) {
	_, _ = session.Retry(l.session.Context(), func() (none struct{}, err error) {
		if session.Closed(w.Lost) {
			return none, nil
		}
		leads, err := l.session.HeldBy(l.session.Context(), l.root.Leader(name), w.ID)
		if err == nil && leads {
			err = l.resign(l.session.Context(), name, w)
		}
		return none, err
	})
}

// mutex returns the mutex of a lead: a channel, which is full while a goroutine leads or
// tries to, so that waiting for it ends with a context.
func (l *leaders) mutex(name string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mutexes[name] == nil {
		l.mutexes[name] = make(chan struct{}, 1)
	}
	return l.mutexes[name]
}

// waitGone returns when the node does not exist.
func (l *leaders) waitGone(ctx context.Context, path string) error {
	node, err := l.session.WatchExists(ctx, path)
	if err != nil || node.Stat == nil {
		return err
	}
	select {
	case <-node.Watch:
	case <-time.After(refreshEvery):
	case <-ctx.Done():
		return ctx.Err()
	case <-l.session.Context().Done():
		return eventstore.ErrFenced
	}
	return nil
}
