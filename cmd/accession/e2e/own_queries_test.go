package e2e

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/domain"
)

// TestQueriesOfDepositors: depositors ask over HTTP and by the form of Crossref's clients, and
// find what they may see, also when others ask about the same.
func TestQueriesOfDepositors(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	in.profileOfRocks("")
	in.serveInProcess()
	url := goodServer(t) + "/batch.checkm"
	anas := in.firstOf(in.depositFor("test", "ana", url, domain.TypeBatchManifest), "test")
	bobs := in.firstOf(in.depositFor("rocks", "bob", url, domain.TypeBatchManifest), "rocks")
	in.must(in.app.CatchUp(in.ctx()))
	d := in.door()
	list := strings.Join([]string{anas.batch, anas.job, bobs.batch, bobs.job}, "\n") + "\n"

	for caller, want := range map[string][]string{
		"ana depositor/test":              {anas.batch, anas.job},
		"bob depositor/rocks reader/test": {anas.batch, anas.job, bobs.batch, bobs.job},
		"cy reader/rocks":                 {bobs.batch, bobs.job},
		"cy depositor/*":                  nil,
		"cy":                              nil,
		"cy reader/*":                     {anas.batch, anas.job, bobs.batch, bobs.job},
	} {
		check := func(how, text string) {
			t.Helper()
			for _, id := range strings.Fields(list) {
				seen := false
				for _, row := range strings.Split(text, "\n") {
					seen = seen || strings.Contains(row, id) && strings.Contains(row, ",found,")
				}
				if wanted := strings.Contains(strings.Join(want, " "), id); seen != wanted {
					t.Errorf("%s of %q: %s found: %t, want %t:\n%s", how, caller, id, seen, wanted, text)
				}
			}
		}
		check("an answer", d.ask(caller, http.MethodPost, "/v1/queries/answer?format=csv", list).is(d, 200, "").body)

		var q queries.Query
		d.ask(caller, http.MethodPost, "/v1/queries?name=list.txt&format=csv", list).into(d, &q)
		in.answered(d, caller, q.ID)
		check("a query", d.ask(caller, http.MethodGet, "/v1/queries/"+string(q.ID)+"/report", "").is(d, 200, "").body)
		page := d.ask(caller, http.MethodGet, "/v1/queries/"+string(q.ID)+"/report?format=html&zone=Asia/Tokyo", "").is(d, 200, "")
		if !strings.Contains(page.body, "Asia/Tokyo") {
			t.Errorf("the page does not say in which zone its times are: %s", page.body)
		}
		for other, status := range map[string]int{"dan reader/*": 200, "dan admin/*": 200, "dan reader/test depositor/*": 404, "dan": 404} {
			code := app.Kind("")
			if status == http.StatusNotFound {
				code = app.NotFound
			}
			d.ask(other, http.MethodGet, "/v1/queries/"+string(q.ID), "").is(d, status, code)
			d.ask(other, http.MethodGet, "/v1/queries/"+string(q.ID)+"/report", "").is(d, status, code)
		}
	}
	if got := d.ask("ana depositor/test", http.MethodGet, "/v1/queries?submitter=bob", ""); got.status != http.StatusNotFound {
		t.Errorf("the queries of bob for ana: %d %s", got.status, got.body)
	}
}

// answered waits until a query has been answered.
func (in *installation) answered(d *door, caller string, id domain.QueryID) {
	in.t.Helper()
	waitFor(in.t, string(id)+" to be answered", func() bool {
		var q queries.Query
		d.ask(caller, http.MethodGet, "/v1/queries/"+string(id), "").is(d, 200, "").into(d, &q)
		return q.Over()
	})
}

// TestListsAnsweredAtOnce: two lists of one user are answered at once; one more is refused before
// its body is read, another user's is answered, and one that has been answered makes room.
func TestListsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess()
	d := in.door()
	const path = "/v1/queries/answer?format=csv"
	var all sync.WaitGroup
	var lists []*io.PipeWriter
	for range 2 {
		body, list := io.Pipe()
		lists = append(lists, list)
		read := make(chan struct{}) // closed when the service begins to read it
		traced := httptrace.WithClientTrace(in.ctx(), &httptrace.ClientTrace{Got100Continue: func() { close(read) }})
		r, err := http.NewRequestWithContext(traced, http.MethodPost, d.url+path, body)
		in.must(err)
		all.Go(func() { d.do(r, "ana depositor/test", "Expect: 100-continue").is(d, 200, "") })
		<-read
	}
	refused := d.ask("ana depositor/test", http.MethodPost, path, "local:none\n").is(d, http.StatusTooManyRequests, app.Full)
	if limit := refused.header.Get("RateLimit"); !strings.HasPrefix(limit, `"answers";r=0`) || refused.header.Get("Retry-After") == "" {
		t.Errorf("refused with %v", refused.header)
	}
	d.ask("bob depositor/test", http.MethodPost, path, "local:none\n").is(d, 200, "")
	for _, list := range lists {
		_, err := io.WriteString(list, "local:none\n")
		in.must(err)
		in.must(list.Close())
	}
	all.Wait()
	waitFor(t, "room for a list", func() bool {
		return d.ask("ana depositor/test", http.MethodPost, path, "local:none\n").status == http.StatusOK
	})
}
