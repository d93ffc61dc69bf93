package jslog

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
)

// A stream that lost events in its middle cannot be made on purpose, as it
// refuses deletes; so this asks the reader directly.
func TestReadNamesAGap(t *testing.T) {
	t.Parallel()
	r := reader{log: &Log{cfg: Config{Stream: "s"}}, next: 3}
	_, err := r.take(nil, &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: 5}})
	if !errors.Is(err, eventstore.ErrBroken) || !strings.Contains(err.Error(), "events 3 to 4 are missing") {
		t.Error(err)
	}
}
