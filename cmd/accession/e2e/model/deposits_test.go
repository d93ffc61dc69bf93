package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// deposits is the program's deposit queue beside the model: batches of several users that
// wait, run, are parked and end, by several processes and two processors, while the
// settings change.
type deposits struct {
	*run
	queue   *model.Queue
	all     []*deposit
	values  map[string]domain.SettingValue // by kind and name
	stopped map[string]bool                // processors
	passed  map[pair]int                   // deposits of one that round robin has grabbed while another could be served
}

type deposit struct {
	model.Deposit
	claim   *eventstore.Claim // nil = the process is gone that grabbed it
	by      int               // process
	grabbed int               // how often
	where   string            // waiting, running, parked, freed, ended
}

// pair are a user who could be served and one who was.
type pair struct{ waits, served string }

var depositors = []string{"ana", "ben", "cleo", "dora"}

// processors are what two processors ask for.
var processors = map[string]model.Criteria{"default": {}, "films": {Required: map[string]bool{"ana": true, "cleo": true}}}

// deposited takes random steps, and compares after each what waits and what runs.
func deposited(t *rapid.T, s servers) {
	d := &deposits{run: &run{T: t, servers: s, want: model.New()}, queue: model.NewQueue(), values: map[string]domain.SettingValue{},
		stopped: map[string]bool{}, passed: map[pair]int{}}
	for range 2 {
		d.join(s.open())
	}
	d.start("films", true)
	steps := slices.Concat(slices.Repeat([]func(){d.grab}, 8), slices.Repeat([]func(){d.submit}, 6), slices.Repeat([]func(){d.end}, 4),
		[]func(){d.limit, d.limit, d.change, d.processor, d.park, d.park, d.unpark, d.unpark, d.free, d.restart})
	t.Repeat(map[string]func(*rapid.T){"step": func(t *rapid.T) {
		d.T = t
		steps[d.dice("step", len(steps))]()
		d.compare()
	}})
	d.T = t
	d.finish()
}

func (d *deposits) join(s storetest.Store) {
	p := newProcess(s)
	p.handler.Rings = s.Rings
	d.processes = append(d.processes, p)
}

func (d *deposits) must(err error) {
	if err != nil {
		d.Fatalf("%v", err)
	}
}

// heard counts events, and lets every process hear of events, as of those in the log.
func (d *deposits) heard(events []domain.Recorded) {
	d.settings += len(events)
	for _, p := range d.processes {
		for _, e := range events {
			p.store.Observe(e)
		}
	}
}

func (d *deposits) do(n int, of *deposit, cmd domain.BatchCommand, m eventstore.Meta) {
	res, err := d.processes[n].handler.Batch(d.Context(), domain.BatchID(of.ID), cmd, m)
	d.must(err)
	d.heard(res.Events)
}

// one chooses a deposit that is somewhere.
func (d *deposits) one(where ...string) (*deposit, bool) {
	return anyOf(d.run, "deposit", slices.DeleteFunc(slices.Clone(d.all), func(o *deposit) bool { return !slices.Contains(where, o.where) }))
}

func (d *deposits) submit() {
	if len(d.queue.Users) > 0 && len(d.in("waiting")) >= 12 {
		return
	}
	n, p := d.process()
	id, err := p.store.ReserveBatchID(d.Context())
	d.must(err)
	of := &deposit{Deposit: model.Deposit{User: oneOf(d.run, "user", depositors), ID: string(id), Number: id.Number()}, where: "waiting"}
	s := storetest.Submission()
	s.Submitter, s.Size = of.User, 0
	d.did("%d: submit %s of %s", n, id, of.User)
	d.do(n, of, domain.SubmitBatch{Submission: s}, storetest.Operator())
	d.all = append(d.all, of)
	d.queue.Put(of.Deposit)
}

