package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
)

// Each damage of a deposit queue is found and mended, and the batches that wait and run
// there go on.
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
	for _, c := range []struct {
		name   string
		damage func()
		want   domain.Code
	}{
		{"an entry is lost", func() { z.cut(entry(waiting[0])) }, consistency.TicketMissing},
		{"all entries of a user are lost", func() { z.cut(entry(waiting[0]), entry(waiting[1])) }, consistency.TicketMissing},
		{"a user is lost", func() { z.cut(entry(waiting[0]), entry(waiting[1]), ana) }, consistency.RingWrong},
		{"an entry of another user", func() { z.put(strings.Replace(entry(waiting[2]), "-0", "-9", 1), "", 0) }, consistency.TicketOrphan},
		{"an entry of a batch that runs", func() { z.put(entry(m.open), "", 0) }, consistency.TicketOrphan},
		{"an entry of a batch that has ended", func() { z.put(entry(m.ended), "", 0) }, consistency.TicketOrphan},
		{"an entry of no batch", func() { z.put(entry("bid0000009999"), "", 0) }, consistency.TicketOrphan},
		{"an entry that names nothing", func() { z.put(ana+"/x", "", 0) }, consistency.StrayNode},
		{"a user without entries", func() { z.put(queue+"/users/0000000099-cleo", "", 0) }, consistency.RingWrong},
		{"a slot is lost", func() { z.cut(queue + "/names/ana") }, consistency.RingWrong},
		{"another slot", func() { z.set(queue+"/names/ana", "99") }, consistency.RingWrong},
		{"a slot of a user who is not there", func() { z.put(queue+"/names/cleo", "7", 0) }, consistency.RingWrong},
		{"a running batch is lost", func() { z.cut(running) }, consistency.TicketMissing},
		{"the running batches of a user are lost", func() { z.cut(running, user) }, consistency.RingWrong},
		{"another number of running batches", func() { z.set(user, `{"n":3}`) }, consistency.RingWrong},
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
		{"an older turn", func() { z.set(queue+"/ring", `{"turn":0,"cursor":0,"used":0,"next_slot":99,"writes":0}`) }, consistency.RingWrong},
		{"a next slot that was given", func() { z.edit(queue+"/ring", `"next_slot":`, `"next_slot":1,"x":`) }, consistency.RingWrong},
	} {
		c.damage()
		in.mends(c.name, c.want)
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
