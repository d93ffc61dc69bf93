package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// damage is something that verify has to find and to mend.
type damage struct {
	name   string
	damage func()
	want   domain.Code
}

// ringDamages returns what may be wrong in the ring of a deposit queue in which something was
// grabbed, and a check that it is as it was before.
func (z tree) ringDamages(queue string) (all []damage, asBefore func(name string)) {
	z.in.t.Helper()
	var right eventstore.RingState
	if z.decode(queue+"/ring", &right); right.Turn == 0 || right.NextSlot < 2 {
		z.in.t.Fatalf("the ring of %s is %+v", queue, right)
	}
	for _, c := range []struct {
		name string
		edit func(*eventstore.RingState)
	}{
		{"an empty ring", func(s *eventstore.RingState) { *s = eventstore.RingState{} }},
		{"an older turn", func(s *eventstore.RingState) { s.Turn-- }},
		{"a turn that was never reached", func(s *eventstore.RingState) { s.Turn = 999_999 }},
		{"the cursor on another user", func(s *eventstore.RingState) { s.Cursor++ }},
		{"another used allocation", func(s *eventstore.RingState) { s.Used++ }},
		{"another lap", func(s *eventstore.RingState) { s.Lap++ }},
		{"a next slot that is too high", func(s *eventstore.RingState) { s.NextSlot = 99 }},
		{"a remembered step of another deposit", func(s *eventstore.RingState) {
			s.Writes, s.Recent = s.Writes+1, []eventstore.RingStep{{Rule: fair.RuleRoundRobin, Deposit: "bid0000009999", RingPosition: s.RingPosition}}
		}},
		{"a remembered step of another turn", func(s *eventstore.RingState) {
			at := s.RingPosition
			at.Turn--
			s.Writes, s.Recent = s.Writes+1, []eventstore.RingStep{{Rule: eventstore.StepJoined, RingPosition: at}}
		}},
		{"more remembered steps than writes", func(s *eventstore.RingState) {
			s.Writes, s.Recent = 0, []eventstore.RingStep{{Rule: eventstore.StepJoined, RingPosition: s.RingPosition}}
		}},
		{"all of it", func(s *eventstore.RingState) {
			s.RingPosition, s.NextSlot = domain.RingPosition{Turn: 999_999, Cursor: 7, Used: 3, Lap: 9}, 99
		}},
	} {
		all = append(all, damage{c.name, func() {
			var s eventstore.RingState
			z.decode(queue+"/ring", &s)
			c.edit(&s)
			data, err := json.Marshal(s)
			z.must(err)
			z.set(queue+"/ring", string(data))
		}, consistency.RingWrong})
	}
	return all, func(name string) {
		z.in.t.Helper()
		var now eventstore.RingState
		if z.decode(queue+"/ring", &now); now.RingPosition != right.RingPosition || now.NextSlot != right.NextSlot {
			z.in.t.Fatalf("%s: the ring of %s is %+v, was %+v", name, queue, now, right)
		}
	}
}

