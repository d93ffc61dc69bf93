package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	answerTime = 5 * time.Second // after which a request counts as lost
	pull       = 1000            // events asked for at once
	pullTime   = 5 * time.Second // how long one request lasts
	heartbeat  = time.Second     // twice without: the consumer is gone
	idleTime   = time.Minute     // after which the server deletes a consumer that is not read
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

// errAgain says that the consumer was lost and another one must be made.
var errAgain = errors.New("consumer lost")

// run reads through one consumer after another. nil = the loop was left.
func (f *Follower) run(ctx context.Context, yield func(Event, error) bool) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		before := f.at.Seq
		err := f.consume(ctx, yield)
		var final *Error
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &final):
			return err
		case f.nc.IsClosed():
			return nats.ErrConnectionClosed
		case f.at.Seq > before:
			pause = firstPause
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// consume makes sure that the log is still the same, and reads through one
// consumer until the loop is left (nil) or the consumer is lost.
func (f *Follower) consume(ctx context.Context, yield func(Event, error) bool) error {
	call, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := find(call, f.js, f.o.Stream, f.at)
	if err != nil {
		return err
	}
	if err := f.at.check(call, s, f.o.Prefix); err != nil {
		return err
	}
	f.at.Created = s.CachedInfo().Created
	c, err := s.CreateConsumer(call, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.at.Seq + 1, FilterSubjects: f.filter.subjects,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: idleTime,
	})
	if err != nil {
		return err
	}
	// Without waiting: the server forgets it anyhow.
	defer func() {
		_ = f.nc.Publish("$JS.API.CONSUMER.DELETE."+f.o.Stream+"."+c.CachedInfo().Name, nil)
	}()
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
		if more, err := f.take(msg, meta, yield); err != nil || !more {
			return err
		}
	}
}

// take yields one event, unless the filter excludes it.
func (f *Follower) take(msg jetstream.Msg, meta *jetstream.MsgMetadata, yield func(Event, error) bool) (more bool, err error) {
	seq, due := meta.Sequence.Stream, f.at.Seq+1
	if seq < due { // asked for from past the end on, the server begins at the end
		return true, nil
	}
	e, err := decode(f.o.Prefix, f.at.Created, f.o.Stream, msg, meta)
	if len(f.filter.subjects) == 0 && seq != due {
		return false, &Error{Err: ErrOrder, Stream: f.o.Stream, Position: e.Position, Text: fmt.Sprintf("sequences %d to %d are missing", due, seq-1)}
	}
	if err != nil {
		return false, err
	}
	if wrong := f.order.next(e); wrong != "" {
		return false, &Error{Err: ErrOrder, Stream: f.o.Stream, Position: e.Position, Text: wrong}
	}
	f.at = e.Position
	return !f.filter.wants(e) || yield(e, nil), nil
}
