package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// A worker dies when it has grabbed a query, when it has kept the answers, and when it has
// said so: each query is grabbed once and answered once, and its answers can be read.
// Shows: P1 P2 P5
func TestQueriesOfDeadWorkers(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	o.finish(o.deposit("again"))
	list := filepath.Join(t.TempDir(), "list.txt")
	o.must(os.WriteFile(list, []byte(string(o.batches[0])+"\nlocal:none\n"), 0o600))
	points := []string{"zklive/deliver/multi/after", "store/put/rename/after", "zklive/deliver/multi/after:2"}
	for _, point := range points {
		o.run("query", "submit", "--submitter", "ana", list)
		o.dies(point, nil, "serve")
		if left, err := filepath.Glob(filepath.Join(o.dir, "store", "queries", "*", "*.jsonl")); strings.HasPrefix(point, "store/") && (err != nil || len(left) != 1) {
			t.Errorf("answers after a death at %s: %v, %v", point, left, err)
		}
	}
	s := o.serve()
	s.works()
	for _, e := range o.seen(len(points), domain.EventQueryAnswered) {
		o.says(0, words("query report --format csv "+e.Aggregate.ID), string(o.batches[0])+",batch,found,batch,completed", "not found")
	}
	o.still()
	s.stop()
	for _, of := range []domain.EventType{domain.EventQueryReceived, domain.EventQueryGrabbed, domain.EventQueryAnswered} {
		if n := o.count(`select count(*) from accession.event where type = $1`, string(of)); n != len(points) {
			t.Errorf("%d events %s of %d queries", n, of, len(points))
		}
	}
	for i := range points {
		o.keptOnce(domain.NewQueryID(int64(i + 1)))
	}
	o.sound()
}

// A query whose answering kills every process that tries fails after ten of them: the reason
// shows, and its user's place is free. One that never ends is ended by an operator.
// Shows: P2 P5
func TestQueriesThatKill(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	id := o.ask()
	for n := range 10 {
		o.dies("store/put/rename/before", nil, "serve")
		if n == 0 {
			o.says(0, words("query show "+string(id)), "grabbed")
		}
		waitFor(t, "the lock of the dead process to end", func() bool {
			held, err := o.live.Locked(t.Context(), id.Aggregate())
			return err == nil && len(held) == 0
		})
	}
	// Also those die that say that it failed.
	o.dies("zklive/deliver/multi/before", nil, "serve")
	o.dies("zklive/deliver/multi/after", nil, "serve")
	s := o.serve()
	s.works()
	o.await("the end of "+string(id), 0, func(r domain.Recorded) bool {
		return r.Aggregate == id.Aggregate() && r.Type == domain.EventQueryFailed
	})
	next := o.ask()
	o.answered(next)
	o.still()
	s.stop()
	o.says(0, words("query show "+string(id)), "failed", "claims_used_up", "11 workers in a row", "the operators must act")
	if n := o.count(`select count(*) from report.query where status = 'failed' and reason_code = 'claims_used_up' and reason_class = 'system'`); n != 1 {
		t.Errorf("%d rows of a query that failed", n)
	}
	if n := o.count(`select count(*) from accession.event where type = $1 and aggregate_id = $2`, string(domain.EventQueryFailed), string(id)); n != 1 {
		t.Errorf("%d events query.failed", n)
	}
	waits, parked := o.ask(), o.ask()
	runs := o.ask()
	o.says(0, words("query park --reason x "+string(parked)))
	o.says(0, words("query fail --yes --reason enough --dry-run "+string(waits)), "would go from received to failed")
	o.says(2, words("query fail --yes "+string(waits)), "needs a reason")
	o.says(0, words("query fail --yes --reason enough "+string(waits)+" "+string(parked)), "was received", "was parked")
	o.dies("store/put/rename/before", nil, "serve")
	o.says(0, words("query fail --yes --reason enough "+string(runs)), "was grabbed")
	o.says(3, words("query fail --yes --reason enough "+string(runs)), "failed")
	o.says(0, words("queue board query"), "0 waiting, 0 running")
	s = o.serve()
	s.works()
	o.still()
	s.stop()
	o.says(0, words("query show "+string(runs)), "cancelled: enough")
	if n := o.count(`select count(*) from report.event where type = 'query.failed' and actor like 'user/%' and data->'reason'->>'message' = 'enough'`); n != 3 {
		t.Errorf("%d queries were ended by hand", n)
	}
	o.verifies()
}

// keptOnce checks that the object store has the list of a query and one answer, no other,
// and its outcome at most.
func (o *crashInstallation) keptOnce(id domain.QueryID) {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, "store", "queries", string(id), "*"))
	o.must(err)
	answers, err := filepath.Glob(filepath.Join(o.dir, "store", "queries", string(id), "*.jsonl"))
	o.must(err)
	files = slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == "outcome.json" })
	if len(files) != 2 || len(answers) != 1 {
		o.t.Errorf("the object store has of %s: %v", id, files)
	}
}