// Each damage of a deposit queue is found and mended, and the batches that wait and run
// there go on. A run takes a third of them.
func TestVerifyRepairsEveryRing(t *testing.T) {
	t.Parallel()
	in, m := newMixture(t)
	z := in.raw()
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) })) + "/x.txt"
	waiting := []domain.BatchID{in.depositBy("ana", payload, domain.TypeFile), in.depositBy("ana", payload, domain.TypeFile), in.depositBy("ben", payload, domain.TypeFile)}
	sync, err := in.app.Submit(in.ctx(), app.Deposit{Profile: "test", Submitter: "ana", Payload: payload, Type: domain.TypeFile, Synchronous: true})
	in.must(err)
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 {
		t.Fatalf("before any damage:\n%s", findings(r.Findings))
	}
	const queue = "/queues/metadata"
	var ana, running string
	for _, node := range in.nodesBelow(queue) {
		switch {
		case strings.HasSuffix(node, "-ana"):
			ana = node
		case strings.HasSuffix(node, "/"+string(m.open)):
			running = node
		}
	}
	if ana == "" || running == "" {
		t.Fatalf("the queue has %v", in.nodesBelow(queue))
	}
	user := running[:strings.LastIndex(running, "/")]
	const pool = queue + "/pools/synchronous"
	entry := func(id domain.BatchID) string { return ana + "/" + string(id) + "-0" }
	positions, asBefore := z.ringDamages(queue)
	for _, c := range thirdOf(t, append([]damage{
		{"an entry is lost", func() { z.cut(entry(waiting[0])) }, consistency.TicketMissing},
		{"all entries of a user are lost", func() { z.cut(entry(waiting[0]), entry(waiting[1])) }, consistency.TicketMissing},
		{"a user is lost", func() { z.cut(entry(waiting[0]), entry(waiting[1]), ana) }, consistency.RingWrong},
		{"an entry of another user", func() { z.put(strings.Replace(entry(waiting[2]), "-0", "-9", 1), "", 0) }, consistency.TicketOrphan},
		{"an entry of a batch that runs", func() { z.put(entry(m.open), "", 0) }, consistency.TicketOrphan},
		{"an entry of a batch that has ended", func() { z.put(entry(m.ended), "", 0) }, consistency.TicketOrphan},
		{"an entry of no batch", func() { z.put(entry("bid0000009999"), "", 0) }, consistency.TicketOrphan},
		{"an entry that names nothing", func() { z.put(ana+"/x", "", 0) }, consistency.StrayNode},
		{"a user without entries", func() { z.put(queue+"/users/0000000099-cleo", "", 0) }, consistency.RingWrong},
		{"one user in two slots", func() { z.put(queue+"/users/0000000077-ana", "", 0) }, consistency.RingWrong},
		{"an entry with another size", func() { z.cut(entry(waiting[0])); z.put(strings.TrimSuffix(entry(waiting[0]), "-0")+"-9", "", 0) }, consistency.TicketMissing},
		{"all users are lost", func() { z.cut(queue + "/users") }, consistency.TicketMissing},
		{"all slots are lost", func() { z.cut(queue + "/names") }, consistency.RingWrong},
		{"all running batches are lost", func() { z.cut(queue + "/running") }, consistency.TicketMissing},
		{"a slot is lost", func() { z.cut(queue + "/names/ana") }, consistency.RingWrong},
		{"another slot", func() { z.set(queue+"/names/ana", "99") }, consistency.RingWrong},
		{"a slot of a user who is not there", func() { z.put(queue+"/names/cleo", "7", 0) }, consistency.RingWrong},
		{"a running batch is lost", func() { z.cut(running) }, consistency.TicketMissing},
		{"the running batches of a user are lost", func() { z.cut(running, user) }, consistency.RingWrong},
		{"too many running batches", func() { z.set(user, `{"n":3}`) }, consistency.RingWrong},
		{"too few running batches", func() { z.set(user, `{"n":0}`) }, consistency.RingWrong},
		{"a number that cannot be read", func() { z.set(user, "{") }, consistency.RingWrong},
		{"a running batch that waits", func() { z.put(user+"/"+string(waiting[0]), "", 0) }, consistency.TicketOrphan},
		{"running batches of a user who has none", func() { z.put(queue+"/running/cleo", `{"n":1}`, 0) }, consistency.RingWrong},
		{"a synchronous deposit is lost", func() { z.cut(pool + "/" + string(sync.Batch)) }, consistency.TicketMissing},
		{"all synchronous deposits are lost", func() { z.cut(pool+"/"+string(sync.Batch), pool) }, consistency.RingWrong},
		{"another number of synchronous deposits", func() { z.set(pool, `{"n":0}`) }, consistency.RingWrong},
		{"a place of a batch that has ended", func() { z.put(pool+"/"+string(m.ended), "", 0) }, consistency.TicketOrphan},
		{"a place of a batch that waits", func() { z.put(pool+"/"+string(waiting[2]), "", 0) }, consistency.TicketOrphan},
		{"the ring is lost", func() { z.cut(queue + "/ring") }, consistency.RingWrong},
		{"the ring cannot be read", func() { z.set(queue+"/ring", "{") }, consistency.RingWrong},
		{"a next slot that was given", func() { z.edit(queue+"/ring", `"next_slot":`, `"next_slot":1,"x":`) }, consistency.RingWrong},
	}, positions...)) {
		c.damage()
		in.mends(c.name, c.want)
		asBefore(c.name)
	}
	in.serveInProcess("daemons")
	in.says(0, words("queue resume pending"))
	for _, id := range append(waiting, m.open, sync.Batch) {
		in.rest(id)
	}
	if left := in.nodesBelow(queue + "/users"); len(left) > 1 {
		t.Errorf("left in the queue: %v", left)
	}
	in.agree()
}

// While no relay carries events on, the ring of a deposit queue is compared with those that
// wait in the outbox.
func TestRingsOfUnsentEvents(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.asks("ana", "ben")
	in.orphanQuery()
	z := in.raw()
	wrong := func(v app.Verified, err error) bool {
		in.must(err)
		return slices.ContainsFunc(v.Findings, func(f app.Finding) bool { return f.Code == consistency.RingWrong })
	}
	o := app.VerifyOptions{Wait: time.Millisecond}
	if v, err := in.app.Verify(in.ctx(), o); wrong(v, err) {
		t.Fatalf("before any damage:\n%s", findings(v.Findings))
	}
	all, asBefore := z.ringDamages("/queues/query")
	for _, c := range all {
		c.damage()
		if v, err := in.app.Repair(in.ctx(), o); wrong(v, err) {
			asBefore(c.name)
		} else {
			t.Errorf("%s is not found:\n%s", c.name, findings(v.Findings))
		}
	}
}
