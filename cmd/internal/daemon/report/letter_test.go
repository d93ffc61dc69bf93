package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// body returns a report of one object and some failures.
func body(failures int) report.Body {
	r := report.Body{Batch: "bid0000000007", Kind: "report", Made: domain.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, Profile: "maps", Submitter: "ana",
		Listed: failures + 1, Completed: 1, Failed: failures, Warnings: []string{"line 3: <b> is no title"},
		Jobs: []report.Job{{ID: "jid0000000001", State: domain.JobCompleted, Name: "=chart.tif", Title: "A \"chart\"", Primary: "ark:/99999/fk4x1", LocalID: []string{"a", "b"}, Version: 2}}}
	for i := range failures {
		why := &domain.Reason{Class: domain.ClassContent, Code: "digest_differs", Message: "the file <script>alert(1)</script> differs"}
		if i%3 == 0 {
			why = &domain.Reason{Class: domain.ClassSystem, Code: "storage_full", Message: "no room"}
		}
		r.Jobs = append(r.Jobs, report.Job{ID: domain.JobID(fmt.Sprintf("jid%010d", i+2)), Row: i + 1, State: domain.JobFailed, Name: "tide.csv", URL: "https://example.org/tide.csv", Reason: why})
	}
	return r
}

// TestJobName: a job is named in a mail as it is in the tables.
func TestJobName(t *testing.T) {
	t.Parallel()
	fault := &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault, Message: "line 4: the file name is bad"}
	for _, c := range []struct {
		file, url, title string
		fault            *domain.Reason
		want             string
	}{
		{"a.txt", "https://example.org/b.txt", "A title", nil, "a.txt"},
		{"", "https://example.org/b.txt", "A title", nil, "b.txt"},
		{"", "https://example.org/b.txt", "A title", fault, "A title"},
		{"", "https://example.org/b.txt", "", fault, "row 2"},
		{"a.txt", "", "", fault, "a.txt"},
		{"", "", "", fault, "row 2"},
	} {
		j := domain.Job{Metadata: domain.Metadata{ErcWhat: c.title},
			Configuration: domain.Configuration{FileName: c.file, PayloadURL: c.url, RowFault: c.fault, Row: 1}}
		if got := report.JobName(j); got != c.want {
			t.Errorf("%+v is %q", c, got)
		}
	}
}

// TestLetter: the mail with a report says it in words and as a page, what failed first, and
// has its jobs and the whole of it attached.
func TestLetter(t *testing.T) {
	t.Parallel()
	r := body(4)
	l, err := report.LetterOf(profile.Profile{Collection: "maps"}, r, "Sent again.")
	if err != nil {
		t.Fatal(err)
	}
	if l.Subject != "Deposit bid0000000007: 1 completed, 4 failed" || !strings.HasPrefix(l.Text, "Sent again.\n\nReport on batch bid0000000007 for maps.\n") ||
		!strings.HasSuffix(l.Text, "\nAttached: bid0000000007-report.csv, the jobs as a table, and bid0000000007-report.json, the whole report.\n") {
		t.Errorf("%q\n%s", l.Subject, l.Text)
	}
	page := strings.NewReplacer("\n", "").Replace(l.HTML)
	for _, want := range []string{"<h1>Deposit bid0000000007: 1 completed, 4 failed</h1>", "<p>Sent again.</p>", "<dd>5 listed = 1 completed &#43; 4 failed &#43; 0 deleted</dd>",
		`<td class="n">2</td><td>digest_differs</td><td>example.org</td><td>depositor</td>`, `<td class="n">2</td><td>storage_full</td><td>example.org</td><td>operator</td>`,
		"line 3: &lt;b&gt; is no title", "&lt;script&gt;alert(1)&lt;/script&gt;", "<td>ark:/99999/fk4x1</td><td class=\"n\">2</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, l.HTML)
		}
	}
	if strings.Contains(page, "<script") || strings.Index(page, "Why jobs failed") > strings.Index(page, "Completed") {
		t.Errorf("the page runs something, or hides what failed:\n%s", l.HTML)
	}
	if len(l.Files) != 2 {
		t.Fatalf("%d attachments", len(l.Files))
	}
	rows, err := csv.NewReader(bytes.NewReader(l.Files[0].Data)).ReadAll()
	if err != nil || len(rows) != 6 || rows[1][3] != "'=chart.tif" || rows[1][7] != "a; b" || rows[2][9] != "storage_full" || rows[2][11] != "operator" {
		t.Errorf("%v %q", err, rows)
	}
	var whole report.Body
	if err := json.Unmarshal(l.Files[1].Data, &whole); err != nil || !cmp.Equal(whole, r) {
		t.Error(err, cmp.Diff(r, whole))
	}
}

// TestLongLetter: what a mail cannot hold is not attached, and the mail says so; a report of
// ten thousand failures names some, and all by their cause.
func TestLongLetter(t *testing.T) {
	t.Parallel()
	l, err := report.LetterOf(profile.Profile{Collection: "maps"}, body(20_000), "")
	if err != nil {
		t.Fatal(err)
	}
	const told = "accession report batch --batch bid0000000007 --format csv"
	if len(l.Files) != 0 || !strings.Contains(l.Text, told) || !strings.Contains(l.HTML, told) || len(l.Text) > 1<<20 || len(l.HTML) > 1<<20 {
		t.Errorf("%d attachments, %d and %d bytes:\n%.2000s", len(l.Files), len(l.Text), len(l.HTML), l.Text)
	}
	if page := strings.ReplaceAll(l.HTML, "\n", ""); !strings.Contains(page, `<td class="n">13333</td><td>digest_differs</td>`) || !strings.Contains(page, "Failed: the first 200 of 20000") {
		t.Errorf("%.3000s", page)
	}
}
