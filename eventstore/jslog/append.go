package jslog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/crash"
)

// MaxBatch and MaxBatchBytes bound one Append. The first is the server's own
// limit of an atomic batch.
const (
	MaxBatch      = 1000
	MaxBatchBytes = 16 << 20
)

const answerTime = 2 * time.Second // until an answer counts as lost

// batch is what one Append sends.
type batch struct {
	msgs   []*nats.Msg
	ends   map[domain.Aggregate]int // index of each aggregate's last event
	places []eventstore.Append
}

// Append implements eventstore.Log. While the server cannot be reached it goes on
// trying until ctx ends, which then gives ErrUnknown; so does an answer that was
// lost while others wrote on. More than MaxBatch events or
// MaxBatchBytes, and an event that cannot be written, are ErrBroken.
func (l *Log) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	if len(events) == 0 {
		return nil, nil
	}
	b, err := l.encode(events)
	if err != nil {
		return nil, err
	}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, time.Second
	for unsure := false; ; {
		seqs, err := l.publish(ctx, b)
		if err == nil {
			return seqs, nil
		}
		verdict := judge(err)
		if errors.Is(verdict, eventstore.ErrBroken) || !unsure && verdict != nil {
			return nil, b.failed(verdict, err)
		}
		// This try, or one before it, may have been written after all.
		unsure = true
		seqs, found := l.settle(ctx, b)
		switch {
		case found == nil:
			return seqs, nil
		case errors.Is(found, eventstore.ErrUnknown), errors.Is(found, eventstore.ErrConflict) && verdict != nil:
			return nil, b.failed(found, err)
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
		}
		if ctx.Err() != nil || l.nc.IsClosed() {
			return nil, b.failed(eventstore.ErrUnknown, err)
		}
	}
}

func (b batch) failed(verdict, err error) error {
	if len(b.places) == 1 {
		return fmt.Errorf("append event %s: %w: %w", b.places[0].Event.ID(), verdict, err)
	}
	return fmt.Errorf("append %d events from %s on: %w: %w", len(b.places), b.places[0].Event.ID(), verdict, err)
}

// encode makes the messages. The first of each subject carries the expectation;
// a second one would refuse the batch.
func (l *Log) encode(events []eventstore.Append) (batch, error) {
	b := batch{places: events, ends: make(map[domain.Aggregate]int, len(events)), msgs: make([]*nats.Msg, len(events))}
	if len(events) > MaxBatch {
		return b, fmt.Errorf("append %d events: the most in one batch are %d: %w", len(events), MaxBatch, eventstore.ErrBroken)
	}
	bytes := 0
	for i, e := range events {
		m, err := codec.Encode(e.Event, l.cfg.Instance)
		if err != nil {
			return b, err
		}
		msg := &nats.Msg{Subject: l.cfg.Prefix + "." + m.Subject, Header: m.Header, Data: m.Data}
		if i == 0 { // refuses all of them
			msg.Header.Set(jetstream.ExpectedStreamHeader, l.cfg.Stream)
		}
		if !e.Stored.IsZero() {
			msg.Header.Set(codec.HeaderStored, e.Stored.UTC().Format(time.RFC3339Nano))
		}
		if _, again := b.ends[e.Event.Aggregate]; !again {
			msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(e.ExpectSeq, 10))
		}
		b.ends[e.Event.Aggregate], b.msgs[i] = i, msg
		bytes += msg.Size()
	}
	if bytes > MaxBatchBytes {
		return b, fmt.Errorf("append %d events of %d bytes: the most in one batch are %d: append fewer at once: %w", len(events), bytes, MaxBatchBytes, eventstore.ErrBroken)
	}
	return b, nil
}

// publish sends once and waits for the answer.
func (l *Log) publish(ctx context.Context, b batch) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	last := len(b.msgs) - 1
	if last == 0 {
		crash.Point("jslog/append/before-one")
		ack, err := l.js.PublishMsg(ctx, b.msgs[0])
		crash.Point("jslog/append/after-one")
		if err != nil {
			return nil, err
		}
		return []uint64{ack.Sequence}, nil
	}
	p, err := jetstreamext.NewBatchPublisher(l.js, jetstreamext.BatchFlowControl{AckFirst: false})
	if err != nil {
		return nil, err
	}
	crash.Point("jslog/append/before-batch")
	for i, msg := range b.msgs[:last] {
		if err := p.AddMsg(msg); err != nil {
			return nil, err
		}
		if i == last/2 {
			crash.Point("jslog.half")
		}
	}
	crash.Point("jslog/append/before-commit")
	ack, err := p.CommitMsg(ctx, b.msgs[last])
	crash.Point("jslog/append/after-commit")
	if err != nil {
		return nil, err
	}
	return b.seqs(ack.Sequence), nil
}

// seqs gives the places of a batch whose last message has the given one: an
// atomic batch stands in the stream without anything in between.
func (b batch) seqs(last uint64) []uint64 {
	seqs := make([]uint64, len(b.msgs))
	for i := range seqs {
		seqs[i] = last - uint64(len(seqs)-1-i)
	}
	return seqs
}

// judge says what an answer of the server means: ErrConflict and ErrBroken are
// certain, and nothing was written; nil means that it may have been.
func judge(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return eventstore.ErrBroken
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return nil
	}
	switch api.ErrorCode {
	case wrongLastSequence, wrongLastSequenceConstant, jetstreamext.JSErrCodeBatchPublishDuplicateMsgID:
		return eventstore.ErrConflict
	case jetstreamext.JSErrCodeBatchPublishIncomplete: // the server gave the batch up, or restarted
		return nil
	}
	if api.Code == 400 {
		return eventstore.ErrBroken
	}
	return nil
}

// Codes of the server that the client library has no name for.
const (
	wrongLastSequence         jetstream.ErrorCode = 10071
	wrongLastSequenceConstant jetstream.ErrorCode = 10164
)
