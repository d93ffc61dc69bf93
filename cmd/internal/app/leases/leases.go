// Package leases has the use cases of workers of the compute queue that have no session: what
// they take is theirs as long as they renew its lease.
package leases

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// Bounds of what a worker may ask for and send.
const (
	longestWait  = 60 // seconds
	defaultLease = 60 // seconds
	maxResult    = 64 << 10
	maxLines     = 4 << 10
)

// Claim asks for work.
type Claim struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"The same for every try of one request: while it lasts, the lease that the first one took is the answer to all"`
	Body struct {
		Worker   string   `json:"worker" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._@-]+$" example:"node7" doc:"What the worker is called; it is shown"`
		Datasets []string `json:"datasets,omitempty" maxItems:"100" example:"tides" doc:"Only work on these datasets; none = all"`
		Cached   []Group  `json:"cached,omitempty" maxItems:"100" doc:"Groups whose data the worker has: their work comes first among that of one priority"`
		Wait     int      `json:"wait,omitempty" minimum:"0" maximum:"60" doc:"For how many seconds to wait if there is no work"`
		Lease    int      `json:"lease,omitempty" minimum:"5" maximum:"3600" doc:"For how many seconds the work is the worker's if it sends no heartbeat; absent = 60"`
	}
}

// Group is a group of a dataset.
type Group struct {
	Dataset string `json:"dataset" maxLength:"128"`
	Group   string `json:"group" maxLength:"128"`
}

// Token names a lease.
type Token struct {
	Token string `path:"token" maxLength:"200" doc:"Token of the lease"`
}

// Subject returns the entry of the token as the audit calls it. The token's secret is not for
// the audit.
func (t *Token) Subject() string {
	id, _, err := parse(t.Token)
	if err != nil {
		return "installation"
	}
	return id.Aggregate().String()
}

// Work is what a worker has taken. Without a token there was none to take.
type Work struct {
	Token    string  `json:"token,omitempty"`
	Entry    string  `json:"entry,omitempty"`
	Dataset  string  `json:"dataset,omitempty"`
	Group    string  `json:"group,omitempty"`
	Priority int     `json:"priority,omitempty"`
	Key      string  `json:"key,omitempty"`
	Attempt  int     `json:"attempt,omitempty"`
	Lease    int     `json:"lease,omitempty"` // seconds
	Inputs   []Input `json:"inputs,omitempty"`
	Job      *Job    `json:"job,omitempty"` // for whose step or state the work is
}

// Chosen returns the entry that was taken, as the audit calls it, "" = none was there.
func (w Work) Chosen() string {
	if w.Entry == "" {
		return ""
	}
	return compute.ID(w.Entry).Aggregate().String()
}

