package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/projections/projtest"
)

// begins returns when the span that a time is in has begun, by the calendar of UTC; weeks begin
// on Mondays.
func begins(span string, at time.Time) time.Time {
	at = at.UTC()
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	switch span {
	case "hour":
		return day.Add(time.Duration(at.Hour()) * time.Hour)
	case "day":
		return day
	case "week":
		return day.AddDate(0, 0, -int(at.Weekday()+6)%7)
	case "month":
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
}

// TestIngestIsWhatIsInTheInventory compares what was stored in each span, by collection, owner and
// media type, with a plain reading of the inventory, around the ends of hours, days, weeks, months
// and years.
func TestIngestIsWhatIsInTheInventory(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	var moments []time.Time
	for _, end := range []string{"2026-03-01T15:00:00Z", "2026-03-03T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-04T00:00:00Z"} { // two Mondays among them
		at, err := time.Parse(time.RFC3339, end)
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, at.Add(-time.Microsecond), at, at.Add(59*time.Minute))
	}
	types := []string{"image/tiff", "text/plain; charset=utf-8", "text/plain", ""}
	for i, at := range moments {
		id := fmt.Sprintf("ark:/99999/i%02d", i)
		exec(`insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id) values ($1, $2, $3, 2, '', '', '', '{}')`,
			id, []string{"the archive", "the library"}[i%2], []string{"maps", "texts", "rocks"}[i%3])
		for version := 1; version <= 2; version++ { // the second some hours later
			exec(`insert into record.object_version (primary_identifier, version, job_id, batch_id, profile_name, submitter, manifest_key, manifest_sha256, files, bytes, stored_at)
				values ($1, $2, $3, 'bid0000000001', 'p', 'ana', 'k', 's', 2, 9, $4)`, id, version, fmt.Sprintf("jid%08d%02d", i, version), at.Add(time.Duration(version-1)*5*time.Hour))
			for f := range 3 {
				exec(`insert into record.object_file (primary_identifier, version, kind, name, key, size, sha256, mime_type) values ($1, $2, 'producer', $3, 'k', $4, $3, $5)`,
					id, version, fmt.Sprint("file-", f), 100*i+10*version+f, types[(i+f)%len(types)])
			}
			exec(`insert into record.object_file (primary_identifier, version, kind, name, key, size, sha256, mime_type) values ($1, $2, 'system', 'erc.txt', 'k', 1000000, 's', 'text/plain')`, id, version)
		}
	}
	type file struct {
		at                time.Time
		collection, owner string
		kind, mime, of    string
		size              int64
	}
	rows, err := db.Query(t.Context(), `select v.stored_at, o.collection, o.owner, f.kind, f.mime_type, v.primary_identifier || '/' || v.version, f.size
		from record.object_file f, record.object_version v, record.object o
		where (f.primary_identifier, f.version) = (v.primary_identifier, v.version) and o.primary_identifier = v.primary_identifier`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (f file, err error) {
		return f, r.Scan(&f.at, &f.collection, &f.owner, &f.kind, &f.mime, &f.of, &f.size)
	})
	if err != nil || len(all) != len(moments)*2*4 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	since, until := moments[0], moments[4].Add(time.Microsecond)
	for _, span := range []string{"hour", "day", "week", "month", "year"} {
		for _, within := range [][2]time.Time{{}, {since, {}}, {{}, until}, {since, until}} {
			var want []IngestRow
			versions := map[string]bool{}
			for _, f := range all {
				if f.kind != "producer" || f.at.Before(within[0]) || !within[1].IsZero() && !f.at.Before(within[1]) {
					continue
				}
				mime, _, _ := strings.Cut(f.mime, ";")
				row := IngestRow{Since: begins(span, f.at), Collection: f.collection, Owner: f.owner, MediaType: mime}
				i := slices.IndexFunc(want, func(w IngestRow) bool {
					return w.Since.Equal(row.Since) && w.Collection == row.Collection && w.Owner == row.Owner && w.MediaType == row.MediaType
				})
				if i < 0 {
					i, want = len(want), append(want, row)
				}
				want[i].Files++
				want[i].Bytes += f.size
				if key := fmt.Sprint(row, f.of); !versions[key] {
					versions[key] = true
					want[i].Versions++
				}
			}
			slices.SortFunc(want, func(a, b IngestRow) int {
				return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.MediaType, b.MediaType))
			})
			got, err := New(db).Ingest(t.Context(), span, within[0], within[1])
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Since = got[i].Since.UTC()
			}
			if d := diff.Diff(want, got); d != "" || len(got) < 4 {
				t.Errorf("by %s within %v: %d rows (-want +got):\n%s", span, within, len(got), d)
			}
		}
	}
}
