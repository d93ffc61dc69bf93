package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// classic is the story of the classic complaint, in log, tables and inventory.
func classic(t *testing.T) (*App, *projtest.Story) {
	t.Helper()
	story := projtest.NewStory(t)
	story.Classic()
	db := projtest.DB(t)
	story.Project(db)
	story.Record(db)
	return &App{Open: resources(fakeHistory{log: logOf(t, story), db: db, rec: record.New(db)})}, story
}

// read gives the rows of a table, each as text by column.
func read(t *testing.T, r Report, table string) (rows []map[string]string) {
	t.Helper()
	for _, tab := range r.Tables {
		if tab.Name != table {
			continue
		}
		for row, err := range tab.Rows {
			if err != nil {
				t.Fatal(err)
			}
			m := map[string]string{}
			for i, c := range tab.Columns {
				m[c.Name] = fmt.Sprint(row[i])
			}
			rows = append(rows, m)
		}
	}
	return rows
}

// TestFifteenListedNineIngested: of what was listed and is not ingested, each name
// is there with its reason, and what was listed is the sum of where it ended; now,
// and as of the last event.
func TestFifteenListedNineIngested(t *testing.T) {
	t.Parallel()
	a, story := classic(t)
	for what, m := range map[string]Moment{"now": {}, "then": {Seq: uint64(len(story.Log))}} {
		for _, c := range []struct {
			batch       domain.BatchID
			table, name string
			want        []string // what is not ingested
		}{
			{projtest.ClassicObjects, "objects", "what", []string{
				"object-10.checkm: failed: the job failed: http_status: https://files.test answered 404 Not Found",
				"object-11.checkm: failed: the job failed: digest_mismatch: the file's SHA-256 is not the one in the manifest",
				"object-12.checkm: held: the job is held: held_by_operator: held: wait for the rights",
				"object-13.checkm: deleted: the job was deleted: asked: listed by mistake",
				"object-14.checkm: in progress: the job is provisioning: space_short: there is no room to work in",
				"object-15.checkm: in progress: the job is pending",
			}},
			{projtest.ClassicFiles, "files", "path", []string{
				projtest.Hostile + ": given up: given up after 2 downloads: http_status: https://files.test answered 404 Not Found",
				"scan-11.tif: given up: given up after 2 downloads: http_status: https://files.test answered 404 Not Found",
				"scan-12.tif: skipped: it was left out: unwanted: it is a thumbnail",
				"scan-13.tif: given up: given up after 2 attempts to process it: object_corrupt: the stored copy differs",
				"scan-14.tif: in progress: it is DOWNLOADING_FAILED: http_status: https://files.test answered 503 Service Unavailable",
				"scan-15.tif: in progress: it is DOWNLOADING",
			}},
		} {
			r, err := a.Report(t.Context(), "reconciliation", ReportOptions{Range: query.Range{Batch: c.batch}, At: m})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			rows, left, sums := read(t, r, c.table), []string(nil), map[string]int{}
			for _, row := range rows {
				sums[row["result"]]++
				if row["explanation"] != "" {
					left = append(left, row[c.name]+": "+row["result"]+": "+row["explanation"])
				} else if row["result"] != "done" || row["listed"]+row["downloaded"]+row["stored"]+row["recorded"] != "truetruetruetrue" {
					t.Errorf("%s: nothing explains %v", what, row)
				}
			}
			if len(rows) != 15 || sums["done"] != 9 {
				t.Errorf("%s: %d are listed, %v", what, len(rows), sums)
			}
			if diff := cmp.Diff(c.want, left); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", what, c.table, diff)
			}
			adds(t, r, c.table, sums)
		}
	}
}