// Input is an input of work.
type Input struct {
	// URL is where to get it; one that begins with a slash is of this service. It needs no
	// authorisation, and is there as long as the lease.
	URL    string `json:"url"`
	Name   string `json:"name"`
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// Lease is what became of a lease.
type Lease struct {
	Entry  string      `json:"entry"`
	Status entry.State `json:"status"`
	Lease  int         `json:"lease,omitempty"` // seconds until it is overdue, from now on
}

// parse returns the entry of a token, and the digest of its secret.
func parse(token string) (compute.ID, string, error) {
	name, secret, ok := strings.Cut(token, ".")
	id, err := compute.ParseID(name)
	if err != nil || !ok || secret == "" {
		return "", "", &app.Error{Kind: app.Invalid, Err: errors.New("this is no token of a lease"), Hint: "POST /v1/compute/claims returns one"}
	}
	return id, digest(secret), nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Take waits for work and takes it.
func Take(ctx context.Context, a *app.App, in *Claim) (w Work, err error) {
	defer app.Explained(&err, "take work")
	b := in.Body
	wants := compute.Wants{Datasets: b.Datasets, PassLimit: compute.PassLimit, Cached: func(g entry.Group) bool {
		for _, c := range b.Cached {
			if c.Dataset == g.Dataset && c.Group == g.Group {
				return true
			}
		}
		return false
	}}
	r, err := newRequest(a, "compute", in.Key, b)
	if err != nil {
		return w, err
	}
	return take(ctx, a, wants, r, b.Worker, b.Wait, b.Lease)
}

// take waits for work for so many seconds, and takes it under a lease of so many. What the same
// request has taken before it takes again.
func take(ctx context.Context, a *app.App, wants compute.Wants, r request, worker string, wait, seconds int) (w Work, err error) {
	handler, attempts, err := open(ctx, a)
	if err != nil {
		return w, err
	}
	for until := time.Now().Add(time.Duration(min(wait, longestWait))*time.Second + time.Second); ; {
		e, lease, secret, err := r.taken(ctx, handler)
		if err != nil {
			return w, err
		}
		if e.ID == "" {
			secret, lease = r.lease(worker+"/"+rand.Text()[:8], time.Duration(orDefault(seconds, defaultLease))*time.Second)
			waiting, cancel := context.WithDeadline(ctx, until)
			taken, err := handler.LeaseEntry(waiting, wants, lease, r.meta(a))
			cancel()
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				return Work{}, nil // none was there
			}
			if errors.Is(err, eventstore.ErrRepeated) {
				continue // its answer is on the way to another who asked
			}
			if err != nil {
				return w, err
			}
			e = taken.State
		}
		w, err := work(ctx, attempts, e, string(e.ID)+"."+secret, lease)
		var over *ended
		if errors.As(err, &over) { // its file has gone on: the next one
			if _, err := handler.EndLease(ctx, e.ID, lease.SHA256, over.with, a.Meta()); err != nil {
				return w, err
			}
			continue
		}
		return w, err
	}
}

// ended says that the file of an entry does not let it begin.
type ended struct{ with compute.Command }

// Error implements error.
func (*ended) Error() string { return "its file has gone on" }

// work describes work that was taken, and begins the attempt at its file.
func work(ctx context.Context, attempts *attempt.Attempts, e compute.Entry, token string, l eventstore.Lease) (Work, error) {
	w := Work{Token: token, Entry: string(e.ID), Dataset: e.Work.Dataset, Group: e.Work.Group, Priority: int(e.Work.Priority), Key: e.Work.Key, Attempt: e.Attempt, Lease: int(l.Timeout.Seconds())}
	if step := attempts.StepOf(e); step != nil {
		end, err := step.Begin(ctx)
		if err == nil && end != nil {
			err = &ended{end}
		}
		for i, f := range step.Files() {
			w.Inputs = append(w.Inputs, input(e.ID, l, i+1, f))
		}
		w.Job = jobOf(step.OfJob())
		return w, err
	}
	file := attempts.Of(e)
	if file == nil {
		for _, url := range e.Request.Inputs {
			w.Inputs = append(w.Inputs, Input{URL: url, Name: path.Base(url)})
		}
		return w, nil
	}
	end, err := file.Begin(ctx)
	if err == nil && end != nil {
		err = &ended{end}
	}
	w.Inputs = []Input{input(e.ID, l, 1, file.File())}
	return w, err
}

// input describes a file of this service that is the n-th input of work, from 1.
func input(id compute.ID, l eventstore.Lease, n int, f domain.File) Input {
	return Input{URL: InputsPath + ticket(id, l.SHA256, n), Name: path.Base(f.Spec.Path), Size: f.Size, SHA256: f.SHA256}
}

// Heartbeat is what a worker sends under a lease that is to begin again.
type Heartbeat struct {
	Token
	Body *Progress
}

// Progress is what a worker says of how far it is.
type Progress struct {
	Progress string `json:"progress,omitempty" maxLength:"200" doc:"How far the work is, on one line; it is shown, and absent leaves what was said last"`
}

func (h *Heartbeat) said() string {
	if h.Body == nil {
		return ""
	}
	return h.Body.Progress
}

// Renew lets a lease begin again.
func Renew(ctx context.Context, a *app.App, in *Heartbeat) (l Lease, err error) {
	defer app.Explained(&err, "renew the lease")
	id, sum, err := parse(in.Token.Token)
	if err != nil {
		return l, err
	}
	handler, attempts, err := open(ctx, a)
	if err != nil {
		return l, err
	}
	at, lease, err := handler.RenewLease(ctx, id, sum, in.said())
	if step := attempts.StepOf(at.State); err == nil && step != nil {
		if over, _ := step.Over(ctx); over != nil { // if the job cannot be read, the next heartbeat asks again
			if _, err = handler.EndLease(ctx, id, sum, over, a.Meta()); err == nil {
				err = unwanted(id, step.Job)
			}
		}
	}
	return Lease{string(id), at.State.State, int(lease.Timeout.Seconds())}, late(ctx, handler, id, err)
}

// late explains that a lease has ended.
func late(ctx context.Context, handler *eventstore.Handler, id compute.ID, err error) error {
	if !errors.Is(err, eventstore.ErrFenced) {
		return err
	}
	now, loadErr := handler.Entries.LoadEntry(ctx, id)
	if loadErr != nil {
		return lapsed(id)
	}
	if why := now.State.Reason; why != nil && why.Code == compute.CodeJobMoved {
		if step, is := compute.StepOf(now.State.Work.Key); is {
			return unwanted(id, step.Job)
		}
	}
	if s := now.State.State; s == entry.Successful || s == entry.Failed {
		return &app.Error{Kind: app.Refused, Err: fmt.Errorf("%s is %s: the lease has ended", id, s), Hint: "take other work; what was answered to a complete or fail under this token says whether it counted"}
	}
	return lapsed(id)
}

func lapsed(id compute.ID) error {
	return &app.Error{Kind: app.Refused, Err: fmt.Errorf("the lease of %s has ended: what you have made of it counts no more", id), Hint: "send heartbeats more often, or ask for a longer lease; if it has not ended, this is not the token that POST /v1/compute/claims returned"}
}

// unwanted explains that the job for whose step an entry stood has moved on.
func unwanted(id compute.ID, job domain.JobID) error {
	return &app.Error{Kind: app.Refused, Err: fmt.Errorf("%s does not wait for %s any more: what you have made of it counts no more", job, id), Hint: "take other work; `accession job show " + string(job) + "` says what became of the job"}
}

func open(ctx context.Context, a *app.App) (*eventstore.Handler, *attempt.Attempts, error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return nil, nil, err
	}
	attempts, err := a.Open.Attempts(ctx)
	return handler, attempts, err
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