func (d *deposits) in(where string) (ids []string) {
	for _, o := range d.all {
		if o.where == where {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

// grab lets a processor of a process grab: what the model says, or nothing.
func (d *deposits) grab() {
	n, p := d.process()
	name := oneOf(d.run, "processor", []string{"default", "default", "films"})
	var want model.Deposit
	rule := 0
	before, could := d.queue.Turn, d.could()
	if !d.stopped[name] {
		want, rule = d.queue.Grab(processors[name])
	}
	if rule == 0 {
		if d.dice("in vain", 4) > 0 {
			return // it takes its time to find that there is nothing
		}
		ctx, cancel := context.WithTimeout(d.Context(), d.servers.idle())
		defer cancel()
		if res, err := p.handler.Grab(ctx, fair.QueueMetadata, name, storetest.Operator()); !errors.Is(err, context.DeadlineExceeded) {
			d.Fatalf("%d: %s grabs %s (%v), want nothing", n, name, res.State.ID, err)
		}
		d.did("%d: %s grabs nothing", n, name)
		return
	}
	ctx, cancel := d.within(true)
	defer cancel()
	res, err := p.handler.Grab(ctx, fair.QueueMetadata, name, storetest.Operator())
	if err != nil || string(res.State.ID) != want.ID {
		d.Fatalf("%d: %s grabs %s (%v), want %s of %s by rule %d", n, name, res.State.ID, err, want.ID, want.User, rule)
	}
	d.did("%d: %s grabs %s of %s by rule %d", n, name, want.ID, want.User, rule)
	d.heard(res.Events)
	of := d.of(want.ID)
	of.claim, of.by, of.where = res.Claim, n, "running"
	of.grabbed++
	d.anew(of.User)
	if running := len(d.queue.Running[of.User]); running > d.queue.ConcurrencyOf(of.User) || d.queue.Turn != before+1 {
		d.Fatalf("%d deposits of %s run, at most %d may", running, of.User, d.queue.ConcurrencyOf(of.User))
	}
	if rule == 3 {
		d.served(of.User, could)
	}
}

// served checks that round robin has come round: while a user could be served, another has
// at most twice their allocation, the rest of this lap and the next one.
func (d *deposits) served(user string, could []string) {
	for _, waits := range could {
		who := pair{waits, user}
		if d.passed[who]++; waits != user && d.passed[who] > 2*d.queue.AllocationOf(user) {
			d.Fatalf("%s could be served, and %d of %s were grabbed", waits, d.passed[who], user)
		}
	}
}

// could returns whom round robin could serve now; for all others the count begins anew.
func (d *deposits) could() (users []string) {
	for _, user := range depositors {
		may := !d.queue.Suspended && !d.queue.Prohibited[user] && d.queue.AllocationOf(user) > 0 &&
			len(d.queue.Waiting[user]) > 0 && len(d.queue.Running[user]) < d.queue.ConcurrencyOf(user)
		if may {
			users = append(users, user)
		} else {
			d.anew(user)
		}
	}
	return users
}

func (d *deposits) anew(user string) {
	maps.DeleteFunc(d.passed, func(p pair, _ int) bool { return p.waits == user })
}

func (d *deposits) of(id string) *deposit {
	return d.all[slices.IndexFunc(d.all, func(o *deposit) bool { return o.ID == id })]
}

// end brings what runs, or was freed, to its report.
func (d *deposits) end() {
	of, ok := d.one("running", "freed")
	if !ok {
		return
	}
	if of.claim == nil { // its worker is gone: another claims it outside of the ring
		of.by, _ = d.process()
		c, err := again(func() (*eventstore.Claim, error) {
			c, _, err := d.processes[of.by].store.ClaimBatch(d.Context(), domain.BatchID(of.ID))
			return c, err
		})
		d.must(err)
		of.claim = c
	}
	d.did("%d: %s of %s ends", of.by, of.ID, of.User)
	bad := storetest.Broken()
	d.do(of.by, of, domain.StartBatch{Problem: &bad}, storetest.Under(of.claim, false))
	d.do(of.by, of, domain.BeginReport{}, storetest.Operator())
	d.do(of.by, of, domain.FinishReport{}, storetest.Operator())
	of.where, of.claim = "ended", nil
	d.queue.End(of.Deposit)
}

// free frees the place of what runs, which goes on.
func (d *deposits) free() {
	of, ok := d.one("running")
	if !ok {
		return
	}
	n, _ := d.process()
	d.did("%d: free %s of %s", n, of.ID, of.User)
	d.do(n, of, domain.FreeBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeFreed, Message: "stuck"}}, storetest.Operator())
	of.where = "freed"
	d.queue.End(of.Deposit)
}

var parking = domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: "parked"}