// A process dies while it submits a query: when it has reserved the number, kept the list,
// or made the query. The list becomes one query or none, and a query is answered once.
// Shows: P1 P2
func TestQueriesWhoseSubmissionDies(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	list := filepath.Join(t.TempDir(), "list.txt")
	o.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	made := 0
	for point, queries := range map[string]int{"zklive/ids/reserve/after": 0, "store/put/create/after": 0, "store/put/rename/before": 0, "store/put/rename/after": 0,
		"zklive/deliver/multi/before": 0, "zklive/deliver/multi/after": 1} {
		o.dies(point, nil, "query", "submit", "--submitter", "ana", list)
		made += queries
		o.ask()
		made++
	}
	s := o.serve()
	s.works()
	answered := o.seen(made, domain.EventQueryAnswered)
	o.still()
	s.stop()
	for _, e := range answered {
		o.keptOnce(domain.QueryID(e.Aggregate.ID))
	}
	for _, of := range []domain.EventType{domain.EventQueryReceived, domain.EventQueryGrabbed, domain.EventQueryAnswered} {
		if n := o.count(`select count(*) from accession.event where type = $1`, string(of)); n != made {
			t.Errorf("%d events %s of %d queries", n, of, made)
		}
	}
	o.verifies()
}

// TestQueriesOverHTTPWhoseSubmissionDies: a service dies while it takes a query over HTTP. What
// it has answered is there once and is answered; a request without an answer has made no query,
// or one when it died behind the write.
// Shows: P1 P2
func TestQueriesOverHTTPWhoseSubmissionDies(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	key := o.keyOf("ana", "reader", "--all")
	at := port(t)
	// ask returns the id of the query, "" = there was no answer.
	ask := func() string {
		r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, "http://"+at+"/v1/queries?name=list.txt", strings.NewReader("local:none\n"))
		o.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/octet-stream")
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		var q struct{ ID string }
		if err := json.NewDecoder(res.Body).Decode(&q); res.StatusCode >= 300 || err != nil {
			t.Errorf("%d (%v)", res.StatusCode, err)
		}
		return q.ID
	}
	made := 0
	var answered []string
	for point, queries := range map[string]int{"zklive/ids/reserve/before": 0, "zklive/ids/reserve/after": 0, "store/put/create/before": 0, "store/put/create/after": 0, "store/put/rename/before": 0,
		"store/put/rename/after": 0, "zklive/deliver/multi/before": 0, "zklive/deliver/multi/after": 1} {
		o.dies(point, func(_ *os.Process, dead <-chan struct{}) {
			late := time.After(reaching)
			for {
				select {
				case <-dead:
					return
				case <-late:
					return
				case <-time.After(5 * time.Millisecond):
					if id := ask(); id != "" {
						t.Errorf("%s was answered by a service that was to die at %s", id, point)
					}
				}
			}
		}, "serve", "--roles", "http", "--set", "listen_http="+at)
		made += queries
	}
	s := o.serve("--roles", "all,http", "--set", "listen_http="+at)
	s.works()
	waitFor(t, "an answer to a query", func() bool {
		id := ask()
		if id != "" {
			answered = append(answered, id)
		}
		return id != ""
	})
	made++
	for _, e := range o.seen(made, domain.EventQueryAnswered) {
		o.keptOnce(domain.QueryID(e.Aggregate.ID))
		answered = slices.DeleteFunc(answered, func(id string) bool { return id == e.Aggregate.ID })
	}
	o.still()
	s.stop()
	if len(answered) > 0 {
		t.Errorf("%v were accepted, and not answered", answered)
	}
	for _, of := range []domain.EventType{domain.EventQueryReceived, domain.EventQueryGrabbed, domain.EventQueryAnswered} {
		if n := o.count(`select count(*) from accession.event where type = $1`, string(of)); n != made {
			t.Errorf("%d events %s of %d queries", n, of, made)
		}
	}
	o.verifies()
}

// A process dies while it removes a query that has ended, with the answers of a dead worker:
// in the end both are gone, and the query's own answers can be read.
// Shows: P1 P2
func TestQueriesWhoseRemovalDies(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"store/delete/remove/before", "store/delete/remove/after", "zklive/destroy/part/before", "zklive/destroy/part/after"} {
		t.Run(strings.ReplaceAll(point, "/", " "), func(t *testing.T) {
			t.Parallel()
			o := newCrashInstallation(t, nil)
			id := o.ask()
			s := o.serve()
			o.answered(id)
			o.still()
			s.stop()
			left := filepath.Join(o.dir, "store", "queries", string(id), "dead.jsonl")
			o.must(os.WriteFile(left, []byte("{}\n"), 0o600))
			o.dies(point, nil, "serve", "--set=retention=1ms")
			s = o.serve("--set=retention=1ms")
			s.works()
			waitFor(t, "the query to leave ZooKeeper", func() bool { return len(o.nodesBelow("/queries")) == 1 })
			o.still()
			s.stop()
			o.keptOnce(id)
			o.says(0, words("query report --format csv "+string(id)), "not found")
			o.verifies()
		})
	}
}

// ask submits a query and returns its id.
func (o *crashInstallation) ask() domain.QueryID {
	o.t.Helper()
	list := filepath.Join(o.t.TempDir(), "list.txt")
	o.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	id, _, _ := strings.Cut(o.says(0, []string{"query", "submit", "--submitter", "ana", list}), " ")
	return domain.QueryID(id)
}

// answered waits until a query is answered.
func (o *crashInstallation) answered(id domain.QueryID) {
	o.t.Helper()
	o.await("the answer to "+string(id), 0, func(r domain.Recorded) bool {
		return r.Aggregate == id.Aggregate() && r.Type == domain.EventQueryAnswered
	})
}
