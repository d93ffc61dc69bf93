package follow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore/codec"
)

// Follower reads one log. It is for one goroutine; only Close may come from another.
type Follower struct {
	o      Options
	filter filter
	nc     *nats.Conn
	js     jetstream.JetStream
	at     Position
	order  *order
}

// Open connects, and checks that the log continues from the given position. Close ends
// the connection.
func Open(ctx context.Context, o Options) (*Follower, error) {
	wanted, err := o.filter()
	if err = errors.Join(err, codec.CheckUpcasters()); err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	nc, err := nats.Connect(o.URL, append([]nats.Option{nats.Name("accession follow"), nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond), nats.IgnoreAuthErrorAbort()}, o.NATS...)...)
	if err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	f := &Follower{o: o, filter: wanted, nc: nc, at: o.After}
	if err := f.open(ctx); err != nil {
		nc.Close()
		return nil, fmt.Errorf("follow: %w", err)
	}
	return f, nil
}

func (f *Follower) open(ctx context.Context) (err error) {
	if f.js, err = jetstream.New(f.nc); err != nil {
		return err
	}
	s, err := find(ctx, f.js, f.o.Stream, f.at)
	if err != nil {
		return err
	}
	if err := f.at.check(ctx, s, f.o.Prefix); err != nil {
		return err
	}
	if f.o.New {
		if f.at, err = end(ctx, s); err != nil {
			return err
		}
	}
	f.at.Stream, f.at.Created = f.o.Stream, s.CachedInfo().Created
	f.order = newOrder(f.at.Seq == 0)
	return nil
}

// Close ends the connection.
func (f *Follower) Close() { f.nc.Close() }

// Position is where the next loop over Events begins: after the last event that was
// yielded or that the filter excluded.
func (f *Follower) Position() Position { return f.at }

// Events yields one event after another and waits for new ones. It ends with an error:
// that of ctx, an [*Error], or that of a closed connection. While the server cannot be
// reached it waits, without limit. An event counts as yielded even if the loop is left
// while the program works on it; only the stored position says what was done.
func (f *Follower) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := f.run(ctx, yield); err != nil {
			yield(Event{}, err)
		}
	}
}
