// Package following sends events to those who follow them, within their rights.
package following

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

const (
	// Heartbeat is how often a stream that has nothing to say says where it is.
	Heartbeat = 15 * time.Second
	// Life is when a stream ends: the client resumes it, with the rights of then.
	Life = 15 * time.Minute
	// MaxStreams is how many streams one process serves.
	MaxStreams = 500
	// MaxStreamsOfOne is how many streams one process serves to one user.
	MaxStreamsOfOne = 50
	// knownOwners bounds how many batches and files a stream knows the owner of.
	knownOwners = 4096
)

// Follower sends events that a caller may see.
type Follower struct {
	After    uint64 // the last sequence that was looked at
	Types    app.Selection
	Filter   Filter
	Sees     access.Filter
	Owner    func(ctx context.Context, of domain.Aggregate) (query.Owner, error)
	CaughtUp func(ctx context.Context) error // returns when the tables show what is in the log
	Events   func(ctx context.Context) iter.Seq2[app.Event, error]
	// Heartbeat is how often it says where it is, Life when it ends.
	Heartbeat, Life time.Duration

	owners map[domain.Aggregate]query.Owner
}

// Filter chooses events by what they belong to; what is given must all hold.
type Filter struct {
	Profile, Collection, Submitter string
	Code                           string // of the reason that the event has
}

// Empty reports whether every event is chosen.
func (f Filter) Empty() bool { return f == Filter{} }

// owned reports whether the owner of an event is chosen.
func (f Filter) owned(o query.Owner) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(f.Profile, o.Profile) && is(f.Collection, o.Collection) && is(f.Submitter, o.Submitter)
}

// hasCode reports whether the reason of an event is chosen.
func (f Filter) hasCode(e app.Event) bool {
	if f.Code == "" {
		return true
	}
	_, _, why := e.Move()
	return why != nil && string(why.Code) == f.Code
}

// endOfStream ends a stream that is not to be resumed.
const endOfStream = ": end\n\n"

type next struct {
	event app.Event
	err   error
}

// Send sends events until the client goes, the stream has lived for long, or the process
// stops. A client that receives too slowly is cut off. Nothing is kept for it: the next event
// is read when the one before was written.
func (f *Follower) Send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that buffer answers must not
	p := &sending.Noted{W: w}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.Life)
	came, ended := make(chan next), make(chan struct{})
	defer func() { cancel(); <-ended }()
	go func() {
		defer close(ended)
		for e, err := range f.Events(ctx) {
			select {
			case came <- next{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(f.Heartbeat)
	defer tick.Stop()
	if err := f.flush(p, "retry: 2000\n"+f.position()); err != nil {
		return err
	}
	for {
		var text string
		select {
		case <-ctx.Done():
			return nil
		case <-stopping(ctx):
			return nil
		case <-ended: // there is nothing behind To
			if ctx.Err() != nil {
				return nil
			}
			return f.flush(p, endOfStream)
		case <-tick.C:
			text = f.position()
		case n := <-came:
			err := n.err
			if err == nil {
				text, err = f.shown(ctx, n.event)
			}
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if text == "" {
				continue
			}
		}
		if err := f.flush(p, text); err != nil {
			return err
		}
	}
}

// position says up to where the log was looked at: a client that resumes begins there.
func (f *Follower) position() string { return fmt.Sprintf(": here\nid: %d\n\n", f.After) }

// flush writes at once.
func (f *Follower) flush(p *sending.Noted, text string) error {
	if _, err := p.Write([]byte(text)); err != nil {
		return err
	}
	if err := http.NewResponseController(p.W).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// shown returns an event as it is sent, "" if it is not to be.
func (f *Follower) shown(ctx context.Context, e app.Event) (string, error) {
	f.After = e.Seq
	if !f.Types.Holds(domain.Recorded{Event: domain.Event{Type: e.Type}}) {
		return "", nil
	}
	if holds, err := f.Holds(ctx, e); err != nil || !holds {
		return "", err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data), nil
}

// Holds reports whether an event is of what the caller may see, and chosen by the filter. It is of
// what its batch is of or, if it is of a file of an open directory, of what the file is of.
func (f *Follower) Holds(ctx context.Context, e app.Event) (bool, error) {
	if !f.Filter.hasCode(e) {
		return false, nil
	}
	if byCode := (Filter{Code: f.Filter.Code}); f.Sees.All && f.Filter == byCode {
		return true, nil
	}
	of := e.Batch.Aggregate()
	if e.Batch == "" {
		var err error
		if of, err = domain.ParseAggregate(e.Subject); err != nil || !f.owns(of.Kind) {
			return false, nil //nolint:nilerr // of no collection
		}
	}
	owner, err := f.ownerOf(ctx, of)
	if err != nil || !f.Sees.Selects(owner.Collection, owner.Submitter) {
		return false, err
	}
	return f.Filter.owned(owner), nil
}

// owns reports whether events of a kind that are of no batch may be chosen by whose they are. Those of
// queries and entries are of no collection, and for who sees all.
func (f *Follower) owns(kind domain.Kind) bool {
	return kind == domain.KindFile || f.Sees.All && (kind == domain.KindQuery || kind == domain.KindEntry)
}

// ownerOf returns whose a batch or file is, once the tables and the live state can tell: an event is
// never left out because they are late. One that neither knows then has no owner.
func (f *Follower) ownerOf(ctx context.Context, of domain.Aggregate) (query.Owner, error) {
	if o, ok := f.owners[of]; ok {
		return o, nil
	}
	unknown := func(err error) bool {
		e, ok := errors.AsType[*app.Error](err)
		return ok && e.Kind == app.NotFound
	}
	o, err := f.Owner(ctx, of)
	if unknown(err) {
		late, cancel := context.WithTimeout(ctx, f.Heartbeat)
		err = f.CaughtUp(late)
		cancel()
		if err == nil {
			o, err = f.Owner(ctx, of)
		}
	}
	if unknown(err) {
		o, err = query.Owner{}, nil
	}
	if err != nil {
		return o, err
	}
	if f.owners == nil || len(f.owners) >= knownOwners {
		f.owners = map[domain.Aggregate]query.Owner{}
	}
	f.owners[of] = o
	return o, nil
}

type stoppingKey struct{}

// WithStop returns the context of requests to a server that closes stop when it stops:
// streams end then.
func WithStop(ctx context.Context, stop <-chan struct{}) context.Context {
	return context.WithValue(ctx, stoppingKey{}, stop)
}

func stopping(ctx context.Context) <-chan struct{} {
	stop, _ := ctx.Value(stoppingKey{}).(<-chan struct{}) // nil = never
	return stop
}
