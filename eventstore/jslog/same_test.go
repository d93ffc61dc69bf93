package jslog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// by makes number v of job 1, written by the command.
func by(command string, v int64) eventstore.Append {
	e := event(1, v)
	e.CommandID = command
	return eventstore.Append{Event: e, ExpectSeq: uint64(v - 1)}
}

// follows reads on in the background: what it gives, then its error.
func follows(t *testing.T, l eventstore.Log) (seen <-chan domain.Recorded, ended <-chan error) {
	ctx, events, end := within(t, 20*time.Second), make(chan domain.Recorded, 100), make(chan error, 1)
	go func() {
		defer close(events)
		for e, err := range l.Read(ctx, eventstore.ReadOptions{Follow: true}) {
			if err != nil {
				end <- err
				return
			}
			events <- e
		}
		end <- nil
	}()
	return events, end
}

// A stream that is another one, or shorter, when its server comes back ends a read
// that follows it, whatever was written to it meanwhile; one that is the same goes on.
// Shows: C8 C9
func TestReadOfAnotherStream(t *testing.T) {
	t.Parallel()
	const there, behind = 5, 7 // events that were read; that the stream has when its server is back
	for name, tc := range map[string]struct {
		kept  int64  // events of the copy that the server comes back with, 0 = a new stream
		other string // command of what is written to it meanwhile
		upTo  int64  // number of the last of them
		want  string // "" = it goes on
	}{
		"the same":               {there, "command", behind, ""},
		"its end lost":           {3, "", 3, "it ends at 3 already"},
		"its end lost, by one":   {there - 1, "", there - 1, "it ends at 4 already"},
		"its end written anew":   {3, "another", behind, "event job/jid0000000001/5 of command another lies there"},
		"replaced":               {0, "command", behind, "it was replaced"},
		"replaced by an empty":   {0, "", 0, "it was replaced"},
		"another event, no more": {there - 1, "another", there, "of command another lies there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := jslog.Config{Stream: "same", Prefix: "same", Instance: "test"}
			dir, back := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "back")
			s := startServer(t, dir, server.RANDOM_PORT)
			l := openAt(t, connect(t, s.ClientURL()), cfg)
			write := func(l eventstore.Log, command string, from, to int64) {
				t.Helper()
				for v := from; v <= to; v++ {
					mustAppend(t, l, by(command, v))
				}
			}
			write(l, "command", 1, tc.kept)
			if tc.kept > 0 {
				s = restart(t, s, dir) // what is written then is in its files
				if err := os.CopyFS(back, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
			}
			write(l, "command", tc.kept+1, there)
			seen, ended := follows(t, l)
			for v := int64(1); v <= there; v++ {
				if e := <-seen; e.Version != v {
					t.Fatalf("number %d came where %d was due", e.Version, v)
				}
			}
			// Behind its back the stream becomes what the server comes back with.
			other := startServer(t, back, server.RANDOM_PORT)
			write(openAt(t, connect(t, other.ClientURL()), cfg), tc.other, tc.kept+1, tc.upTo)
			stop(other)
			s = restart(t, s, back)
			defer s.Shutdown()
			if tc.want == "" {
				for v := int64(there + 1); v <= behind; v++ {
					if e := <-seen; e.Version != v {
						t.Fatalf("number %d came where %d was due", e.Version, v)
					}
				}
				return
			}
			err := <-ended
			var told *jslog.OtherStream
			if !errors.Is(err, eventstore.ErrBroken) || !errors.As(err, &told) || told.Seq != there || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it ended with %v, want one that says %q", err, tc.want)
			}
			for e := range seen {
				t.Errorf("%s was handed out", e.ID())
			}
		})
	}
}

// A stream that is deleted and made again under a read ends it, without any break of
// the connection: nothing of the new one is handed out.
func TestReadOfAStreamMadeAgain(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	cfg := fresh(t, nc)
	l := openAt(t, nc, cfg)
	mustAppend(t, l, by("command", 1))
	mustAppend(t, l, by("command", 2))
	seen, ended := follows(t, l)
	<-seen
	<-seen
	js, err := jetstream.New(nc)
	if err == nil {
		err = js.DeleteStream(context.Background(), cfg.Stream)
	}
	if err != nil {
		t.Fatal(err)
	}
	l = openAt(t, nc, cfg)
	for v := int64(1); v <= 4; v++ {
		mustAppend(t, l, by("another", v))
	}
	if err := <-ended; !errors.Is(err, eventstore.ErrBroken) {
		t.Errorf("it ended with %v", err)
	}
	for e := range seen {
		t.Errorf("%s was handed out", e.ID())
	}
}
