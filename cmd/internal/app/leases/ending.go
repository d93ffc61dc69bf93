package leases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/outside"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// CodeWorkerFailed is the reason of work that a worker over HTTP has ended without a result.
const CodeWorkerFailed domain.Code = "worker_failed"

// catchUpTime is how long the tables may take to show how a lease has ended.
const catchUpTime = 5 * time.Second

// Done is the result of work.
type Done struct {
	Token
	Body struct {
		Result     json.RawMessage `json:"result" doc:"JSON, at most 64 KiB"`
		ExitStatus int             `json:"exit_status,omitempty" minimum:"0" maximum:"255" doc:"Of the command"`
		LastLines  string          `json:"last_lines,omitempty" output:"true" maxLength:"4096" doc:"What the command wrote last"`
	}
}

// Failed says why there is no result.
type Failed struct {
	Token
	Body Failure
}

// Failure is how an attempt ended without a result.
type Failure struct {
	Class   string `json:"class" enum:"content,system,wait,timeout" doc:"Who must act: content = those who gave the inputs, system = the operators, timeout = either, since it took too long; wait = nothing has failed"`
	Message string `json:"message" minLength:"1" maxLength:"500" doc:"A sentence for those who read the report"`
	Never   bool   `json:"never,omitempty" doc:"Another attempt does not help; not together with given_back"`
	// ExitStatus is that of the command, nil = not said.
	ExitStatus *int   `json:"exit_status,omitempty" minimum:"0" maximum:"255" doc:"Of the command, if one ended"`
	LastLines  string `json:"last_lines,omitempty" output:"true" maxLength:"4096" doc:"What the command wrote last"`
	// GivenBack is set by a worker that stops.
	GivenBack bool `json:"given_back,omitempty" doc:"The attempt does not count: the worker stops; not together with never"`
}

// Complete ends work with its result, which is kept first. The same result again is answered
// as the first time: the answer may have been lost.
func Complete(ctx context.Context, a *app.App, in *Done) (l Lease, err error) {
	defer app.Explained(&err, "complete the work")
	b := in.Body
	if len(b.Result) > maxResult || !json.Valid(b.Result) || strings.Contains(string(b.Result), `\u0000`) {
		return l, &app.Error{Kind: app.Invalid, Err: errors.New("the result cannot be kept"), Hint: "send JSON of at most 64 KiB without U+0000; keep what is larger elsewhere, and send where"}
	}
	return end(ctx, a, in.Token, b, func(e compute.Entry) (compute.Command, error) {
		if step, is := compute.StepOf(e.Work.Key); is {
			if err := outside.Check(step, b.Result); err != nil {
				return nil, &app.Error{Kind: app.Invalid, Err: err, Hint: "docs/compute.md says what the result of each state has; the lease goes on"}
			}
		}
		result := entry.Result{ExitStatus: b.ExitStatus, SHA256: digest(string(b.Result)), Size: int64(len(b.Result))}
		outputs, err := closed(ctx, a, e, in.Token)
		if err != nil {
			return nil, err
		}
		records, err := a.Open.Records(ctx)
		if err == nil {
			err = records.KeepComputeResult(ctx, record.ComputeResult{Entry: e.ID, SHA256: result.SHA256, Key: e.Work.Key, Result: b.Result, ExitStatus: b.ExitStatus,
				LastLines: text.Lines(b.LastLines[max(0, len(b.LastLines)-maxLines):]), Worker: e.Worker, Attempt: e.Attempt,
				Claim: e.Version, Outputs: outputs})
		}
		var another *record.Error
		if errors.As(err, &another) && another.Code == record.CodeResultKept {
			err = &app.Error{Kind: app.Refused, Err: fmt.Errorf("the work on %s was completed with another result, or is about to be", e.ID), Hint: "send the same result again, not another one"}
		}
		return compute.Complete{Result: result}, err
	})
}

// message returns the message of the reason: the worker's own words, how its command ended, and
// what that wrote last.
func (f *Failure) message() string {
	m := f.Message
	if f.ExitStatus != nil {
		m += fmt.Sprintf(" (exit status %d)", *f.ExitStatus)
	}
	return compute.WithLastLines(m, f.LastLines)
}

