package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Position says how far one log was read: up to an event. It is stored as JSON, or field
// by field; the zero value is the beginning. It knows the event before it, so that
// a log that was replaced, or lost its end, is noticed.
type Position struct {
	Stream  string    `json:"stream"`
	Created time.Time `json:"created"` // the stream
	Seq     uint64    `json:"place"`   // the event's number in the stream, 0 = before the first
	ID      string    `json:"id"`      // the event's, as the message has it
	Command string    `json:"command"` // the same
}

// check returns an error if the stream does not continue from the position. A new
// stream into which the same log was restored does: it has the same event, of the same
// command, there. An error that is not an [*Error] says nothing about the stream.
func (p Position) check(ctx context.Context, s jetstream.Stream, prefix string) error {
	info := s.CachedInfo()
	refuse := func(format string, args ...any) error {
		return &Error{Err: ErrStream, Stream: info.Config.Name, Position: p, Text: fmt.Sprintf(format, args...)}
	}
	state := info.State
	replaced := !p.Created.IsZero() && !p.Created.Equal(info.Created)
	other := fmt.Sprintf("it was created at %s, the followed one at %s: it was replaced", stamp(info.Created), stamp(p.Created))
	switch {
	case !slices.Contains(info.Config.Subjects, prefix+".>"):
		return refuse("it takes %q, not the subjects below %s", info.Config.Subjects, prefix)
	case replaced && (state.LastSeq < p.Seq || p.Command == ""):
		return refuse("%s", other)
	case state.LastSeq < p.Seq:
		return refuse("it ends at %d already: its end was lost", state.LastSeq)
	case state.FirstSeq > 1 || state.NumDeleted > 0:
		return refuse("its first event has number %d and %d are deleted: history is missing", state.FirstSeq, state.NumDeleted)
	case p.Seq == 0:
		return nil
	}
	m, err := s.GetMsg(ctx, p.Seq)
	if err != nil {
		return fmt.Errorf("stream %s, sequence %d: %w", info.Config.Name, p.Seq, err)
	}
	there := identify(m.Header, m.Data)
	if p.ID != "" && m.Header.Get("ce-id") == p.ID && m.Header.Get("ce-commandid") == p.Command {
		return nil // a position of an earlier build, which has the header's text with its escapes
	}
	if there.ID != p.ID || there.Command != p.Command {
		if replaced {
			return refuse("%s", other)
		}
		return refuse("event %s of command %s is there, not %s of %s: the end of the log was lost and written again", there.ID, there.Command, p.ID, p.Command)
	}
	return nil
}

// end returns the position behind the last event of a stream.
func end(ctx context.Context, s jetstream.Stream) (Position, error) {
	info := s.CachedInfo()
	p := Position{Stream: info.Config.Name, Created: info.Created, Seq: info.State.LastSeq}
	if p.Seq == 0 {
		return p, nil
	}
	m, err := s.GetMsg(ctx, p.Seq)
	if err != nil {
		return p, fmt.Errorf("stream %s, sequence %d: %w", p.Stream, p.Seq, err)
	}
	there := identify(m.Header, m.Data)
	p.ID, p.Command = there.ID, there.Command
	return p, nil
}

// find returns the stream, as it is now.
func find(ctx context.Context, js jetstream.JetStream, name string, p Position) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, &Error{Err: ErrStream, Stream: name, Position: p, Text: "there is no such stream"}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	return s, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
