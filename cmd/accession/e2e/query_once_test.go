package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/domain"
)

// asksOnce lets a query under an idempotency key die at a point, or the repair that makes lost
// keys again, and repeats it.
func asksOnce(o *crashInstallation, point string) {
	o.n++
	list := filepath.Join(o.t.TempDir(), "list-"+o.number()+".txt")
	o.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	submit := []string{"query", "submit", "--submitter", "ana", "--idempotency-key", "query " + o.number(), list}
	if strings.HasPrefix(point, "record/query-command/restore/") {
		o.run(submit...)
		o.exec("delete from record.query_command")
		repair := []string{"verify", "--repair", "--yes", "--wait", "1s"}
		o.dies(point, nil, repair...)
		_, _ = o.command(repair...).CombinedOutput() // its exit code is for what was found before
		if o.count("select count(*) from record.query_command where key like 'sha256:%'") == 0 {
			o.t.Errorf("no key was made again after a death at %s", point)
		}
	} else {
		o.dies(point, nil, submit...)
	}
	first, _, _ := strings.Cut(o.says(0, submit), " ")
	if again, _, _ := strings.Cut(o.says(0, submit), " "); again != first || first == "" {
		o.t.Errorf("died at %s: the query is %s, and then %s", point, first, again)
	}
}

// TestQueryUnderAKeyKilledAtEachStep: a query under an idempotency key dies at each step of
// its submission, or the repair of its key. The same request finds the query, or makes it: there is one.
// Shows: P1 P2
func TestQueryUnderAKeyKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	points := []string{"zklive/ids/reserve/after", "record/query-command/keep/before", "record/query-command/keep/after", "store/put/rename/after", "zklive/deliver/multi/before", "zklive/deliver/multi/after",
		"record/query-command/restore/before", "record/query-command/restore/after"}
	for _, point := range points {
		asksOnce(o, point)
	}
	s := o.serve()
	s.works()
	answered := o.seen(len(points), domain.EventQueryAnswered)
	o.still()
	s.stop()
	for _, e := range answered {
		o.keptOnce(domain.QueryID(e.Aggregate.ID))
	}
	if n := o.count(`select count(*) from accession.event where type = $1`, string(domain.EventQueryReceived)); n != len(points) {
		t.Errorf("%d queries of %d keys", n, len(points))
	}
	o.verifies()
}

// TestQueryUnderAKey: requests under one key make one query, also at the same moment, over
// HTTP, and when the query has ended and left the live state; another one under the key is
// refused, and the keys of others do not count.
// Shows: P1
func TestQueryUnderAKey(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "mail_from=archive@example.org")
	s := in.serveInProcess()
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	ask := func(w queries.Wishes) (queries.Query, error) {
		l, err := queries.Read(list, nil)
		in.must(err)
		defer l.Close()
		return queries.Submit(in.ctx(), in.app, l, w)
	}
	var requests sync.WaitGroup
	got, errs := make([]queries.Query, 6), make([]error, 6)
	for i := range got {
		requests.Go(func() { got[i], errs[i] = ask(queries.Wishes{Submitter: "ana", Key: "k"}) })
	}
	requests.Wait()
	for i, q := range got {
		if errs[i] != nil || q.ID == "" || q.ID != got[0].ID || q.Request.Lines != 1 {
			t.Errorf("%+v, %v; want %s", q, errs[i], got[0].ID)
		}
	}
	first := got[0].ID
	// The records are an older copy: the key comes back from the outbox or the log, also that of
	// a query with mail, whose addresses no event has.
	mailed := queries.Wishes{Submitter: "ana", Key: "with mail", Mail: []string{"ana@example.org"}}
	byMail, err := ask(mailed)
	in.must(err)
	in.exec("delete from record.query_command")
	_, err = in.app.Repair(in.ctx(), app.VerifyOptions{Wait: time.Second})
	in.must(err)
	for id, w := range map[domain.QueryID]queries.Wishes{first: {Submitter: "ana", Key: "k"}, byMail.ID: mailed} {
		if q, err := ask(w); err != nil || q.ID != id {
			t.Errorf("under the key that was made again: %s, %v; want %s", q.ID, err, id)
		}
		w.Format = "csv"
		if _, err := ask(w); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the key %q was used for another query, %s", w.Key, id)) {
			t.Errorf("another query under the key: %v", err)
		}
	}
	in.says(0, words("query show --watch "+string(first)), "answered")
	s.stop()
	in.cfg.Retention = time.Millisecond
	in.serveInProcess()
	waitFor(t, "the query to leave the live state", func() bool {
		live, err := in.app.Open.Handler(in.ctx())
		in.must(err)
		_, err = live.Queries.LoadQuery(in.ctx(), first)
		return err != nil
	})
	in.says(0, words("query submit --submitter ana --idempotency-key k "+list), string(first)+" answered")
	in.says(3, words("query submit --submitter ana --idempotency-key k --format csv "+list), "was used for another query, "+string(first))
	if q, err := ask(queries.Wishes{Submitter: "bob", Key: "k"}); err != nil || q.ID == first {
		t.Errorf("%+v %v", q, err)
	}
	in.says(2, words("query submit --idempotency-key "+strings.Repeat("k", 256)+" "+list), "255 bytes")
	d := in.door()
	var one, two queries.Query
	d.ask("cy reader/*", "POST", "/v1/queries?name=a.txt", "local:none\n", "Idempotency-Key: one").into(d, &one)
	d.ask("cy reader/*", "POST", "/v1/queries?name=a.txt", "local:none\n", "Idempotency-Key: one").into(d, &two)
	if one.ID == "" || one.ID != two.ID {
		t.Errorf("%s, then %s", one.ID, two.ID)
	}
	d.ask("cy reader/*", "POST", "/v1/queries?name=a.txt", "local:other\n", "Idempotency-Key: one").is(d, 422, app.KeyReused)
	if n := in.count("select count(*) from record.query_command"); n != 4 {
		t.Errorf("%d keys are kept", n)
	}
	in.agree()
}
