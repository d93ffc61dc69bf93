package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/access"
)

// known is the caller of a request.
type known struct {
	caller access.Caller
	by     people.By
	ended  bool // what became of the request is noted, if it is to be
}

// ended notes what was changed or refused, and returns the answer to a request that failed.
func (s *Server) ended(ctx context.Context, op *operation.Operation, e operation.Ending) error {
	if e.Err == nil {
		s.note(ctx, op, e, "")
		return nil
	}
	p := problem.ForCaller(e.Err, requestID(ctx))
	if p.Status >= http.StatusInternalServerError && p.Code != string(app.IntakeClosed) {
		level := slog.LevelError
		if clientGone(ctx) && errors.Is(e.Err, context.Canceled) {
			level = slog.LevelInfo
		}
		s.Log.Log(ctx, level, "a request failed", "operation", op.Name, "on", e.On, "request", requestID(ctx), "error", e.Err)
	}
	s.note(ctx, op, e, app.Kind(p.Code))
	return p
}

// statusGone is logged of an answer that failed because its client did not wait for it.
const statusGone = 499

// clientGone reports whether the client of a request has gone before its answer.
func clientGone(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.Canceled) // not a time that is over
}

// unseen notes what was refused before an operation has seen it, such as a body that cannot be
// read. What it is about is not known: its path may have a password that was sent in the wrong
// place.
func (s *Server) unseen(r *http.Request, op *operation.Operation, status int) {
	if k, _ := r.Context().Value(keyCaller).(*known); k == nil || k.ended || op == nil || status < http.StatusBadRequest {
		return
	}
	s.note(r.Context(), op, operation.Ending{Err: errors.New(http.StatusText(status))}, kindOf(status))
}

// note audits what became of a request.
func (s *Server) note(ctx context.Context, op *operation.Operation, e operation.Ending, kind app.Kind) {
	k, _ := ctx.Value(keyCaller).(*known)
	if k == nil || k.by.Name == "" {
		return
	}
	k.ended = true
	outcome, noted := op.Noted(e, kind)
	if !noted || outcome == people.Refused && !s.refusals.take(k.by.Name, func(more int, begun time.Time) { s.noteMore(k.by, more, begun) }) {
		return
	}
	if err := s.People.Note(context.WithoutCancel(ctx), k.by, op.Name, e.On, outcome, string(kind), e.Why); err != nil {
		s.Log.Error("what a caller did cannot be audited", "operation", op.Name, "on", e.On, "caller", k.by.Name, "request", requestID(ctx), "error", err)
	}
}

// noteMore audits how many refusals of a caller were not audited one by one.
func (s *Server) noteMore(by people.By, more int, begun time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	detail := fmt.Sprintf("%d more within a minute from %s", more, begun.UTC().Format(time.DateTime))
	if err := s.People.Note(ctx, by, "request.refused", "", people.Refused, detail, ""); err != nil {
		s.Log.Error("what a caller was refused cannot be audited", "caller", by.Name, "more", more, "error", err)
	}
}

// A caller's refusals are audited one by one up to a number within a time, and the others are
// counted, so that no client fills the tables with them.
const (
	refusalsNoted = 60
	refusalsTime  = time.Minute
)

// refusals counts those of each caller. The zero value has none.
type refusals struct {
	mu sync.Mutex
	of map[string]*refused // by name
}

// refused are the refusals of one caller from a moment on.
type refused struct {
	begun time.Time
	n     int
	timer *time.Timer
	told  func(more int, begun time.Time)
}

// take counts a refusal and reports whether it is audited. more is told of the others when
// the time is over.
func (f *refusals) take(caller string, more func(more int, begun time.Time)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*refused{}
	}
	r := f.of[caller]
	if r == nil {
		r = &refused{begun: time.Now(), told: more}
		r.timer = time.AfterFunc(refusalsTime, func() { f.over(caller, r) })
		f.of[caller] = r
	}
	r.n++
	return r.n <= refusalsNoted
}

// over ends the time of a caller.
func (f *refusals) over(caller string, r *refused) {
	f.mu.Lock()
	if f.of[caller] != r {
		f.mu.Unlock()
		return
	}
	delete(f.of, caller)
	n := r.n - refusalsNoted
	f.mu.Unlock()
	if n > 0 {
		r.told(n, r.begun)
	}
}

// end ends the time of all callers.
func (f *refusals) end() {
	f.mu.Lock()
	all := make(map[string]*refused, len(f.of))
	for caller, r := range f.of {
		r.timer.Stop()
		all[caller] = r
	}
	f.mu.Unlock()
	for caller, r := range all {
		f.over(caller, r)
	}
}

// operations returns what each pattern of a route requests.
func operations() map[string]*operation.Operation {
	all := map[string]*operation.Operation{}
	for _, op := range operation.Table() {
		all[op.Method+" "+op.Path] = op
	}
	for _, r := range tus.Table() {
		all[r.Method+" "+r.Path] = r.Operation()
	}
	return all
}
