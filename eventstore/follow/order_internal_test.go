package follow

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What is remembered is bounded, the latest subjects are always known, and a
// forgotten subject is no fault.
func TestOrderForgets(t *testing.T) {
	t.Parallel()
	o := newOrder(true)
	for n := range 3*remembered + 1 {
		if wrong := o.next(Event{Subject: fmt.Sprint(n), Version: 1}); wrong != "" {
			t.Fatal(wrong)
		}
		if kept := o.last.Len(); kept > 2*remembered {
			t.Fatalf("%d subjects are remembered", kept)
		}
	}
	if o.next(Event{Subject: fmt.Sprint(3*remembered - 5), Version: 3}) == "" {
		t.Error("a hole behind a recent event is not seen")
	}
	if wrong := o.next(Event{Subject: "0", Version: 2}); wrong != "" {
		t.Errorf("forgotten, but: %s", wrong)
	}
}

// message is one that the server would give.
type message struct {
	jetstream.Msg
	subject string
}

func (m message) Subject() string      { return m.subject }
func (m message) Headers() nats.Header { return nil }
func (m message) Data() []byte         { return nil }

// A sequence that is missing in the whole log ends the loop, whatever lies behind it.
func TestMissingSequence(t *testing.T) {
	t.Parallel()
	f := &Follower{o: Options{Stream: "s", Prefix: "p"}, at: Position{Seq: 4}, order: newOrder(false)}
	meta := &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: 7}}
	_, err := f.take(message{subject: "p.job.jid0000000001"}, meta, nil)
	if want := "stream s, sequence 7: events are missing or out of order: sequences 5 to 6 are missing"; fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}
