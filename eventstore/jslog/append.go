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

// atomicBatch is what one Append sends: messages that the server takes all or none.
type atomicBatch struct {
	msgs   []*nats.Msg
	ends   map[domain.Aggregate]int // index of each aggregate's last event
	events []eventstore.Append
}

// Append implements eventstore.Log. While the server cannot be reached it tries again
// until ctx ends. ErrUnknown: ctx has ended, or an answer was lost and other events of
// these aggregates have been written since, so that it cannot be found out whether these
// were written. ErrBroken: more than MaxBatch events or MaxBatchBytes, or an event that
// cannot be written.
func (l *Log) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	if len(events) == 0 {
		return nil, nil
	}
	b, err := l.encode(events)
	if err != nil {
		return nil, err
	}
	maybeWritten := false // a try may have been written without an answer
	seqs, err := retry(ctx, l.nc, func(backoff.BackOff) ([]uint64, error) {
		seqs, err := l.publish(ctx, b)
		if err == nil {
			return seqs, nil
		}
		refused := refusal(err)
		if errors.Is(refused, eventstore.ErrBroken) || !maybeWritten && refused != nil {
			return nil, b.wrap(refused, err)
		}
		maybeWritten = true
		seqs, settleErr := l.settle(ctx, b)
		if errors.Is(settleErr, eventstore.ErrUnknown) || errors.Is(settleErr, eventstore.ErrConflict) && refused != nil {
			return nil, b.wrap(settleErr, err)
		}
		if settleErr != nil {
			return nil, err
		}
		return seqs, nil
	})
	if err != nil && !final(err) {
		err = b.wrap(eventstore.ErrUnknown, err)
	}
	return seqs, err
}

// retry repeats f, with pauses of 50 ms that grow to a second, until it succeeds, its
// error is final, the connection is closed or ctx ends.
func retry[T any](ctx context.Context, nc *nats.Conn, f func(pause backoff.BackOff) (T, error)) (T, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, time.Second
	return backoff.Retry(ctx, func() (T, error) {
		v, err := f(pause)
		if err != nil && (final(err) || nc.IsClosed()) {
			err = backoff.Permanent(err)
		}
		return v, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
}

// final reports whether an error is one that eventstore.Log declares.
func final(err error) bool {
	return errors.Is(err, eventstore.ErrConflict) || errors.Is(err, eventstore.ErrBroken) || errors.Is(err, eventstore.ErrUnknown)
}

// wrap returns an error that names the events, is why for errors.Is, and has the cause err.
func (b atomicBatch) wrap(why, err error) error {
	if len(b.events) == 1 {
		return fmt.Errorf("append event %s: %w: %w", b.events[0].Event.ID(), why, err)
	}
	return fmt.Errorf("append %d events from %s on: %w: %w", len(b.events), b.events[0].Event.ID(), why, err)
}

// encode makes the messages. Of each subject only the first message has the expected
// sequence: the server refuses a batch with two expectations for one subject.
func (l *Log) encode(events []eventstore.Append) (atomicBatch, error) {
	b := atomicBatch{events: events, ends: make(map[domain.Aggregate]int, len(events)), msgs: make([]*nats.Msg, len(events))}
	if len(events) > MaxBatch {
		return b, fmt.Errorf("append %d events: the most in one batch are %d: %w", len(events), MaxBatch, eventstore.ErrBroken)
	}
	bytes := 0
	for i, e := range events {
		msg, err := l.message(l.cfg.Prefix, e.Event, e.JSON)
		if err != nil {
			return b, err
		}
		if i == 0 { // the server refuses the whole batch if the stream is another
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

// message encodes an event, whose data may be known as JSON; its subject is below
// prefix.
func (l *Log) message(prefix string, r domain.Recorded, data []byte) (*nats.Msg, error) {
	var m codec.Message
	var err error
	if data == nil {
		m, err = codec.Encode(r, l.cfg.Instance)
	} else {
		m, err = codec.EncodeSanitised(r, data, l.cfg.Instance)
	}
	if err != nil {
		return nil, err
	}
	return &nats.Msg{Subject: prefix + "." + m.Subject, Header: m.Header, Data: m.Data}, nil
}

// publish sends the messages once and waits for the acknowledgement.
func (l *Log) publish(ctx context.Context, b atomicBatch) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	last := len(b.msgs) - 1
	if last == 0 {
		var ack *jetstream.PubAck
		err := crash.Around("jslog/append/one", func() (err error) { ack, err = l.js.PublishMsg(ctx, b.msgs[0]); return err })
		if err != nil {
			return nil, err
		}
		return []uint64{ack.Sequence}, nil
	}
	p, err := jetstreamext.NewBatchPublisher(l.js, jetstreamext.BatchFlowControl{AckFirst: false})
	if err != nil {
		return nil, err
	}
	err = crash.Around("jslog/append/batch", func() error {
		for i, msg := range b.msgs[:last] {
			if err := p.AddMsg(msg); err != nil {
				return err
			}
			if i == last/2 {
				crash.Point("jslog/append/half")
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var ack *jetstreamext.BatchAck
	err = crash.Around("jslog/append/commit", func() (err error) { ack, err = p.CommitMsg(ctx, b.msgs[last]); return err })
	if err != nil {
		return nil, err
	}
	return b.seqs(ack.Sequence), nil
}

// seqs returns the sequences of a batch from that of its last message: the messages of
// an atomic batch have consecutive sequences.
func (b atomicBatch) seqs(last uint64) []uint64 {
	seqs := make([]uint64, len(b.msgs))
	for i := range seqs {
		seqs[i] = last - uint64(len(seqs)-1-i)
	}
	return seqs
}

// refusal returns what the server's answer stands for: ErrConflict or ErrBroken if it proves
// that nothing was written, nil if something may have been written.
func refusal(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return eventstore.ErrBroken
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return nil
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant, jetstreamext.JSErrCodeBatchPublishDuplicateMsgID:
		return eventstore.ErrConflict
	case jetstreamext.JSErrCodeBatchPublishIncomplete: // the server gave the batch up, or restarted
		return nil
	}
	if api.Code == 400 {
		return eventstore.ErrBroken
	}
	return nil
}
