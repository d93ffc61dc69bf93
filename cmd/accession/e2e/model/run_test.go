package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// servers are what the program runs over.
type servers interface {
	// open returns the store of a further process.
	open() storetest.Store
	// expire ends the session of a store, which goes on with a new one.
	expire(s storetest.Store)
	// restart returns the process that comes after one that died.
	restart(s storetest.Store) storetest.Store
	log() eventstore.Log
	// whole returns what is wrong with what is there, when all events are in the log.
	whole(ctx context.Context) ([]string, error)
	// idle is how long nothing must come of waiting for work when there is none.
	idle() time.Duration
	// exact: nothing is known of others' work later than it happens. Then a job is handed
	// over whenever it may be, and every claim is counted.
	exact() bool
	// slow: the end of a session takes long, and is not had twice in a run.
	slow() bool
}

// held is a claim, of a batch or a job.
type held struct {
	claim *eventstore.Claim
	by    int // process
	batch *model.Batch
	job   *model.Job
}

// run is the program beside the model.
type run struct {
	*rapid.T
	servers   servers
	processes []*process
	want      *model.Workflow
	held      []*held
	settings  int // changes of them
	expired   int // sessions
	script    []string
	listed    map[*model.Batch]domain.Listing
}

// commands counts what was done by all runs.
var commands atomic.Int64

// collections are two, each the profile of its name.
var collections = []string{"maps", "letters"}

// runs takes random commands, each in one line, and compares after each what it was
// about, and at the end everything.
func runs(t *rapid.T, s servers) {
	r := &run{T: t, servers: s, want: model.New(), listed: map[*model.Batch]domain.Listing{}}
	for range 2 {
		r.join(s.open())
	}
	// Work gets on more often than it is disturbed.
	actions := map[int][]func(){
		12: {r.workJob}, 8: {r.nextJob}, 7: {r.workBatch}, 3: {r.nextBatch, r.report, r.operateJob},
		2: {r.submit, r.operateBatch, r.hold, r.pause}, 1: {r.claimBatch, r.claimJob, r.remove, r.relay, r.expire, r.restart},
	}
	var all []func()
	for _, weight := range slices.Backward(slices.Sorted(maps.Keys(actions))) {
		for _, do := range actions[weight] {
			all = append(all, slices.Repeat([]func(){do}, weight)...)
		}
	}
	t.Repeat(map[string]func(*rapid.T){"command": func(t *rapid.T) {
		r.T = t
		all[r.dice("command", len(all))]()
	}})
	r.T = t
	r.end()
}

func (r *run) join(s storetest.Store) {
	r.processes = append(r.processes, newProcess(s))
}

// say writes the line of a command, and compares what became of it.
func (r *run) say(want model.Answer, err error, format string, args ...any) {
	got := model.Done
	var refused *domain.Refused
	switch {
	case err == nil:
	case errors.As(err, &refused):
		got = model.Refused
	case errors.Is(err, eventstore.ErrLocked):
		got = model.Locked
	case errors.Is(err, eventstore.ErrFenced):
		got = model.Fenced
	case errors.Is(err, eventstore.ErrNotFound):
		got = model.NotFound
	default:
		got = model.Answer(err.Error())
	}
	line := fmt.Sprintf(format, args...)
	r.did("%s: %s", line, want)
	if got != want {
		r.Fatalf("%s: %s (%v), want %s", line, got, err, want)
	}
}

// dice throws an even one, which rapid's own numbers are not.
func (r *run) dice(what string, sides int) int {
	if sides == 1 {
		return 0
	}
	return rapid.Custom(func(t *rapid.T) int {
		n := 0
		for most := 1; most < 2*sides-1; most *= 2 {
			n *= 2
			if rapid.Bool().Draw(t, "bit") {
				n++
			}
		}
		return n % sides
	}).Draw(r.T, what)
}

func oneOf[T any](r *run, what string, all []T) T { return all[r.dice(what, len(all))] }

// did writes the line of a command, and counts it.
func (r *run) did(format string, args ...any) {
	commands.Add(1)
	r.script = append(r.script, fmt.Sprintf(format, args...))
}

