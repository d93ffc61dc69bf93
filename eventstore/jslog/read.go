package jslog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

const (
	pull      = 1000            // events asked for at once
	pullTime  = 5 * time.Second // how long one request lasts
	heartbeat = time.Second     // twice without: the consumer is gone
	idleTime  = time.Minute     // after which the server forgets a consumer that is not read
)

// errAgain says that the consumer was lost and another one must be made.
var errAgain = errors.New("consumer lost")

// Read implements eventstore.Log. While the server cannot be reached it waits. The
// end of ctx is an error of the iteration. A whole read is checked to be without
// gaps; a gap, and an event that cannot be decoded, are ErrBroken. So is a stream
// that was replaced or lost its end under the read, see [OtherStream].
func (l *Log) Read(ctx context.Context, o eventstore.ReadOptions) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		r := reader{log: l, o: o, next: max(o.From, 1), to: o.To, yield: yield}
		if err := r.run(ctx); err != nil {
			yield(domain.Recorded{}, err)
		}
	}
}

// reader is one iteration.
type reader struct {
	log     *Log
	o       eventstore.ReadOptions
	subject string // of one aggregate, "" = all
	next    uint64 // first sequence that was not yet seen
	to      uint64 // last sequence wanted; 0 = no end, once bounded: nothing
	bounded bool   // to was cut to what there is
	seen    seen
	yield   func(domain.Recorded, error) bool
}

func (r *reader) run(ctx context.Context) error {
	if r.o.Aggregate != nil {
		var err error
		if r.subject, err = codec.Subject(r.log.cfg.Prefix, *r.o.Aggregate); err != nil {
			return err
		}
	}
	_, err := retry(ctx, r.log.nc, func(pause backoff.BackOff) (none struct{}, err error) {
		before := r.next
		if err = r.consume(ctx); r.next > before {
			pause.Reset()
		}
		return none, err
	})
	return err
}

// bound finds out, once, where a read that does not follow ends.
func (r *reader) bound(ctx context.Context) error {
	if r.o.Follow || r.bounded {
		return nil
	}
	info, err := r.log.Info(ctx)
	if err != nil {
		return err
	}
	r.first(info.Created, info.Last)
	r.bounded = true
	if r.to == 0 || r.to > info.Last {
		r.to = info.Last
	}
	return nil
}

// consume reads through one consumer until the end (nil), an error, or until the
// consumer is lost.
func (r *reader) consume(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	asked := r.seen.created.IsZero() && !r.o.Follow // by bound, just now
	if err := r.bound(call); err != nil {
		return err
	}
	if (r.bounded || r.to > 0) && r.next > r.to {
		return nil
	}
	c, err := r.log.js.CreateConsumer(call, r.log.cfg.Stream, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next, FilterSubject: r.subject,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: idleTime,
	})
	if err != nil {
		return fmt.Errorf("read log %s from %d on: %w", r.log.cfg.Stream, r.next, gone(err))
	}
	info := c.CachedInfo()
	// Without waiting: the server forgets it anyhow.
	defer func() { _ = r.log.nc.Publish("$JS.API.CONSUMER.DELETE."+r.log.cfg.Stream+"."+info.Name, nil) }()
	if !asked {
		if err := r.same(call); err != nil {
			return gone(err)
		}
	}
	if info.NumPending == 0 && !r.o.Follow {
		return nil
	}
	msgs, err := c.Messages(jetstream.PullMaxMessages(pull), jetstream.PullExpiry(pullTime),
		jetstream.PullHeartbeat(heartbeat), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer msgs.Stop()
	for n := uint64(1); ; n++ {
		msg, err := msgs.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if meta.Sequence.Consumer != n { // some were lost on the way
			return errAgain
		}
		if end, err := r.take(msg, meta); end || err != nil {
			return err
		}
	}
}

// take yields one message and reports whether it was the last.
func (r *reader) take(msg jetstream.Msg, meta *jetstream.MsgMetadata) (end bool, err error) {
	seq := meta.Sequence.Stream
	if r.to != 0 && seq > r.to {
		return true, nil
	}
	switch {
	case seq < r.next && r.seen.event.Version == 0: // asked for from past the end on, the server begins at the end
		return false, nil
	case seq < r.next: // the server's stream was shorter meanwhile: see what it is
		return false, errAgain
	}
	if r.subject == "" && seq != r.next {
		return false, fmt.Errorf("log %s: events %d to %d are missing: %w", r.log.cfg.Stream, r.next, seq-1, eventstore.ErrBroken)
	}
	e, err := codec.Decode(codec.Message{Subject: strings.TrimPrefix(msg.Subject(), r.log.cfg.Prefix+"."),
		Header: msg.Headers(), Data: msg.Data()})
	if err != nil {
		var broken *codec.DecodeError
		if errors.As(err, &broken) {
			broken.Envelope.Seq, broken.Envelope.Stored = seq, meta.Timestamp.UTC()
		}
		return false, fmt.Errorf("log %s, sequence %d: %w", r.log.cfg.Stream, seq, err)
	}
	e.Seq, e.Stored = seq, meta.Timestamp.UTC()
	if first := msg.Headers().Get(codec.HeaderStored); first != "" {
		if e.Stored, err = time.Parse(time.RFC3339Nano, first); err != nil {
			return false, fmt.Errorf("log %s, sequence %d: %s: %w: %w", r.log.cfg.Stream, seq, codec.HeaderStored, err, eventstore.ErrBroken)
		}
	}
	r.next, r.seen.seq, r.seen.event = seq+1, seq, e
	if !r.yield(e, nil) {
		return true, nil
	}
	return seq == r.to || !r.o.Follow && meta.NumPending == 0, nil
}
