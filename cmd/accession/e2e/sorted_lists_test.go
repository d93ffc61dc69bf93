package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// TestSortedListsOfTheService: a list of jobs, batches and files is read page by page in an order
// that is chosen, over HTTP and from the command line, and has for each caller what it may see. More
// than can be sorted at a bounded cost are refused, but for the order in which they were made.
func TestSortedListsOfTheService(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess().stop
	in.rest(in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest))
	stop()
	in.shown()
	crowd := func(from, to int) {
		t.Helper()
		for table, of := range map[string]string{
			"accession.job":  `'id', 'jid' || lpad((1000 + n)::text, 10, '0'), 'erc_what', 'Title ' || n % 13, 'submitter', case n % 2 when 0 then 'ana' else 'eve' end`,
			"accession.file": `'raw_file_hash', lpad(n::text, 64, '0'), 'path', n % 11 || '/' || n, 'seq', seq + 1000 + n`,
		} {
			_, err := in.db.Exec(in.ctx(), fmt.Sprintf(`insert into %[1]s select made.* from (select * from %[1]s limit 1) r, generate_series($1::int, $2::int) n, jsonb_populate_record(null::%[1]s, to_jsonb(r) || jsonb_build_object(%[2]s)) made`, table, of), from, to)
			in.must(err)
		}
	}
	crowd(1, 40)
	d := in.door()
	const admin, eve = "cy admin/*", "eve depositor/test"
	pages := func(caller, path string) (ids []string, list app.Page[struct{ ID string }]) {
		t.Helper()
		for next := path; next != ""; {
			list.Next = ""
			d.ask(caller, http.MethodGet, next, "").into(d, &list)
			for _, item := range list.Items {
				ids = append(ids, item.ID)
			}
			if next = ""; list.Next != "" {
				next = path + "&cursor=" + string(list.Next)
			}
		}
		return ids, list
	}
	rows := func(sql string) []string {
		t.Helper()
		result, err := in.db.Query(in.ctx(), sql)
		in.must(err)
		ids, err := pgx.CollectRows(result, pgx.RowTo[string])
		in.must(err)
		return ids
	}
	const title = ` order by lower(erc_what) collate "C"`
	for _, c := range []struct{ caller, path, sql string }{
		{admin, "/v1/jobs?limit=7&sort=title", "select id from accession.job" + title + ", id"},
		{admin, "/v1/jobs?limit=7&sort=-title", "select id from accession.job" + title + " desc, id"},
		{admin, "/v1/jobs?limit=7&sort=-id", "select id from accession.job order by id desc"},
		{eve, "/v1/jobs?limit=7&sort=-title", "select id from accession.job where submitter = 'eve'" + title + " desc, id"},
		{admin, "/v1/files?limit=7&sort=path", `select raw_file_hash from accession.file order by lower(path) collate "C", seq`},
		{admin, "/v1/files?limit=7&sort=-discovered_at", "select raw_file_hash from accession.file order by seq desc"},
		{admin, "/v1/batches?limit=7&sort=id", "select id from accession.batch order by id"},
		{admin, "/v1/batches?limit=7&sort=-rows_listed", "select id from accession.batch order by rows_listed desc nulls last, id desc"},
	} {
		got, list := pages(c.caller, c.path)
		if want := rows(c.sql); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.path, got, want)
		}
		if counted := list.Total != nil; counted == strings.Contains(c.path, "discovered_at") || counted && *list.Total != int64(len(got)) {
			t.Errorf("%s: %d are counted as %v", c.path, len(got), list.Total)
		}
	}
	var first app.Page[struct{ ID string }]
	in.must(json.Unmarshal([]byte(in.says(0, words("job ls --sort -title --limit 7 -o json"))), &first))
	d.ask(admin, http.MethodGet, "/v1/jobs?limit=7&sort=title", "").into(d, &first) // and its cursor
	if here := in.listed("job ls", in.says(0, words("job ls --sort title --limit 7 -o json --cursor "+string(first.Next)))); len(here) != 7 || strings.Trim(here[0], `"`) != rows("select id from accession.job" + title + ", id offset 7")[0] {
		t.Errorf("accession job ls --sort: %v", here)
	}
	forged := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, query := range []string{"sort=colour", "sort=--title", "sort=-title&cursor=" + string(first.Next), "cursor=" + string(first.Next), "sort=title&cursor=" + forged("job/title/jid0000001001/a\x00b"),
		"sort=title&cursor=" + forged("job/title/jid0000001001/\xff"), "sort=title&cursor=" + forged("job/title/none/a"), "sort=title&cursor=" + forged("file/title/jid0000001001/a"), "sort=title&cursor=???"} {
		d.ask(admin, http.MethodGet, "/v1/jobs?"+query, "").is(d, http.StatusBadRequest, app.Invalid)
	}
	d.ask(admin, http.MethodGet, "/v1/files?sort=-discovered_at&cursor="+forged("file/-discovered_at/"+strings.Repeat("ab", 32)+"/"), "").is(d, http.StatusNotFound, app.NotFound)

	crowd(41, query.MostCounted+1)
	for path, any := range map[string]string{"/v1/jobs?limit=7": "id", "/v1/files?limit=7": "discovered_at"} {
		by := map[string]string{"id": "title", "discovered_at": "path"}[any]
		if a := d.ask(admin, http.MethodGet, path+"&sort="+by, "").is(d, http.StatusBadRequest, app.Invalid); !strings.Contains(a.Detail, "more than 10000 are chosen") || !strings.Contains(a.Hint, "sort by "+any) {
			t.Errorf("%s: %s", path, a.body)
		}
		d.ask(admin, http.MethodGet, path+"&sort=-"+any, "").is(d, http.StatusOK, "")
		d.ask(admin, http.MethodGet, path+"&sort="+by+"&submitter=ana&batch=bid0000000009", "").is(d, http.StatusNotFound, app.NotFound)
	}
	if got, _ := pages(eve, "/v1/jobs?limit=1000&sort=-title"); len(got) != (query.MostCounted+2)/2 {
		t.Errorf("of many, %d of the own are sorted", len(got))
	}
}
