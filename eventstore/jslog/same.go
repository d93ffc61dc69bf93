package jslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// OtherStream says that a stream is not the one that was read before: it was replaced,
// or lost its end. It is eventstore.ErrBroken.
type OtherStream struct {
	Stream string
	Seq    uint64 // so far it was read
	Why    string
}

// Error implements error.
func (e *OtherStream) Error() string {
	return fmt.Sprintf("stream %s does not go on from what was read of it up to %d: %s: `accession restore log` puts lost events back",
		e.Stream, e.Seq, e.Why)
}

// Unwrap makes it eventstore.ErrBroken.
func (e *OtherStream) Unwrap() error { return eventstore.ErrBroken }

// seen is what a reader knows of its stream, so that it notices another one.
type seen struct {
	created time.Time       // the stream; zero = the server was not asked yet
	seq     uint64          // the stream reached this far
	event   domain.Recorded // there; zero = none was yielded
}

// first remembers the stream as it is before anything was read of it. A read may
// begin behind its end.
func (r *reader) first(created time.Time, last uint64) {
	r.seen = seen{created: created, seq: min(r.next-1, last)}
}

// same compares the stream with what was read of it; the first time it remembers it. It
// is called after each consumer is made: what the consumer delivers then comes from the
// stream that was compared. Only a proven difference is an [OtherStream]; any other
// error says nothing about the stream.
func (r *reader) same(ctx context.Context) error {
	s, err := r.log.js.Stream(ctx, r.log.cfg.Stream)
	if err != nil {
		return err
	}
	info := s.CachedInfo()
	if r.seen.created.IsZero() {
		r.first(info.Created, info.State.LastSeq)
		return nil
	}
	refuse := func(format string, args ...any) error {
		return &OtherStream{Stream: info.Config.Name, Seq: r.seen.seq, Why: fmt.Sprintf(format, args...)}
	}
	switch state := info.State; {
	case !r.seen.created.Equal(info.Created):
		return refuse("it was created at %s, the one that was read at %s: it was replaced", stamp(info.Created), stamp(r.seen.created))
	case state.LastSeq < r.seen.seq:
		return refuse("it ends at %d already: its end was lost", state.LastSeq)
	case state.FirstSeq > 1 || state.NumDeleted > 0:
		return refuse("its first event has number %d and %d are deleted: history is missing", state.FirstSeq, state.NumDeleted)
	case r.seen.event.Version == 0:
		return nil
	}
	m, err := s.GetMsg(ctx, r.seen.seq)
	if err != nil { // also when a replica that is behind does not have it yet
		return fmt.Errorf("read log %s, sequence %d: %w", r.log.cfg.Stream, r.seen.seq, err)
	}
	there := codec.Identify(codec.Message{Header: m.Header, Data: m.Data})
	was, is := identity(r.seen.event.ID(), r.seen.event.CommandID), identity(there.ID, there.Command)
	if is != was {
		return refuse("%s lies there, not %s: its end was lost and written again", is, was)
	}
	return nil
}

// identity names an event, and the command that wrote it.
func identity(id, command string) string {
	return fmt.Sprintf("event %s of command %s", id, command)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// gone makes a missing stream final.
func gone(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w", err, eventstore.ErrBroken)
	}
	return err
}
