package zklive

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// Lead implements eventstore.Outbox by an ephemeral node under /leaders.
func (s *Store) Lead(ctx context.Context, shard int) (context.Context, func(), error) {
	lead, _, resign, err := s.lead(ctx, fmt.Sprintf("relay-%02d", shard))
	if err == nil && s.cfg.RelayHints {
		s.outbox.hints.led(lead, shard)
	}
	return lead, resign, err
}

// lead gives also as which worker it leads.
func (s *Store) lead(ctx context.Context, name string) (context.Context, *worker, func(), error) {
	path := s.paths.leader(name)
	// The node tells processes apart, the slot the goroutines of this one.
	slot := s.leaderSlot(name)
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	}
	led := false
	defer func() {
		if !led {
			<-slot
		}
	}()
	for {
		w, err := s.current(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		p := &plan{}
		p.check(s.paths.worker(w.id), -1, eventstore.ErrFenced)
		p.create(path, encode(holder{w.id}), zk.FlagEphemeral, eventstore.ErrLocked)
		crash.Point("zklive/lead/before-take")
		_, err = call(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
		crash.Point("zklive/lead/after-take")
		if err == nil || s.leads(ctx, path, w) {
			led = true
			lead, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(s.ctx, cancel)
			go func() {
				select {
				case <-w.lost:
				case <-lead.Done():
				}
				cancel()
			}()
			resign := sync.OnceFunc(func() {
				defer func() { <-slot }()
				stop()
				cancel()
				rctx, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
				defer done()
				_ = s.unlead(rctx, path, w)
			})
			return lead, w, resign, nil
		}
		if ctx.Err() != nil {
			if !answered(err) { // it may lead, and nobody would know
				led = true
				s.goes(func() {
					defer func() { <-slot }()
					s.forgo(path, w)
				})
			}
			return nil, nil, nil, ctx.Err()
		}
		if err := s.waitGone(ctx, path); err != nil {
			return nil, nil, nil, err
		}
	}
}

// unlead removes the worker's node.
func (s *Store) unlead(ctx context.Context, path string, w *worker) error {
	p := &plan{}
	p.check(s.paths.worker(w.id), -1, nil)
	p.delete(path, -1, nil)
	crash.Point("zklive/lead/before-resign")
	_, err := call(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
	crash.Point("zklive/lead/after-resign")
	return err
}

// forgo ends a lead of which it is unknown whether it was got, however long that takes.
func (s *Store) forgo(path string, w *worker) {
	for {
		var h holder
		err := s.sync(s.ctx)
		if err == nil {
			_, err = s.getJSON(s.ctx, path, &h)
		}
		if err == nil && h.Holder == w.id {
			err = s.unlead(s.ctx, path, w)
		}
		if err == nil || answered(err) {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-w.lost:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *Store) leaderSlot(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots[name] == nil {
		s.slots[name] = make(chan struct{}, 1)
	}
	return s.slots[name]
}

// leads settles an unknown outcome: does the node carry this worker's name?
func (s *Store) leads(ctx context.Context, path string, w *worker) bool {
	var h holder
	_, err := s.getJSON(ctx, path, &h)
	return err == nil && h.Holder == w.id
}

// waitGone returns when the node is not there.
func (s *Store) waitGone(ctx context.Context, path string) error {
	type answer struct {
		there bool
		watch <-chan zk.Event
	}
	a, err := read(ctx, func() (answer, error) {
		ok, _, watch, err := s.conn.ExistsW(path)
		return answer{ok, watch}, err
	})
	if err != nil || !a.there {
		return err
	}
	select {
	case <-a.watch:
		return nil
	case <-time.After(10 * time.Second): // a lost watch
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return eventstore.ErrFenced
	}
}
