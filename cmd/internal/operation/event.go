package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

const (
	// heartbeat is how often a stream that has nothing to say says where it is.
	heartbeat = 15 * time.Second
	// streamLife is when a stream ends: the client resumes it, with the rights of then.
	streamLife = 15 * time.Minute
	// maxStreams is how many streams one process serves, maxStreamsOfOne how many of one user.
	maxStreams, maxStreamsOfOne = 500, 50
	// knownOwners bounds how many batches and files a stream knows the owner of.
	knownOwners = 4096
)

// EventStream chooses events.
type EventStream struct {
	Last       string    `header:"Last-Event-ID" maxLength:"20" doc:"Sequence of the last event that was received: the stream goes on behind it"`
	After      string    `query:"after" maxLength:"20" example:"4711" doc:"Begin behind this sequence; 0 = with the first event; none = with what comes now"`
	To         uint64    `query:"to" example:"4800" doc:"End with this sequence, or with the newest event if that is before it; none = do not end"`
	Newest     int       `query:"newest" minimum:"0" maximum:"1000" doc:"Begin with so many of the newest events of the log, if nothing says where"`
	Batch      string    `query:"batch" maxLength:"40" doc:"Only of this batch, its jobs and files"`
	Job        string    `query:"job" maxLength:"40" doc:"Only of this job and its files"`
	File       string    `query:"file" maxLength:"80" doc:"Only of the file with this hash"`
	Collection string    `query:"collection" maxLength:"200" doc:"Only of this collection"`
	Kind       []string  `query:"kind" maxItems:"10" doc:"Only of these kinds: batch, job, file, query, setting or slot; separated by commas"`
	Type       []string  `query:"type" maxItems:"100" doc:"Only of these types, such as job.failed; separated by commas"`
	Actor      []string  `query:"actor" maxItems:"100" doc:"Only by these actors, such as user/maria or daemon/*; separated by commas"`
	Since      time.Time `query:"since" doc:"Only from this time on"`
	Until      time.Time `query:"until" doc:"Only before this time"`
}

// begin returns behind which sequence the stream begins.
func (in *EventStream) begin(ctx context.Context, a *app.App) (uint64, error) {
	end, err := a.LogEnd(ctx)
	text := cmp.Or(in.Last, in.After)
	if err != nil || text == "" {
		return max(end, uint64(in.Newest)) - uint64(in.Newest), err
	}
	after, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, invalid("%q is no sequence of the log", text)
	}
	if after > end {
		return 0, invalid("the log ends with %d, before %d: if it was restored, begin again", end, after)
	}
	return after, nil
}

// types returns the choice of types and kinds.
func (in *EventStream) types() (s app.Selection, err error) {
	s.Types = in.Type
	for _, kind := range in.Kind {
		s.Types = append(s.Types, kind+".*")
	}
	if err := s.Check(); err != nil {
		return s, invalid("%v", err)
	}
	return s, nil
}

// streams counts the streams that are open in a process.
type streams struct {
	mu sync.Mutex
	n  int
	of map[string]int // by name of the user
}

// enter counts a stream until the request ends, and refuses one too many.
func (s *streams) enter(request context.Context, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= maxStreams || s.of[user] >= maxStreamsOfOne {
		limit := access.Limit{Name: "event-streams", Quota: maxStreamsOfOne, Left: max(0, maxStreamsOfOne-s.of[user]), Reset: time.Minute}
		return &app.Error{Kind: app.Full, What: "follow events", Err: &access.Exceeded{Limit: limit, Err: fmt.Errorf("%d streams are open in this process, %d of them are yours", s.n, s.of[user])},
			Hint: "end others, or ask another process", RetryAfter: time.Minute}
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.n++
	s.of[user]++
	context.AfterFunc(request, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n--
		if s.of[user]--; s.of[user] == 0 {
			delete(s.of, user)
		}
	})
	return nil
}

func eventStreams() []*Operation {
	open := new(streams)
	return []*Operation{
		stream(Operation{Name: "event.follow", Method: http.MethodGet, Path: "/v1/events", Summary: "Follow the events, as a stream (server-sent events)",
			On: OnSeen, Sends: []string{"text/event-stream"}}, func(ctx context.Context, c *Call, in *EventStream) (send, error) {
			chosen, err := in.types()
			if err != nil {
				return nil, err
			}
			s := app.Selection{To: in.To, Actors: in.Actor, Since: in.Since, Until: in.Until}
			if s.Batch, err = c.batch(ctx, in.Batch); err != nil {
				return nil, err
			}
			if s.Job, err = c.job(ctx, in.Job); err != nil {
				return nil, err
			}
			if s.File, err = c.file(ctx, in.File); err != nil {
				return nil, err
			}
			if err := c.known(ctx, named{collection: in.Collection}); err != nil {
				return nil, err
			}
			after, err := in.begin(ctx, c.App)
			if err != nil {
				return nil, err
			}
			if in.To > 0 && in.To <= after {
				return nil, invalid("from %d to %d there is nothing", after+1, in.To)
			}
			if err := open.enter(ctx, c.Caller.Name); err != nil {
				return nil, err
			}
			s.From = after + 1
			f := follower{after: after, chosen: chosen, sees: c.Caller.Filter(), collection: in.Collection, owner: c.owner, caughtUp: c.App.Open.CaughtUp,
				heartbeat: heartbeat, life: streamLife, events: func(ctx context.Context) iter.Seq2[app.Event, error] {
					return c.App.Tail(ctx, app.TailOptions{Follow: in.To == 0, Selection: s})
				}}
			return f.send, nil
		}),
	}
}