// Fatalf ends the run, and prints all that was done.
func (r *run) Fatalf(format string, args ...any) {
	r.T.Fatalf("%s\nafter\n  %s", fmt.Sprintf(format, args...), strings.Join(r.script, "\n  "))
}

// anyOf picks one of a list, rather a late one; false = there is none.
func anyOf[T any](r *run, what string, all []T) (one T, ok bool) {
	if len(all) == 0 {
		return one, false
	}
	return all[len(all)-1-min(r.dice(what, len(all)), r.dice(what, len(all)))], true
}

func (r *run) process() (int, *process) {
	n := r.dice("process", len(r.processes))
	return n, r.processes[n]
}

func (r *run) yes(what string) bool { return rapid.Bool().Draw(r.T, what) }

// sane makes most choices the one that gets on.
func (r *run) sane() bool { return r.dice("sane", 8) < 7 }

// most is how many batches there are at once.
const most = 3

func (r *run) submit() {
	there := 0
	for _, b := range r.want.Batches {
		if !b.Gone && b.State != "completed" {
			there++
		}
	}
	if there >= most {
		return
	}
	n, p := r.process()
	id, err := p.store.ReserveBatchID(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	collection := oneOf(r, "collection", collections)
	s := storetest.Submission()
	s.ProfileName = collection
	res, err := p.handler.Batch(r.Context(), id, domain.SubmitBatch{Submission: s}, storetest.Operator())
	r.tell(res.Events)
	b := r.want.Submit(string(id), collection)
	r.say(model.Done, err, "%d: submit %s to %s", n, id, collection)
	r.checkBatch(b)
}

func (r *run) claimBatch() {
	n, p := r.process()
	b, ok := anyOf(r, "batch", r.want.Batches)
	if !ok || b.State == "deleted" {
		return
	}
	c, err := again(func() (*eventstore.Claim, error) {
		c, _, err := p.store.ClaimBatch(r.Context(), domain.BatchID(b.ID))
		return c, err
	})
	r.say(r.want.ClaimBatch(b, idOf(c)), err, "%d: claim %s", n, b.ID)
	r.keep(&held{claim: c, by: n, batch: b})
}

func (r *run) claimJob() {
	n, p := r.process()
	j, ok := anyOf(r, "job", r.want.Jobs)
	if !ok || j.Cleaned { // no worker claims what has left its queue
		return
	}
	c, err := again(func() (*eventstore.Claim, error) {
		c, _, err := p.store.ClaimJob(r.Context(), domain.JobID(j.ID))
		return c, err
	})
	r.say(r.want.ClaimJob(j, idOf(c)), err, "%d: claim %s", n, j.ID)
	r.keep(&held{claim: c, by: n, job: j})
	r.checkAttempts(c, j)
}

// again tries a claim once more that was refused because the process did not know yet of
// another's change.
func again(claim func() (*eventstore.Claim, error)) (*eventstore.Claim, error) {
	c, err := claim()
	if errors.Is(err, eventstore.ErrConflict) && !errors.Is(err, eventstore.ErrLocked) && !errors.Is(err, eventstore.ErrFenced) {
		return claim()
	}
	return c, err
}

func idOf(c *eventstore.Claim) string {
	if c == nil {
		return ""
	}
	return c.ID
}

func (r *run) keep(h *held) {
	if h.claim != nil {
		r.held = append(r.held, h)
	}
}

// checkAttempts compares how many workers died. Over ZooKeeper a process that wrote the
// job last takes it, once, that it was not claimed since; then the count begins anew.
func (r *run) checkAttempts(c *eventstore.Claim, j *model.Job) {
	if c == nil || c.Attempts == j.Claims {
		return
	}
	if c.Attempts == 1 && !r.servers.exact() {
		j.Claims = 1
		return
	}
	r.Fatalf("claim number %d of %s, want %d", c.Attempts, j.ID, j.Claims)
}

// within bounds the wait for work: long if there is some.
func (r *run) within(some bool) (context.Context, context.CancelFunc) {
	if some {
		return context.WithTimeout(r.Context(), time.Minute)
	}
	return context.WithTimeout(r.Context(), r.servers.idle())
}

// taken are the states from which jobs are handed out, the last first.
var taken = []domain.JobState{domain.JobNotify, domain.JobRecording, domain.JobProcessing, domain.JobDownloading, domain.JobProvisioning,
	domain.JobEstimating, domain.JobPending, domain.JobCompleted}

func (r *run) nextJob() {
	n, p := r.process()
	state := oneOf(r, "state", taken)
	if r.sane() { // ask where there is something
		for _, s := range taken {
			if len(r.want.WaitingJobs(string(s))) > 0 {
				state = s
				break
			}
		}
	}
	waiting := r.want.WaitingJobs(string(state))
	if len(waiting) == 0 && r.dice("in vain", 8) > 0 {
		return // it takes its time to find that there is none
	}
	ctx, cancel := r.within(len(waiting) > 0)
	defer cancel()
	c, at, err := p.store.NextJob(ctx, state, nil)
	got := string(at.State.ID)
	r.sawLocks(n, string(state))
	switch {
	case len(waiting) == 0:
		if !errors.Is(err, context.DeadlineExceeded) {
			r.Fatalf("%d: next job that is %s: %s (%v), want none", n, state, got, err)
		}
		r.did("%d: next job that is %s: none", n, state)
		return
	case err != nil || !r.mayTake(n, got, idsOfJobs(waiting)):
		r.Fatalf("%d: next job that is %s: %s (%v), want the first of %v", n, state, got, err, idsOfJobs(waiting))
	}
	taken := waiting[slices.Index(idsOfJobs(waiting), got)]
	r.say(r.want.ClaimJob(taken, c.ID), nil, "%d: next job that is %s: %s", n, state, got)
	r.keep(&held{claim: c, by: n, job: taken})
	r.checkAttempts(c, taken)
}

func (r *run) nextBatch() {
	n, p := r.process()
	state := oneOf(r, "state", []domain.BatchState{domain.BatchPending, domain.BatchReporting, domain.BatchUpdateReporting})
	waiting := r.want.WaitingBatches(string(state))
	if len(waiting) == 0 && r.dice("in vain", 8) > 0 {
		return // it takes its time to find that there is none
	}
	ctx, cancel := r.within(len(waiting) > 0)
	defer cancel()
	c, at, err := p.store.NextBatch(ctx, state, nil)
	got := string(at.State.ID)
	r.sawLocks(n, string(state))
	switch {
	case len(waiting) == 0:
		if !errors.Is(err, context.DeadlineExceeded) {
			r.Fatalf("%d: next batch that is %s: %s (%v), want none", n, state, got, err)
		}
		return
	case err != nil || !r.mayTake(n, got, idsOfBatches(waiting)):
		r.Fatalf("%d: next batch that is %s: %s (%v), want the first of %v", n, state, got, err, idsOfBatches(waiting))
	}
	taken := waiting[slices.Index(idsOfBatches(waiting), got)]
	r.say(r.want.ClaimBatch(taken, c.ID), nil, "%d: next batch that is %s: %s", n, state, got)
	r.keep(&held{claim: c, by: n, batch: taken})
}

// order is that of a command under a claim.
func (r *run) order(h *held) (eventstore.Meta, model.By) {
	keep := !r.sane()
	return storetest.Under(h.claim, keep), model.By{Claim: h.claim.ID, Keep: keep}
}

// settle forgets a claim that has ended, if the model says so.
func (r *run) settle(h *held) {
	if h.batch != nil && h.batch.Holder == h.claim.ID || h.job != nil && h.job.Holder == h.claim.ID {
		return
	}
	// A claim that was lost is tried again now and then; one that ended must not be.
	r.held = slices.DeleteFunc(r.held, func(o *held) bool { return o == h })
}

func (r *run) release(h *held) {
	err := r.processes[h.by].store.Release(r.Context(), h.claim, 0)
	r.want.Release(h.claim.ID)
	r.say(model.Done, err, "%d: release %s", h.by, h.claim.Aggregate)
	r.held = slices.DeleteFunc(r.held, func(o *held) bool { return o == h })
}