func (d *deposits) park() {
	of, ok := d.one("waiting")
	if !ok {
		return
	}
	n, p := d.process()
	d.did("%d: park %s of %s", n, of.ID, of.User)
	res, err := p.handler.Park(d.Context(), domain.BatchID(of.ID), parking, storetest.Operator())
	d.must(err)
	d.heard(res.Events)
	of.where = "parked"
	d.queue.Park(of.Deposit)
	d.anew(of.User) // if it was the last one that waited, its user joins again at the end
}

func (d *deposits) unpark() {
	if of, ok := d.one("parked"); ok {
		n, _ := d.process()
		d.did("%d: unpark %s of %s", n, of.ID, of.User)
		d.do(n, of, domain.UnparkBatch{Reason: parking}, storetest.Operator())
		of.where = "waiting"
		d.queue.Put(of.Deposit)
	}
}

// restart kills a process and starts another in its place; what it has grabbed goes on to run.
func (d *deposits) restart() {
	n, p := d.process()
	s := d.servers.restart(p.store)
	d.processes[n] = newProcess(s)
	d.processes[n].handler.Rings = s.Rings
	for _, o := range d.all {
		if o.by == n {
			o.claim = nil
		}
	}
	d.did("%d: dies and starts again", n)
}

// compare compares what waits, in the order of the ring, and what runs.
func (d *deposits) compare() {
	v, err := d.processes[0].store.View(d.Context(), fair.QueueMetadata)
	d.must(err)
	var want, got []string
	for _, user := range d.queue.Users {
		line := user + " waits"
		for _, o := range d.queue.Waiting[user] {
			line += " " + o.ID
		}
		want = append(want, line)
	}
	for _, user := range slices.Sorted(maps.Keys(d.queue.Running)) {
		if all := d.queue.Running[user]; len(all) > 0 {
			var ids []string
			for _, o := range all {
				ids = append(ids, o.ID)
			}
			slices.Sort(ids)
			want = append(want, user+" runs "+strings.Join(ids, " "))
		}
	}
	runs := map[string]string{}
	for _, u := range v.Users {
		if u.Slot > 0 {
			line := u.User + " waits"
			for _, o := range u.Waiting {
				line += " " + o.ID
			}
			got = append(got, line)
		}
		if len(u.Running) > 0 {
			runs[u.User] = strings.Trim(fmt.Sprint(u.Running), "[]")
		}
	}
	for _, user := range slices.Sorted(maps.Keys(runs)) {
		got = append(got, user+" runs "+runs[user])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.Fatalf("the queue is another (-want +got):\n%s", diff)
	}
	if v.State.Turn != d.queue.Turn {
		d.Fatalf("turn %d, want %d", v.State.Turn, d.queue.Turn)
	}
}

// finish lifts all settings, lets everything be grabbed and end, and checks that each
// deposit was grabbed once.
func (d *deposits) finish() {
	d.lift()
	for len(d.in("parked")) > 0 {
		d.unpark()
	}
	for len(d.in("waiting"))+len(d.in("running"))+len(d.in("freed")) > 0 {
		if len(d.in("waiting")) > 0 && len(d.in("running")) < 4 {
			d.grab()
		} else {
			d.end()
		}
		d.compare()
	}
	for _, o := range d.all {
		if o.grabbed != 1 {
			d.Fatalf("%s of %s was grabbed %d times", o.ID, o.User, o.grabbed)
		}
	}
	d.sent(d.processes[0].store)
	d.checkLog()
	d.checkFold()
	if wrong, err := d.servers.whole(d.Context()); err != nil || len(wrong) > 0 {
		d.Fatalf("live state and log do not agree: %v %v", wrong, err)
	}
}
