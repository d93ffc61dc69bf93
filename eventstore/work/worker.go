// Package work lets a Go program be a worker of the compute queue. It takes work over HTTP from
// any process with the role http, as docs/compute.md describes, so that it needs none of the
// servers behind, and imports the standard library only.
package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Worker takes work and does it, one piece at a time. Several may run in one process.
type Worker struct {
	Server   string   // such as https://accession.example.org
	Key      string   // of an operator
	Name     string   // what it is called; it is shown beside the work
	Datasets []string // only work on these; none = all
	// Cached returns the groups whose data the worker has: their work comes first among that of
	// one priority. nil = none.
	Cached func() []Group
	// Lease is for how long work is the worker's after the last heartbeat that arrived: whole
	// seconds from 5 to 3600; 0 = 60 seconds. Three heartbeats are sent in that time.
	Lease time.Duration
	// Client sends the requests; nil = one without settings. A timeout of its own must be longer
	// than 60 seconds, which is how long a request may wait for work.
	Client *http.Client
	// Log is told what became of each piece of work; nil = [slog.Default].
	Log *slog.Logger
}

// Group is a group of a dataset.
type Group struct {
	Dataset string `json:"dataset"`
	Group   string `json:"group"`
}

// Entry is a piece of work.
type Entry struct {
	ID       string // such as eid0000000042
	Dataset  string
	Group    string
	Priority int // 0 to 999, the higher first
	Key      string
	Attempt  int // from 1
	Inputs   []Input

	of *lease
}

// Progress says how far the work is, in up to 200 characters on one line. The next heartbeat
// takes it along; it is shown beside the entry.
func (e *Entry) Progress(text string) { e.of.said.Store(&text) }

// Handler does a piece of work and returns its result, which must have at most 64 KiB as JSON. The
// context ends when the worker is stopped, or when the work is another worker's by now
// ([ErrLost] is its cause). An error that is, or wraps, a [*Failure] says how the attempt ends;
// any other one ends it in its own words, as the operators' to look at (class system), and
// another attempt is made while there is one left.
type Handler func(ctx context.Context, e *Entry) (result any, err error)

// Failure is an error that says more about the end of an attempt than its words.
type Failure struct {
	// Class says who must act: content, those who gave the inputs; system, the operators;
	// timeout, either; with wait nothing has failed. "" = system, as of any other error: that
	// the inputs are to blame only the handler can know, and who gave them is told so.
	Class   string
	Message string // a sentence for those who read the report
	Never   bool   // another attempt does not help
	// ExitStatus is that of a command that the worker has run, up to 255; 0 = not said.
	ExitStatus int
	// LastLines are what that command wrote last. The reason of the failure has the last
	// kilobyte of them.
	LastLines string
	// Uncounted says that the attempt does not count, such as when the worker cannot go on.
	// With Never it means nothing.
	Uncounted bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// ErrLost is the error of work whose lease has ended: it is another worker's by now, and what
// was made of it counts no more.
var ErrLost = errors.New("the lease has ended: the work is another worker's by now")

// Pauses after requests that were not answered.
const (
	shortestPause = time.Second
	longestPause  = 30 * time.Second
)

// longestWait is for how long a request waits for work, in seconds.
const longestWait = 30

// stopTime is how long a worker that is stopped tries to say what becomes of its work.
const stopTime = 10 * time.Second

// Run takes work and does it until the context ends; then it returns nil. What it does at that
// time is given back, so that the attempt does not count. While the server does not answer, or
// says that it is busy, Run tries again; a claim whose answer was lost is answered with what it
// has taken. Run returns an error only when the server refuses to
// give work, such as for a wrong key.
func (w *Worker) Run(ctx context.Context, do Handler) error {
	ask, err := w.newClaim()
	if err != nil {
		return err
	}
	if at, err := url.Parse(w.Server); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return fmt.Errorf("the server %q is no URL: write it as in https://accession.example.org", w.Server)
	}
	for pause := shortestPause; ; {
		_, err := w.next(ctx, ask, do)
		var refused *Refused
		switch {
		case ctx.Err() != nil: // it is stopped
			return nil //nolint:nilerr // that is no error
		case err == nil:
			if ask, err = w.newClaim(); err != nil {
				return err
			}
			pause = shortestPause
			continue
		case errors.As(err, &refused) && !refused.temporary():
			return err
		case refused != nil:
			pause = max(pause, refused.After)
		}
		w.log().Warn("no work could be taken", "error", err, "again", pause)
		if !sleep(ctx, pause) {
			return nil
		}
		pause = min(2*pause, longestPause)
	}
}

// Next waits up to half a minute for one piece of work, does it, and reports whether there was
// one. The error says why none could be taken; what became of the work itself is in the log and
// in the queue.
func (w *Worker) Next(ctx context.Context, do Handler) (bool, error) {
	ask, err := w.newClaim()
	if err != nil {
		return false, err
	}
	return w.next(ctx, ask, do)
}

// next does what Next does, by a claim that may have been sent before.
func (w *Worker) next(ctx context.Context, ask *claim, do Handler) (bool, error) {
	l, err := w.take(ctx, ask)
	if err != nil || l == nil {
		return false, err
	}
	status, err := l.do(ctx, do)
	log := w.log().With("entry", l.entry.ID, "dataset", l.entry.Dataset, "group", l.entry.Group, "attempt", l.entry.Attempt)
	if err != nil {
		log.Warn("what becomes of the work is not known here", "error", err)
	} else {
		log.Info("the work has ended", "status", status)
	}
	return true, nil
}

func (w *Worker) log() *slog.Logger {
	if w.Log == nil {
		return slog.Default()
	}
	return w.Log
}

// seconds returns the lease in seconds.
func (w *Worker) seconds() (int, error) {
	lease := cmp.Or(w.Lease, time.Minute)
	if lease < 5*time.Second || lease > time.Hour || lease%time.Second != 0 {
		return 0, fmt.Errorf("a lease of %s: it has whole seconds, from 5s to 1h", lease)
	}
	return int(lease / time.Second), nil
}

// sleep reports whether it has slept; it has not when the context ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
