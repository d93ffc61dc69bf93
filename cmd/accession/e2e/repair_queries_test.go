package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// asks submits queries, one for each user.
func (in *installation) asks(users ...string) {
	in.t.Helper()
	list := filepath.Join(in.t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	for _, user := range users {
		in.says(0, []string{"query", "submit", list, "--submitter", user})
	}
}

// orphanQuery grabs the next query and leaves it without a worker.
func (in *installation) orphanQuery() domain.QueryID {
	in.t.Helper()
	handler, err := in.wired.Handler(in.ctx())
	in.must(err)
	live, err := in.wired.LiveState(in.ctx())
	in.must(err)
	res, err := handler.GrabQuery(in.ctx(), "default", eventstore.Meta{Actor: domain.DaemonActor("query")})
	in.must(err)
	in.must(live.Release(in.ctx(), res.Claim, 0))
	return res.State.ID
}

// Each damage of a query is found and mended, and the queries that wait and run go on.
// A run takes a third of them.
func TestVerifyRepairsEveryQuery(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess().stop
	in.asks("ana")
	in.seen(1, domain.EventQueryAnswered)
	stop()
	in.serveInProcess("relay", "projector")
	in.asks("ana")
	running := in.orphanQuery()
	in.asks("ana", "ana", "ben", "ben")
	ids := []domain.QueryID{"qid0000000001", "qid0000000002", "qid0000000003", "qid0000000004", "qid0000000005", "qid0000000006"}
	ended, waiting, parked := ids[0], ids[2], ids[5]
	in.says(0, []string{"query", "park", string(parked), "--reason", "x"})
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 || r.Queries != len(ids) || running != ids[1] {
		t.Fatalf("before any damage: %s runs, %d compared\n%s", running, r.Queries, findings(r.Findings))
	}
	z := in.raw()
	const queue = "/queues/query"
	var ana, entry string
	for _, node := range in.nodesBelow(queue + "/users") {
		switch {
		case strings.HasSuffix(node, "-ana"):
			ana = node
		case strings.Contains(node, "/"+string(waiting)+"-"):
			entry = node
		}
	}
	of := func(id domain.QueryID) string { return "/queries/" + string(id) }
	inRing := func(id domain.QueryID) string { return strings.Replace(entry, string(waiting), string(id), 1) }
	runs := queue + "/running/ana/" + string(running)
	positions, asBefore := z.ringDamages(queue)
	for _, c := range thirdOf(t, append([]damage{
		{"a waiting query is lost", func() { z.cut(of(waiting)) }, consistency.QueryMissing},
		{"a waiting query is lost, and its entry", func() { z.cut(of(waiting), entry) }, consistency.QueryMissing},
		{"a running query is lost", func() { z.cut(of(running)) }, consistency.QueryMissing},
		{"a parked query is lost", func() { z.cut(of(parked)) }, consistency.QueryMissing},
		{"a status is lost", func() { z.cut(of(waiting) + "/status") }, consistency.StatusMissing},
		{"the status of an ended query is lost", func() { z.cut(of(ended) + "/status") }, consistency.StatusMissing},
		{"a status of another state", func() { z.edit(of(waiting)+"/status", "received", "parked") }, consistency.StatusWrong},
		{"a status that cannot be read", func() { z.set(of(parked)+"/status", "{") }, consistency.StatusWrong},
		{"another answer", func() { z.edit(of(ended)+"/status", `"not_found":1`, `"not_found":2`) }, consistency.StatusWrong},
		{"another slot in the status", func() { z.edit(of(waiting)+"/status", `"slot":`, `"slot":9`) }, consistency.StatusWrong},
		{"another turn in the status", func() { z.edit(of(running)+"/status", `"turn":`, `"turn":9`) }, consistency.StatusWrong},
		{"an old status", func() {
			z.edit(of(running)+"/status", fmt.Sprintf(`"version":%d`, in.version(running.Aggregate())), `"version":1`)
		}, consistency.TreeBehind},
		{"a request is lost", func() { z.cut(of(waiting) + "/request") }, consistency.NodeMissing},
		{"another request", func() { z.edit(of(waiting)+"/request", "ana", "eve") }, consistency.NodeWrong},
		{"a query that is none", func() { z.puts("/queries/x", "/queries/x/status") }, consistency.StrayNode},
		{"a node too many", func() { z.puts(of(waiting)+"/x", of(waiting)+"/x/y") }, consistency.NodeUnknown},
		{"an entry is lost", func() { z.cut(entry) }, consistency.TicketMissing},
		{"an entry of another size", func() { z.put(entry+"9", "", 0) }, consistency.TicketOrphan},
		{"an entry of a running query", func() { z.put(inRing(running), "", 0) }, consistency.TicketOrphan},
		{"an entry of a parked query", func() { z.put(inRing(parked), "", 0) }, consistency.TicketOrphan},
		{"an entry of an ended query", func() { z.put(inRing(ended), "", 0) }, consistency.TicketOrphan},
		{"an entry of a query that has ended and is gone", func() { z.cut(of(ended)); z.put(inRing(ended), "", 0) }, consistency.TicketOrphan},
		{"an entry of no query", func() { z.put(inRing("qid0000009999"), "", 0) }, consistency.TicketOrphan},
		{"an entry of a batch", func() { z.put(inRing("bid0000000001"), "", 0) }, consistency.StrayNode},
		{"an entry that names nothing", func() { z.put(ana+"/x", "", 0) }, consistency.StrayNode},
		{"a running query is not counted", func() { z.cut(runs) }, consistency.TicketMissing},
		{"a running query that waits", func() { z.put(queue+"/running/ana/"+string(waiting), "", 0) }, consistency.TicketOrphan},
		{"too many running queries", func() { z.set(queue+"/running/ana", `{"n":3}`) }, consistency.RingWrong},
		{"too few running queries", func() { z.set(queue+"/running/ana", `{"n":0}`) }, consistency.RingWrong},
		{"a user without queries", func() { z.put(queue+"/users/0000000099-cleo", "", 0) }, consistency.RingWrong},
		{"a user is lost", func() { z.cut(ana) }, consistency.RingWrong},
		{"a slot is lost", func() { z.cut(queue + "/names/ana") }, consistency.RingWrong},
		{"a slot of a user who is not there", func() { z.put(queue+"/names/cleo", "7", 0) }, consistency.RingWrong},
		{"the ring is lost", func() { z.cut(queue + "/ring") }, consistency.RingWrong},
		{"a lock that no worker holds", func() { z.put(of(running)+"/lock", `{"holder":"gone"}`, 0) }, consistency.LockStale},
	}, positions...)) {
		c.damage()
		in.mends(c.name, c.want)
		asBefore(c.name)
	}
	z.puts(of("qid0000009999"), of("qid0000009999")+"/status")
	if r := in.settled(); r.Worst != app.NeedsPerson || r.Findings[0].Code != consistency.UnknownThere {
		t.Errorf("a query of no history: %s", findings(r.Findings))
	}
	z.cut(of("qid0000009999"))
	in.says(0, []string{"query", "unpark", string(parked), "--reason", "x"})
	in.serveInProcess("daemons")
	if n := len(in.seen(len(ids), domain.EventQueryAnswered)); n != len(ids) {
		t.Errorf("%d answers to %d queries", n, len(ids))
	}
	in.agree()
}

// Each damage of the rows of queries is seen.
func TestVerifySeesDamagedRowsOfQueries(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess().stop
	in.asks("ana")
	in.seen(1, domain.EventQueryAnswered)
	in.says(0, words("queue suspend query --reason x"))
	in.asks("ana", "ben")
	in.says(0, []string{"query", "park", "qid0000000003", "--reason", "x"})
	in.agree()
	stop()
	db, err := in.wired.DB(in.ctx())
	in.must(err)
	const first, second, third = " where id = 'qid0000000001'", " where id = 'qid0000000002'", " where id = 'qid0000000003'"
	for _, c := range []struct {
		name, breaks, mends, about string
		want                       domain.Code
	}{
		{"a status", "update accession.query set status = 'failed'" + first, "update accession.query set status = 'answered'" + first, "query/qid0000000001", consistency.RowWrong},
		{"an answer", "update accession.query set found = found + 1" + first, "update accession.query set found = found - 1" + first, "query/qid0000000001", consistency.RowWrong},
		{"what is asked", "update accession.query set submitter = 'eve'" + second, "update accession.query set submitter = 'ana'" + second, "query/qid0000000002", consistency.RowWrong},
		{"a slot", "update accession.query set ticket_slot = ticket_slot + 1" + second, "update accession.query set ticket_slot = ticket_slot - 1" + second, "query/qid0000000002", consistency.RowWrong},
		{"a reason", "update accession.query set reason_message = 'y'" + third, "update accession.query set reason_message = 'x'" + third, "query/qid0000000003", consistency.RowWrong},
		{"an old row", "update accession.query set version = version - 1" + first, "update accession.query set version = version + 1" + first, "query/qid0000000001", consistency.RowBehind},
		{"a row from the future", "update accession.query set version = version + 1" + first, "update accession.query set version = version - 1" + first, "query/qid0000000001", consistency.RowWrong},
		{"a row that is gone", "update accession.query set id = 'qid0000000009'" + first, "update accession.query set id = 'qid0000000001' where id = 'qid0000000009'", "query/qid0000000001", consistency.RowMissing},
		{"a row too many", "insert into accession.query select (jsonb_populate_record(q, '{\"id\": \"qid0000000009\"}')).* from accession.query q" + first,
			"delete from accession.query where id = 'qid0000000009'", "query/qid0000000009", consistency.RowExtra},
	} {
		_, err := db.Exec(in.ctx(), c.breaks)
		in.must(err)
		r, seen := in.verified(), false
		for _, f := range r.Findings {
			seen = seen || f.Code == c.want && f.Subject == c.about
		}
		if !seen || r.Worst != app.NeedsPerson {
			t.Errorf("%s: want %s about %s, got\n%s", c.name, c.want, c.about, findings(r.Findings))
		}
		_, err = db.Exec(in.ctx(), c.mends)
		in.must(err)
	}
	if r := in.verified(); len(r.Findings) > 0 {
		t.Errorf("all is mended, yet:\n%s", findings(r.Findings))
	}
}