// Fail ends work without a result. The same failure again is answered as the first time.
func Fail(ctx context.Context, a *app.App, in *Failed) (l Lease, err error) {
	defer app.Explained(&err, "fail the work")
	b := in.Body
	if b.Never && b.GivenBack {
		return l, &app.Error{Kind: app.Invalid, Err: errors.New("never and given_back contradict each other"), Hint: "send never if another attempt does not help, given_back if another worker is to make this one"}
	}
	return end(ctx, a, in.Token, b, func(e compute.Entry) (compute.Command, error) {
		why := domain.Reason{Class: domain.Class(b.Class), Code: CodeWorkerFailed, Message: b.message(), Attempt: e.Attempt, Worker: e.Worker}
		if b.Never {
			return compute.Fail{Reason: why}, nil
		}
		return compute.Return{Reason: why, Uncounted: b.GivenBack}, nil
	})
}

// end ends a lease as a request says, or finds out how the same request has ended it before.
func end(ctx context.Context, a *app.App, t Token, said any, with func(compute.Entry) (compute.Command, error)) (l Lease, err error) {
	id, sum, err := parse(t.Token)
	if err != nil {
		return l, err
	}
	data, err := json.Marshal(said)
	if err != nil {
		return l, err
	}
	command := "lease-" + digest(sum + " " + string(data))[:40]
	l, err = endOnce(ctx, a, id, sum, command, with)
	if !errors.Is(err, eventstore.ErrFenced) {
		return l, err
	}
	state, found, lookErr := endedBy(ctx, a, id, command)
	if found || lookErr != nil {
		return Lease{Entry: string(id), Status: state}, lookErr
	}
	handler, openErr := a.Open.Handler(ctx)
	if openErr != nil {
		return l, openErr
	}
	return l, late(ctx, handler, id, err)
}

// endOnce ends a lease by a command with an id. The file of its entry ends first. The error is
// ErrFenced if the lease has ended, or ends in another way than the worker has said.
func endOnce(ctx context.Context, a *app.App, id compute.ID, sum, command string, with func(compute.Entry) (compute.Command, error)) (l Lease, err error) {
	handler, attempts, err := open(ctx, a)
	if err != nil {
		return l, err
	}
	at, _, err := handler.Leased(ctx, id, sum)
	if err != nil {
		return l, err
	}
	said, err := with(at.State)
	if err != nil {
		return l, err
	}
	cmd, m := said, a.Meta()
	m.CommandID = command
	if file := attempts.Of(at.State); file != nil {
		if cmd, err = file.Resume(ctx); err == nil && cmd == nil {
			cmd, err = file.End(ctx, said)
		}
		if err != nil {
			return l, err
		}
		if !agree(said, cmd) {
			m.CommandID = ""
		}
	}
	if step := attempts.StepOf(at.State); step != nil {
		if over, _ := step.Over(ctx); over != nil { // if the job cannot be read, it looks at the entry later
			cmd, m.CommandID = over, ""
		}
	}
	res, err := handler.EndLease(ctx, id, sum, cmd, m)
	if err == nil && m.CommandID == "" {
		err = &eventstore.Error{Op: "end the lease", Aggregate: id.Aggregate(), Err: eventstore.ErrFenced}
	}
	return Lease{Entry: string(id), Status: res.State.State}, err
}

// agree reports whether an entry ends as its worker has said: its file may have gone on, or
// have ended before by what the same worker had said then.
func agree(said, ends compute.Command) bool {
	s, done := said.(compute.Complete)
	e, ended := ends.(compute.Complete)
	return done == ended && s.Result.SHA256 == e.Result.SHA256
}

// endedBy returns the state into which a command has brought an entry, if it has: it is the
// last of the entry, or the tables have it.
func endedBy(ctx context.Context, a *app.App, id compute.ID, command string) (s entry.State, found bool, err error) {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return s, false, err
	}
	now, err := handler.Entries.LoadEntry(ctx, id)
	if err == nil && now.State.CommandID == command {
		return now.State.State, true, nil
	}
	if err != nil && !errors.Is(err, eventstore.ErrNotFound) {
		return s, false, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return s, false, err
	}
	if v := now.State.Version; v > 0 {
		waiting, cancel := context.WithTimeout(ctx, catchUpTime)
		defer cancel()
		if err := a.Open.Projected(waiting, id.Aggregate(), v); err != nil {
			return s, false, &app.Error{Kind: app.Unavailable, Err: fmt.Errorf("the tables do not show yet how the lease of %s has ended: %w", id, err), Hint: "send the same again"}
		}
	}
	types, err := query.EventsOfCommand(ctx, db, id.Aggregate(), command)
	for _, row := range compute.Transitions {
		if row.From == entry.Staging && slices.Contains(types, row.Event) {
			return row.To, true, nil
		}
	}
	return s, false, err
}
