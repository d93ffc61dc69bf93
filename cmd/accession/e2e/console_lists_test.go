package e2e

import (
	"encoding/csv"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestConsoleSortsWholeLists: a list of several pages that its operation does not sort, here of
// objects, is on all its pages together, and in its file, in the order that the address chooses, as
// SQL has it; in its own order it is read on from page to page too. Lists that have one page are files
// as well.
func TestConsoleSortsWholeLists(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "admin", "--all"})
	in.withPassword("olga", password)
	in.says(0, []string{"dataset", "add", "nights", "--profile", "test", "--reason", "to look at it"})
	base := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	in.rest(in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest))
	_, err := in.db.Exec(in.ctx(), `insert into record.object select made.* from (select * from record.object limit 1) r, generate_series(1, 130) n,
		jsonb_populate_record(null::record.object, to_jsonb(r) || jsonb_build_object('primary_identifier', 'ark:/99999/made' || n, 'erc_what', 'Title ' || n % 97 || ', =1')) made`)
	in.must(err)
	rows, err := in.db.Query(in.ctx(), `select primary_identifier from record.object order by lower(erc_what) collate "C" desc, primary_identifier collate "C"`)
	in.must(err)
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	in.must(err)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(base+"/console/sign-in", url.Values{"name": {"olga"}, "password": {password}})
	in.must(err)
	in.must(res.Body.Close())
	session, _, _ := strings.Cut(res.Header.Get("Set-Cookie"), ";")
	read := func(path string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(in.ctx(), http.MethodGet, base+path, http.NoBody)
		in.must(err)
		r.Header.Set("Cookie", session)
		res, err := client.Do(r)
		in.must(err)
		text, err := io.ReadAll(res.Body)
		in.must(err)
		in.must(res.Body.Close())
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s: %s", path, res.Status, text)
		}
		return string(text)
	}
	object, next := regexp.MustCompile(`<td[^>]*><a href="/console/objects/[^"]*"><bdi>([^<]*)</bdi>`), regexp.MustCompile(`<a href="([^"]*)" rel="next">`)
	pages := func(path string) (ids []string, n int) {
		t.Helper()
		for path != "" {
			text := read(path)
			for _, m := range object.FindAllStringSubmatch(text, -1) {
				ids = append(ids, m[1])
			}
			path = ""
			if m := next.FindStringSubmatch(text); m != nil {
				path = html.UnescapeString(m[1])
			}
			n++
		}
		return ids, n
	}
	ids, n := pages("/console/objects?sort=-title")
	same := slices.Clone(ids)
	if n != 3 || len(ids) != 131 || !slices.Equal(ids, want) {
		t.Errorf("%d pages: %v, want %v", n, ids, want)
	}
	ids, n = pages("/console/objects?limit=60")
	slices.Sort(ids)
	slices.Sort(same)
	if n != 3 || !slices.Equal(ids, same) {
		t.Errorf("%d pages in the order of the list: %v", n, ids)
	}
	lines, err := csv.NewReader(strings.NewReader(read("/console/objects.csv?sort=-title&cursor=50"))).ReadAll()
	in.must(err)
	if len(lines) != 132 || lines[0][0] != "id" || lines[1][0] != want[0] || lines[131][0] != want[130] {
		t.Errorf("%d lines: %v", len(lines), lines[:2])
	}
	if text := read("/console/datasets.csv"); !strings.HasPrefix(text, "name,collection,") || !strings.Contains(text, "nights,test,") {
		t.Errorf("the file of the datasets: %s", text)
	}
}
