package jslog

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
)

// stray is a message that is no event.
type stray struct{ jetstream.Msg }

func (stray) Subject() string      { return "s" }
func (stray) Headers() nats.Header { return nil }
func (stray) Data() []byte         { return nil }

// A stream that lost events in its middle cannot be made on purpose, as it
// refuses deletes; so this asks the reader directly.
func TestReadNamesAGap(t *testing.T) {
	t.Parallel()
	r := reader{log: &Log{cfg: Config{Stream: "s"}}, next: 3}
	_, err := r.take(stray{}, &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: 5}})
	if !errors.Is(err, eventstore.ErrBroken) || !strings.Contains(err.Error(), "events 3 to 4 are missing") {
		t.Error(err)
	}
}

// A place that comes again, after something was handed out, is of a stream that was
// shorter meanwhile: the reader looks at the stream before it takes anything more.
func TestReadLooksAgainWhenPlacesComeAgain(t *testing.T) {
	t.Parallel()
	r := reader{log: &Log{cfg: Config{Stream: "s"}}, next: 3}
	at := &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: 2}}
	if _, err := r.take(stray{}, at); err != nil {
		t.Errorf("before anything was handed out: %v", err)
	}
	r.seen.event.Version = 1
	if _, err := r.take(stray{}, at); !errors.Is(err, errAgain) {
		t.Errorf("behind what was handed out: %v", err)
	}
}
