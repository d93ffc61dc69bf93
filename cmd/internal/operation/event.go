package operation

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/following"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain/access"
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
	Profile    string    `query:"profile" maxLength:"200" doc:"Only of what was deposited with this profile, or found for it"`
	Submitter  string    `query:"submitter" maxLength:"256" doc:"Only of what this user has submitted"`
	Code       string    `query:"code" maxLength:"100" doc:"Only those that have a reason with this code"`
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

func eventStreams() []*Operation {
	open := &atOnce{name: "event-streams", what: "follow events", counted: "streams are open", all: following.MaxStreams, ofOne: following.MaxStreamsOfOne, wait: time.Minute}
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
			chosenBy := EventFilter{Profile: in.Profile, Collection: in.Collection, Submitter: in.Submitter, Code: in.Code}
			if err := c.knownOf(ctx, chosenBy); err != nil {
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
			f := following.Follower{After: after, Types: chosen, Sees: c.Caller.Filter(), Filter: chosenBy, Owner: c.sight().Owner, CaughtUp: c.App.Open.CaughtUp,
				Heartbeat: following.Heartbeat, Life: following.Life, Events: func(ctx context.Context) iter.Seq2[app.Event, error] {
					return c.App.Tail(ctx, app.TailOptions{Follow: in.To == 0, Selection: s})
				}}
			return f.Send, nil
		}),
	}
}

// EventFilter chooses events by what they belong to.
type EventFilter = following.Filter

// knownOf returns an error if a filter of events names what is not there for the caller.
func (c *Call) knownOf(ctx context.Context, f EventFilter) error {
	return c.sight().Known(ctx, sight.Named{Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter})
}

// WithStop returns the context of requests to a server that closes stop when it stops:
// streams end then.
func WithStop(ctx context.Context, stop <-chan struct{}) context.Context {
	return following.WithStop(ctx, stop)
}

// EventsOf yields the events that a filter chooses, for a command of the machine.
func EventsOf(ctx context.Context, a *app.App, chosen EventFilter, events iter.Seq2[app.Event, error]) iter.Seq2[app.Event, error] {
	return func(yield func(app.Event, error) bool) {
		c := ofMachine(a)
		if err := c.knownOf(ctx, chosen); err != nil {
			yield(app.Event{}, err)
			return
		}
		f := following.Follower{Filter: chosen, Sees: access.Filter{All: true}, Owner: c.sight().Owner, CaughtUp: a.Open.CaughtUp, Heartbeat: following.Heartbeat}
		for e, err := range events {
			holds := err != nil
			if err == nil {
				holds, err = f.Holds(ctx, e)
			}
			if (holds || err != nil) && !yield(e, err) {
				return
			}
		}
	}
}
