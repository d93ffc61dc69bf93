package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// lease is work that is the worker's for a time.
type lease struct {
	of    *Worker
	path  string // of its requests
	time  time.Duration
	until time.Time // when it is overdue by the clock of this machine, counted from before the request
	entry *Entry
	said  atomic.Pointer[string] // of its progress, nil = nothing since the last heartbeat that arrived
}

// claim asks for work. Sent again after its answer was lost, it is answered with the lease that
// it has taken, while that lasts.
type claim struct {
	key      string
	Worker   string   `json:"worker"`
	Datasets []string `json:"datasets,omitempty"`
	Cached   []Group  `json:"cached,omitempty"`
	Wait     int      `json:"wait"`
	Lease    int      `json:"lease"`
}

func (w *Worker) newClaim() (*claim, error) {
	seconds, err := w.seconds()
	if err != nil {
		return nil, err
	}
	c := &claim{key: rand.Text(), Worker: w.Name, Datasets: w.Datasets, Wait: longestWait, Lease: seconds}
	if w.Cached != nil {
		c.Cached = w.Cached()
	}
	return c, nil
}

// take takes work; nil = there is none.
func (w *Worker) take(ctx context.Context, c *claim) (*lease, error) {
	var got struct {
		Token    string  `json:"token"`
		Entry    string  `json:"entry"`
		Dataset  string  `json:"dataset"`
		Group    string  `json:"group"`
		Priority int     `json:"priority"`
		Key      string  `json:"key"`
		Attempt  int     `json:"attempt"`
		Lease    int     `json:"lease"`
		Inputs   []Input `json:"inputs"`
	}
	if err := w.postOnce(ctx, "/v1/compute/claims", c.key, c, &got); err != nil || got.Token == "" {
		return nil, err
	}
	for i := range got.Inputs {
		got.Inputs[i].of = w
	}
	l := &lease{of: w, path: "/v1/compute/claims/" + got.Token, time: time.Duration(got.Lease) * time.Second,
		entry: &Entry{ID: got.Entry, Dataset: got.Dataset, Group: got.Group, Priority: got.Priority, Key: got.Key, Attempt: got.Attempt, Inputs: got.Inputs}}
	l.entry.of = l
	l.until = time.Now().Add(l.time)
	return l, nil
}

// do does the work with heartbeats beside it, and returns the status of the entry after its end.
func (l *lease) do(ctx context.Context, do Handler) (status string, err error) {
	working, end := context.WithCancelCause(ctx)
	var beats sync.WaitGroup
	beats.Go(func() { l.heartbeats(working, end) })
	result, err := do(working, l.entry)
	end(nil) // the first cause stays
	beats.Wait()
	if errors.Is(context.Cause(working), ErrLost) || errors.Is(err, ErrLost) {
		return "", ErrLost
	}
	if ctx.Err() != nil { // the worker is stopped: a result that it has all the same counts
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if ctx = stopping; err != nil {
			err = &Failure{Class: "system", Message: "the worker is stopped", Uncounted: true}
		}
	}
	if err == nil {
		return l.complete(ctx, result)
	}
	return l.fail(ctx, err)
}

// heartbeats lets the lease begin again until the context ends; it ends the context when the
// lease has ended.
func (l *lease) heartbeats(ctx context.Context, end context.CancelCauseFunc) {
	for sleep(ctx, l.time/3) {
		now := time.Now()
		in, cancel := context.WithDeadline(ctx, l.until)
		said := l.said.Load()
		err := l.of.post(in, l.path+"/heartbeat", beat(said), nil)
		cancel()
		switch {
		case err == nil:
			l.until = now.Add(l.time)
			l.said.CompareAndSwap(said, nil)
		case errors.Is(err, ErrLost), time.Now().After(l.until):
			end(ErrLost)
			return
		}
	}
}

// progress is what a heartbeat says.
type progress struct {
	Progress string `json:"progress,omitempty"`
}

func beat(said *string) (p progress) {
	if said != nil {
		p.Progress = short(*said, 200)
	}
	return p
}

// complete sends the result. One that the server refuses fails the attempt.
func (l *lease) complete(ctx context.Context, result any) (string, error) {
	data, err := json.Marshal(result)
	if err != nil {
		return l.fail(ctx, fmt.Errorf("the result cannot be written as JSON: %w", err))
	}
	status, err := l.end(ctx, "/complete", struct {
		Result json.RawMessage `json:"result"`
	}{data})
	var refused *Refused
	if errors.As(err, &refused) && refused.Status >= http.StatusBadRequest && refused.Status < http.StatusInternalServerError && !refused.temporary() {
		return l.fail(ctx, refused)
	}
	return status, err
}

// fail says why there is no result.
func (l *lease) fail(ctx context.Context, why error) (string, error) {
	f := &Failure{}
	errors.As(why, &f)
	said := struct {
		Class     string `json:"class"`
		Message   string `json:"message"`
		Never     bool   `json:"never,omitempty"`
		Exit      int    `json:"exit_status,omitempty"`
		LastLines string `json:"last_lines,omitempty"`
		Uncounted bool   `json:"given_back,omitempty"`
	}{Class: cmp.Or(f.Class, "system"), Message: sentence(why.Error()), Never: f.Never, Exit: max(0, min(f.ExitStatus, 255)), LastLines: lastBytes(f.LastLines), Uncounted: f.Uncounted && !f.Never}
	return l.end(ctx, "/fail", said)
}

// end sends how the work ends until it is answered: what has ended it is answered as the first
// time when it is sent again.
func (l *lease) end(ctx context.Context, verb string, said any) (string, error) {
	for pause := shortestPause / 4; ; pause = min(2*pause, longestPause) {
		var ended struct {
			Status string `json:"status"`
		}
		err := l.of.post(ctx, l.path+verb, said, &ended)
		if err == nil {
			return ended.Status, nil
		}
		var refused *Refused
		if errors.Is(err, ErrLost) || errors.As(err, &refused) && !refused.temporary() {
			return "", err
		}
		if time.Now().After(l.until.Add(l.time)) || !sleep(ctx, pause) {
			return "", err
		}
	}
}

// lastBytes returns the end of a text, of at most 4,096 bytes.
func lastBytes(s string) string {
	return strings.ToValidUTF8(s[max(0, len(s)-4096):], "\uFFFD")
}

// sentence returns what a reason may be: 1 to 500 characters of one line, none of which is
// invisible.
func sentence(s string) string {
	return cmp.Or(short(s, 500), "the worker gave no reason")
}

// short returns up to most characters of a text on one line, none of which is invisible.
func short(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point) {
			return r
		}
		return '\uFFFD'
	}, strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
