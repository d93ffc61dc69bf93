package jslog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// Events that are sent once more arrive as they are, with their place; where
// anything is already, and on the log itself, nothing is sent.
func TestRepublish(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	cfg := fresh(t, nc)
	l := openAt(t, nc, cfg)
	mustAppend(t, l, first(event(1, 1), event(2, 1), event(1, 2))...)
	ctx := within(t, 20*time.Second)
	all := func() []string { return ids(t, l, eventstore.ReadOptions{}) }
	before := all()

	prefix := "replay." + uuid.NewString()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	name := "copy-" + uuid.NewString()
	copied, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{prefix + ".>"}, Storage: jetstream.MemoryStorage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = js.DeleteStream(within(t, 10*time.Second), name) })

	n, stream, err := l.Republish(ctx, prefix, l.Read(ctx, eventstore.ReadOptions{From: 2}))
	if err != nil || n != 2 || stream != name {
		t.Fatalf("%d events to stream %q: %v", n, stream, err)
	}
	for i, want := range []string{"2 job/jid0000000002/1", "3 job/jid0000000001/2"} {
		msg, err := copied.GetMsg(ctx, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := codec.Decode(codec.Message{Subject: strings.TrimPrefix(msg.Subject, prefix+"."), Header: msg.Header, Data: msg.Data})
		if err != nil {
			t.Fatal(err)
		}
		if got := msg.Header.Get(jslog.HeaderSeq) + " " + r.ID(); got != want || r.Source != "/accession/test" || msg.Header[codec.HeaderStored] == nil {
			t.Errorf("message %d is %s from %s, want %s", i, got, r.Source, want)
		}
	}
	for _, to := range []string{prefix, cfg.Prefix, cfg.Prefix + ".job", strings.TrimSuffix(cfg.Prefix, ".v1"), "a.>", "a.*", "", "$JS.API"} {
		if n, _, err := l.Republish(ctx, to, l.Read(ctx, eventstore.ReadOptions{})); n != 0 || !errors.Is(err, eventstore.ErrConflict) {
			t.Errorf("%q: %d events were sent (%v)", to, n, err)
		}
	}
	if diff := cmp.Diff(before, all()); diff != "" {
		t.Errorf("the log has changed:\n%s", diff)
	}

	// Without a stream, those who listen get them.
	prefix = "replay." + uuid.NewString()
	sub, err := nc.SubscribeSync(prefix + ".>")
	if err != nil {
		t.Fatal(err)
	}
	// Without a deadline, as the program has it.
	if n, stream, err := l.Republish(t.Context(), prefix, l.Read(ctx, eventstore.ReadOptions{})); err != nil || n != 3 || stream != "" {
		t.Fatalf("%d events to stream %q: %v", n, stream, err)
	}
	for range 3 {
		if _, err := sub.NextMsgWithContext(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