// follower sends events that a caller may see.
type follower struct {
	after           uint64 // the last sequence that was looked at
	chosen          app.Selection
	collection      string // "" = of all
	sees            access.Filter
	owner           func(ctx context.Context, of domain.Aggregate) (query.Owner, error)
	caughtUp        func(ctx context.Context) error // returns when the tables show what is in the log
	owners          map[domain.Aggregate]query.Owner
	events          func(ctx context.Context) iter.Seq2[app.Event, error]
	heartbeat, life time.Duration
}

// endOfStream ends a stream that is not to be resumed.
const endOfStream = ": end\n\n"

type next struct {
	event app.Event
	err   error
}

// send sends events until the client goes, the stream has lived for long, or the process
// stops. A client that receives too slowly is cut off. Nothing is kept for it: the next event
// is read when the one before was written.
func (f *follower) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies that buffer answers must not
	p := &sending.Noted{W: w}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.life)
	came, ended := make(chan next), make(chan struct{})
	defer func() { cancel(); <-ended }()
	go func() {
		defer close(ended)
		for e, err := range f.events(ctx) {
			select {
			case came <- next{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(f.heartbeat)
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
func (f *follower) position() string { return fmt.Sprintf(": here\nid: %d\n\n", f.after) }

// flush writes at once.
func (f *follower) flush(p *sending.Noted, text string) error {
	if _, err := p.Write([]byte(text)); err != nil {
		return err
	}
	if err := http.NewResponseController(p.W).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// shown returns an event as it is sent, "" if it is not to be.
func (f *follower) shown(ctx context.Context, e app.Event) (string, error) {
	f.after = e.Seq
	if !f.chosen.Holds(domain.Recorded{Event: domain.Event{Type: e.Type}}) {
		return "", nil
	}
	if holds, err := f.holds(ctx, e); err != nil || !holds {
		return "", err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data), nil
}

// holds reports whether an event is of what the caller may see, and of the collection. It is of
// that of its batch or, if it is of a file of an open directory, of that of the file.
func (f *follower) holds(ctx context.Context, e app.Event) (bool, error) {
	if f.sees.All && f.collection == "" {
		return true, nil
	}
	of := e.Batch.Aggregate()
	if e.Batch == "" {
		var err error
		if of, err = domain.ParseAggregate(e.Subject); err != nil || of.Kind != domain.KindFile {
			return false, nil //nolint:nilerr // of no collection
		}
	}
	owner, err := f.ownerOf(ctx, of)
	if err != nil || !f.sees.Selects(owner.Collection, owner.Submitter) {
		return false, err
	}
	return f.collection == "" || owner.Collection == f.collection, nil
}

// OfCollection yields the events of a collection, for a command of the machine.
func OfCollection(ctx context.Context, a *app.App, collection string, events iter.Seq2[app.Event, error]) iter.Seq2[app.Event, error] {
	return func(yield func(app.Event, error) bool) {
		c := ofMachine(a)
		if err := c.known(ctx, named{collection: collection}); err != nil {
			yield(app.Event{}, err)
			return
		}
		f := follower{collection: collection, sees: access.Filter{All: true}, owner: c.owner, caughtUp: a.Open.CaughtUp, heartbeat: heartbeat}
		for e, err := range events {
			holds := err != nil
			if err == nil {
				holds, err = f.holds(ctx, e)
			}
			if (holds || err != nil) && !yield(e, err) {
				return
			}
		}
	}
}

// ownerOf returns whose a batch or file is, once the tables and the live state can tell: an event is
// never left out because they are late. One that neither knows then has no owner.
func (f *follower) ownerOf(ctx context.Context, of domain.Aggregate) (query.Owner, error) {
	if o, ok := f.owners[of]; ok {
		return o, nil
	}
	unknown := func(err error) bool {
		e, ok := errors.AsType[*app.Error](err)
		return ok && e.Kind == app.NotFound
	}
	o, err := f.owner(ctx, of)
	if unknown(err) {
		late, cancel := context.WithTimeout(ctx, f.heartbeat)
		err = f.caughtUp(late)
		cancel()
		if err == nil {
			o, err = f.owner(ctx, of)
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
