package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/projtest"
)

// shelf fills the inventory with n objects by SQL: of three collections, deposited by
// ten users, each with two files.
func shelf(t testing.TB, db *pgxpool.Pool, n int) {
	t.Helper()
	for _, statement := range []string{
		`insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
		 select 'ark:/99999/x' || lpad(k::text, 8, '0'), 'o', (array['maps', 'texts', 'rocks'])[k % 3 + 1], 1, 'Ana Li ' || k, 'Harbour of town ' || k, '1923', array['local-' || k]
		 from generate_series(1, %d) k`,
		`insert into record.object_version (primary_identifier, version, job_id, batch_id, profile_name, submitter, manifest_key, manifest_sha256, files, bytes, stored_at)
		 select 'ark:/99999/x' || lpad(k::text, 8, '0'), 1, 'jid' || lpad(k::text, 10, '0'), 'bid' || lpad((k / 10)::text, 10, '0'), 'p', 'user-' || k % 1000, 'k', 's', 2, 9, clock_timestamp()
		 from generate_series(1, %d) k`,
		`insert into record.object_file (primary_identifier, version, kind, name, key, size, sha256, mime_type)
		 select 'ark:/99999/x' || lpad(k::text, 8, '0'), 1, f.kind, f.name, 'k', 1, 's' || k, '' from generate_series(1, %d) k,
		 lateral (values ('producer', 'a/b/sheet-' || k || '.tif'), ('system', 'erc.txt')) f (kind, name)`,
		`insert into record.local_id (owner, collection, local_id, primary_identifier, job_id)
		 select 'o', 'maps', 'local-' || k, 'ark:/99999/x' || lpad(k::text, 8, '0'), 'j' from generate_series(1, %d) k`,
	} {
		if _, err := db.Exec(t.Context(), strings.ReplaceAll(statement, "%d", fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(t.Context(), "analyze"); err != nil {
		t.Fatal(err)
	}
}

// finds are ways to look for object 42 of a shelf, and what is found.
var finds = map[string]struct {
	ObjectFilter
	want string // numbers
}{
	"identifier":               {ObjectFilter{Identifier: "ark:/99999/x00000042"}, "42"},
	"local id":                 {ObjectFilter{LocalID: "local-42"}, "42"},
	"title":                    {ObjectFilter{Title: "town 42 harbour"}, "42"},
	"a word that is a part":    {ObjectFilter{Title: "town 4 harb"}, ""},
	"creator":                  {ObjectFilter{Creator: "li 42 ana"}, "42"},
	"file":                     {ObjectFilter{File: "sheet-42.tif"}, "42"},
	"end of a path":            {ObjectFilter{File: "b/sheet-42.tif"}, "42"},
	"not the end of a segment": {ObjectFilter{File: "heet-42.tif"}, ""},
	"another path":             {ObjectFilter{File: "c/sheet-42.tif"}, ""},
	"file and title":           {ObjectFilter{File: "sheet-42.tif", Title: "town 43"}, ""},
	"collection and title":     {ObjectFilter{Collection: "maps", Title: "town 42"}, "42"},
	"another collection":       {ObjectFilter{Collection: "texts", Title: "town 42"}, ""},
	"submitter":                {ObjectFilter{Submitter: "user-42", Limit: 2}, "42 1042"},
	"submitter, from":          {ObjectFilter{Submitter: "user-42", After: "ark:/99999/x00001042", Limit: 1}, "2042"},
	"seen by a reader":         {ObjectFilter{File: "sheet-42.tif", Sees: &access.Filter{Collections: []string{"maps"}}}, "42"},
	"seen by another":          {ObjectFilter{File: "sheet-42.tif", Sees: &access.Filter{Collections: []string{"texts"}}}, ""},
	"one's own":                {ObjectFilter{LocalID: "local-42", Sees: &access.Filter{Submitter: "user-42"}}, "42"},
	"not one's own":            {ObjectFilter{LocalID: "local-42", Sees: &access.Filter{Submitter: "user-43"}}, ""},
	"batch":                    {ObjectFilter{Batch: "bid0000000004", Limit: 2}, "40 41"},
	"profile":                  {ObjectFilter{Profile: "p", Limit: 2}, "1 2"},
	"another profile":          {ObjectFilter{Profile: "q"}, ""},
	"batch of another":         {ObjectFilter{Batch: "bid0000000004", Submitter: "user-42"}, "42"},
	"file and batch":           {ObjectFilter{File: "sheet-42.tif", Batch: "bid0000000005"}, ""},
	"local id and profile":     {ObjectFilter{LocalID: "local-42", Profile: "p"}, "42"},
	"since":                    {ObjectFilter{Since: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}, ""},
	"older than":               {ObjectFilter{Until: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}, ""},
	"own and collection":       {ObjectFilter{Limit: 3, Sees: &access.Filter{Submitter: "user-1", Collections: []string{"rocks"}}}, "1 2 5"},
	"of another, own only":     {ObjectFilter{Submitter: "user-2", Sees: &access.Filter{Submitter: "user-1"}}, ""},
	"nothing is seen":          {ObjectFilter{Sees: &access.Filter{}}, ""},
	"all":                      {ObjectFilter{Sees: &access.Filter{All: true}, Limit: 2}, "1 2"},
}

// TestFindObjects finds objects by each of their names, within what the caller sees, without
// reading the inventory from end to end.
func TestFindObjects(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	shelf(t, db, 20_000)
	planned := &projtest.Planned{Pool: db}
	r, over := New(db), &Records{pool: db, q: pgdb.New(planned)}
	for name, f := range finds {
		if f.Limit == 0 {
			f.Limit = 10
		}
		rows, err := r.Objects(t.Context(), f.ObjectFilter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, strings.TrimLeft(strings.TrimPrefix(row.PrimaryIdentifier, "ark:/99999/x"), "0"))
		}
		if !slices.Equal(got, strings.Fields(f.want)) {
			t.Errorf("%s: %v, want %s", name, got, f.want)
		}
		if _, err := over.Objects(t.Context(), f.ObjectFilter); err != nil {
			t.Fatal(err)
		}
		if whole := planned.Whole(); len(whole) > 0 {
			t.Errorf("%s reads from end to end: %v", name, whole)
		}
	}
}