// adds compares the rows with what the report's facts say about how it adds up.
func adds(t *testing.T, r Report, table string, sums map[string]int) {
	t.Helper()
	want := map[string]string{
		"objects": fmt.Sprintf("15 listed = %d completed + %d failed + %d held + %d deleted + %d in progress", sums["done"], sums["failed"], sums["held"], sums["deleted"], sums["in progress"]),
		"files":   fmt.Sprintf("15 listed = %d processed + %d skipped + %d given up + %d deleted + %d in progress", sums["done"], sums["skipped"], sums["given up"], sums["deleted"], sums["in progress"]),
	}[table]
	for _, f := range r.Facts {
		if f.Value == want {
			return
		}
	}
	t.Errorf("no fact says %q: %+v", want, r.Facts)
}

// TestWarningsAreReported: the report on a batch has the warnings about its manifest and
// about those of its jobs, in both forms.
func TestWarningsAreReported(t *testing.T) {
	t.Parallel()
	a, _ := classic(t)
	want := []map[string]string{
		{"job_id": "", "number": "1", "warning": "line 3: #%columns is not known, and ignored; a comment starts with # alone"},
		{"job_id": "jid0000000005", "number": "1", "warning": "line 4: the column nfo:page is not known, and its cells are ignored"},
	}
	r, err := a.Report(t.Context(), "batch", ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if diff := cmp.Diff(want, read(t, r, "warnings")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v, err := a.BatchReport(t.Context(), projtest.ClassicObjects, 1)
	if err != nil || len(v.Warnings) != 1 || v.Warnings[0].Warning != want[0]["warning"] || v.WarningsTotal != 2 || !v.Truncated {
		t.Errorf("%+v of %d, %v", v.Warnings, v.WarningsTotal, err)
	}
	if v, err = a.BatchReport(t.Context(), projtest.ClassicFiles, 1); err != nil || v.Warnings == nil || len(v.Warnings) != 0 {
		t.Errorf("taken as it is written: %+v, %v", v.Warnings, err)
	}
}

// TestReportOfReasonsWithoutClass: a report is made where a reason has a code alone, which the tables
// allow.
func TestReportOfReasonsWithoutClass(t *testing.T) {
	t.Parallel()
	a, _ := classic(t)
	for _, table := range []string{"batch", "job", "file"} {
		if _, err := a.Open.Tables.(fakeHistory).db.Exec(t.Context(), "update accession."+table+" set reason_code = coalesce(reason_code, 'not_found'), reason_class = null, reason_message = null"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"batch", "reconciliation"} {
		r, err := a.Report(t.Context(), name, ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		for _, table := range r.Tables {
			if rows := read(t, r, table.Name); table.Name == "causes" && (len(rows) == 0 || rows[0]["who_acts"] != "operator" || rows[0]["message"] != "") {
				t.Errorf("why jobs failed: %v", rows)
			}
		}
	}
}

// TestInventoryIsCompared: an object that the inventory lacks, and a file that it
// has with another content, are told of, though the jobs ended well.
func TestInventoryIsCompared(t *testing.T) {
	t.Parallel()
	a, _ := classic(t)
	db := a.Open.Tables.(fakeHistory).db
	for _, sql := range []string{
		"delete from record.object_version where job_id = 'jid0000000003'",
		"update record.object_file set sha256 = 'other' where name = 'scan-02.tif'",
		"delete from record.object_file where name = 'scan-03.tif'",
	} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	told := map[string]string{}
	for batch, table := range map[domain.BatchID]string{projtest.ClassicObjects: "objects", projtest.ClassicFiles: "files"} {
		r, err := a.Report(t.Context(), "reconciliation", ReportOptions{Range: query.Range{Batch: batch}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		for _, row := range read(t, r, table) {
			told[row["what"]+row["path"]] = row["explanation"]
		}
	}
	for name, says := range map[string]string{
		"object-03.checkm": "the inventory does not have the object",
		"scan-02.tif":      "the inventory has another content (other)",
		"scan-03.tif":      "it is stored, and not recorded",
	} {
		if !strings.Contains(told[name], says) {
			t.Errorf("%s: %q does not say %q", name, told[name], says)
		}
	}
}

// TestRowWhoseJobIsHeld: where the event that makes a job cannot be applied, the row
// that the job is for is told of all the same, in its place.
func TestRowWhoseJobIsHeld(t *testing.T) {
	t.Parallel()
	a, _ := classic(t)
	for _, sql := range []string{ // as if the events of the job were held
		"delete from accession.job where id = 'jid0000000007'",
		"update accession.batch set jobs_completed = jobs_completed - 1, jobs_created = jobs_created - 1 where id = 'bid0000000001'",
	} {
		if _, err := a.Open.Tables.(fakeHistory).db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.Report(t.Context(), "reconciliation", ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	rows, sums := read(t, r, "objects"), map[string]int{}
	for _, row := range rows {
		sums[row["result"]]++
	}
	adds(t, r, "objects", sums)
	if len(rows) != 15 || rows[6]["what"] != "row 7" || !strings.Contains(rows[6]["explanation"], "accession poison ls") {
		t.Errorf("%d rows, the seventh is %v", len(rows), rows[min(6, len(rows)-1)])
	}
}

// TestReportsAgree: a batch's report says the same as `batch report`, and as of its
// last event the same as now; sums without bounds are what the views say.
func TestReportsAgree(t *testing.T) {
	t.Parallel()
	a, story := classic(t)
	db := a.Open.Tables.(fakeHistory).db
	someFailed := false
	for _, id := range []domain.BatchID{projtest.ClassicObjects, projtest.ClassicFiles} {
		now, err := a.Report(t.Context(), "batch", ReportOptions{Range: query.Range{Batch: id}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(now.Close)
		then, err := a.Report(t.Context(), "batch", ReportOptions{Range: query.Range{Batch: id}, At: Moment{Seq: uint64(len(story.Log))}})
		if err != nil {
			t.Fatal(err)
		}
		view, err := a.BatchReport(t.Context(), id, 1000)
		if err != nil {
			t.Fatal(err)
		}
		past, err := a.BatchReportAt(t.Context(), id, Moment{Seq: uint64(len(story.Log))}, 1000)
		if err != nil || past.At == nil || past.At.Seq != uint64(len(story.Log)) {
			t.Fatalf("%+v, %v", past.At, err)
		}
		past.At = nil
		if diff := cmp.Diff(view, past); diff != "" {
			t.Errorf("batch report (-now +then):\n%s", diff)
		}
		few, err := a.BatchReportAt(t.Context(), id, Moment{Seq: uint64(len(story.Log))}, 1)
		if err != nil || len(few.Jobs) != 1 || len(few.Retries) != min(1, len(view.Retries)) || few.JobsTotal != view.JobsTotal || few.RetriesTotal != view.RetriesTotal ||
			few.Truncated != (view.JobsTotal > 1 || view.RetriesTotal > 1) {
			t.Errorf("cut short: %+v, %v", few, err)
		}
		if diff := cmp.Diff(now.Facts, then.Facts); diff != "" || then.At == nil {
			t.Errorf("(-now +then):\n%s", diff)
		}
		for _, table := range []string{"causes", "jobs", "warnings", "attempts", "reports"} {
			if diff := cmp.Diff(read(t, now, table), read(t, then, table)); diff != "" {
				t.Errorf("%s (-now +then):\n%s", table, diff)
			}
		}
		jobs := read(t, now, "jobs")
		list := now.Tables[slices.IndexFunc(now.Tables, func(t report.Table) bool { return t.Name == "jobs" })]
		if len(jobs) != len(view.Jobs) || list.Total != int64(len(jobs)) {
			t.Fatalf("%d jobs, the batch's own report has %d", len(jobs), len(view.Jobs))
		}
		failed, caused, before := 0, 0, 0
		for _, j := range jobs {
			if j["status"] == string(domain.JobFailed) {
				failed++
			}
		}
		for i, c := range read(t, now, "causes") {
			n, err := strconv.Atoi(c["jobs"])
			if err != nil || n == 0 || i > 0 && n > before || c["who_acts"] == "" || c["message"] == "" || c["example"] == "" {
				t.Errorf("%v, %v", c, err)
			}
			caused, before = caused+n, n
		}
		if someFailed = someFailed || failed > 0; failed != caused || (failed > 0) != now.Tables[0].Sum {
			t.Errorf("%d jobs failed, their causes have %d", failed, caused)
		}
		for i, j := range view.Jobs {
			if jobs[i]["job_id"] != j.ID || jobs[i]["status"] != j.Status {
				t.Errorf("%v, want %s %s", jobs[i], j.ID, j.Status)
			}
		}
		of := 0
		for _, r := range read(t, now, "attempts") {
			if r["kind"] == "job" {
				of++
			}
		}
		if of != len(view.Retries) {
			t.Errorf("%d failed attempts, the batch's own report has %d", of, len(view.Retries))
		}
	}
	if !someFailed {
		t.Error("no job failed")
	}
	for _, name := range []string{"retries", "files"} {
		o := ReportOptions{Range: query.Range{Batch: projtest.ClassicFiles}}
		now, err := a.Report(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		o.At.Seq = uint64(len(story.Log))
		then, err := a.Report(t.Context(), name, o)
		if err != nil {
			t.Fatal(err)
		}
		table := now.Tables[0].Name
		if diff := cmp.Diff(read(t, now, table), read(t, then, table)); diff != "" || now.Tables[0].Total == 0 {
			t.Errorf("%s (-now +then):\n%s", name, diff)
		}
		o.At.Seq /= 2
		if half, err := a.Report(t.Context(), name, o); err == nil && half.Tables[0].Total >= then.Tables[0].Total {
			t.Errorf("%s: as of the half of the story %d rows, of %d", name, half.Tables[0].Total, then.Tables[0].Total)
		}
	}
	for name, view := range map[string]string{"throughput": "daily_throughput", "states": "time_in_state", "failures": "failure_reasons", "submitters": "submitter_activity",
		"retries": "retry_history", "files": "file_lifecycle"} {
		r, err := a.Report(t.Context(), name, ReportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows := read(t, r, r.Tables[0].Name)
		var n, first int64
		number := map[string]string{"throughput": "jobs_failed", "states": "times", "failures": "failures", "submitters": "jobs_listed", "retries": "attempt", "files": "version"}[name]
		if err := db.QueryRow(t.Context(), fmt.Sprintf("select count(*), sum(%s)::bigint from report.%s", number, view)).Scan(&n, &first); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, row := range rows {
			var v int64
			if _, err := fmt.Sscan(row[number], &v); err != nil {
				t.Fatal(err)
			}
			sum += v
		}
		if int64(len(rows)) != n || sum != first || n == 0 {
			t.Errorf("%s has %d rows that sum up to %d, the view has %d and %d", name, len(rows), sum, n, first)
		}
		if kind := kindOf(name); kind.ByTime {
			r, err := a.Report(t.Context(), name, ReportOptions{Range: query.Range{Since: story.Now.Add(24 * time.Hour)}})
			if err != nil || len(read(t, r, r.Tables[0].Name)) != 0 {
				t.Errorf("%s tells of tomorrow: %v", name, err)
			}
			r, err = a.Report(t.Context(), name, ReportOptions{Range: query.Range{Since: story.Log[0].Time.Time, Until: story.Now.Add(time.Hour)}})
			if err != nil || len(read(t, r, r.Tables[0].Name)) != len(rows) {
				t.Errorf("%s of the time of the story is not the whole: %v", name, err)
			}
		}
	}
}

func kindOf(name string) ReportKind {
	for _, k := range ReportKinds() {
		if k.Name == name {
			return k
		}
	}
	return ReportKind{}
}

// TestThePastOfAReport: before the last job of a batch was made, its report said so.
func TestThePastOfAReport(t *testing.T) {
	t.Parallel()
	a, story := classic(t)
	for _, r := range story.Log {
		if r.BatchID != projtest.ClassicObjects {
			break
		}
		report, err := a.Report(t.Context(), "reconciliation", ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects}, At: Moment{Seq: r.Seq}})
		if err != nil {
			t.Fatal(err)
		}
		rows, sums := read(t, report, "objects"), map[string]int{}
		for _, row := range rows {
			sums[row["result"]]++
		}
		if r.Seq == 1 {
			if len(rows) != 0 {
				t.Errorf("before it was read, it lists %d", len(rows))
			}
			continue
		}
		if len(rows) != 15 {
			t.Errorf("as of %d, %d are listed", r.Seq, len(rows))
		}
		adds(t, report, "objects", sums)
	}
}

// TestCollectionsAndIngest: what is told of collections adds up to the jobs, also as of a moment,
// and what was stored is the same by hours and by years.
func TestCollectionsAndIngest(t *testing.T) {
	t.Parallel()
	a, story := classic(t)
	db, err := a.Open.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := a.Report(t.Context(), "collections", ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows, of := read(t, now, "collections"), map[string]string{}
	for _, row := range rows {
		of[row["collection"]+" "+row["status"]] = row["jobs"]
	}
	counts, err := db.Query(t.Context(), "select collection || ' ' || status, count(*)::text from report.job group by 1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var key, n string
	if _, err := pgx.ForEachRow(counts, []any{&key, &n}, func() error { want[key] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, of); diff != "" || len(rows) < 5 {
		t.Errorf("%d rows (-want +got):\n%s", len(rows), diff)
	}
	then, err := a.Report(t.Context(), "collections", ReportOptions{At: Moment{Seq: uint64(len(story.Log))}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, read(t, then, "collections")); diff != "" {
		t.Errorf("(-now +then):\n%s", diff)
	}
	files := map[string]int{}
	for _, by := range append([]string{""}, Spans...) {
		r, err := a.Report(t.Context(), "ingest", ReportOptions{By: by})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range read(t, r, "ingest") {
			var n int
			if _, err := fmt.Sscan(row["files"], &n); err != nil {
				t.Fatal(err)
			}
			files[by] += n
		}
		if files[by] != files[""] || files[by] == 0 {
			t.Errorf("by %q %d files were stored, by day %d", by, files[by], files[""])
		}
	}
}

func TestReportsSayWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	a, _ := classic(t)
	batch := query.Range{Batch: projtest.ClassicObjects}
	for _, c := range []struct {
		name string
		o    ReportOptions
		kind Kind
	}{
		{"weather", ReportOptions{}, NotFound},
		{"batch", ReportOptions{}, Invalid},
		{"batch", ReportOptions{Range: query.Range{Batch: "bid0000000099"}}, NotFound},
		{"batch", ReportOptions{Range: query.Range{Batch: "bid0000000099"}, At: Moment{Seq: 3}}, NotFound},
		{"batch", ReportOptions{Range: batch, At: Moment{Seq: 1 << 40}}, NotFound},
		{"throughput", ReportOptions{Range: batch}, Invalid},
		{"throughput", ReportOptions{By: "hour"}, Invalid},
		{"ingest", ReportOptions{By: "decade"}, Invalid},
		{"ingest", ReportOptions{At: Moment{Seq: 1}}, Invalid},
		{"collections", ReportOptions{Range: query.Range{Since: time.Unix(1, 0)}}, Invalid},
		{"retries", ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects, Since: time.Unix(1, 0)}, At: Moment{Seq: 1}}, Invalid},
		{"throughput", ReportOptions{At: Moment{Seq: 1 << 40}}, NotFound},
		{"batch", ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects, Since: time.Unix(1, 0)}}, Invalid},
		{"retries", ReportOptions{Range: query.Range{Since: time.Unix(2, 0), Until: time.Unix(1, 0)}}, Invalid},
	} {
		var e *Error
		if _, err := a.Report(context.Background(), c.name, c.o); !errors.As(err, &e) || e.Kind != c.kind || e.Hint == "" {
			t.Errorf("%s %+v: %v", c.name, c.o, err)
		}
	}
}
