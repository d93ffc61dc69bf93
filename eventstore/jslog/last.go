package jslog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

const lookups = 16 // requests to the server at once

// Last implements eventstore.Log. On a replicated stream the answer may be a
// little old; an append that relies on an old one is refused.
func (l *Log) Last(ctx context.Context, a domain.Aggregate) (eventstore.LastEvent, error) {
	subject, err := codec.Subject(l.cfg.Prefix, a)
	if err != nil {
		return eventstore.LastEvent{}, err
	}
	m, err := l.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return eventstore.LastEvent{}, nil
	}
	if err != nil {
		return eventstore.LastEvent{}, fmt.Errorf("last event of %s: %w", a, err)
	}
	version, command, err := codec.DecodeVersion(codec.Message{Header: m.Header, Data: m.Data})
	if err != nil {
		return eventstore.LastEvent{}, fmt.Errorf("log %s, sequence %d: %w", l.cfg.Stream, m.Sequence, err)
	}
	return eventstore.LastEvent{Version: version, Seq: m.Sequence, CommandID: command}, nil
}

// settle finds out whether a batch whose answer was lost is in the log, and then returns
// its sequences. ErrConflict: it is not there. ErrUnknown: an aggregate has later events
// than the batch, so it cannot be told. Other errors: the server does not answer.
func (l *Log) settle(ctx context.Context, b atomicBatch) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*answerTime)
	defer cancel()
	aggregates := slices.Collect(maps.Keys(b.ends))
	found := make([]eventstore.LastEvent, len(aggregates))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(lookups)
	for i, a := range aggregates {
		g.Go(func() (err error) { found[i], err = l.Last(gctx, a); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	seqs := make([]uint64, len(b.msgs))
	for i, a := range aggregates {
		if b.ends[a] == len(b.msgs)-1 && found[i].Seq >= uint64(len(b.msgs)) {
			seqs = b.seqs(found[i].Seq)
		}
	}
	var lost error
	for i, a := range aggregates {
		end := b.ends[a]
		e := b.events[end].Event
		if found[i].Version > e.Version {
			return nil, eventstore.ErrUnknown
		}
		if found[i] != (eventstore.LastEvent{Version: e.Version, Seq: seqs[end], CommandID: e.CommandID}) {
			lost = eventstore.ErrConflict
		}
	}
	return seqs, lost
}
