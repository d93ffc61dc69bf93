package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"iter"
	"math"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

var made = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func rowsOf(rows ...[]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// report has every kind of value, a table without rows, and hostile text in every
// place that a stranger can write to.
func report() app.Report {
	return app.Report{Name: "batch", Title: "How a batch went", At: &app.AsOf{Seq: 42, Stored: made},
		Facts: []app.Fact{{Name: "erc_what", Label: "title", Value: hostile}, {Name: "reported_at", Label: "reported", Value: nil}, {Name: "jobs", Label: "jobs", Value: "2 listed = 1 completed + 1 failed"}},
		Tables: []app.Table{
			{Name: "jobs", Title: "Jobs", None: "No job.", Columns: []app.Column{{Name: "job_id", Label: "job"}, {Name: "file_name", Label: "file name"}, {Name: "bytes", Label: "bytes"}, {Name: "seconds", Label: "seconds"}, {Name: "stored", Label: "stored"}, {Name: "at", Label: "at"}},
				Rows: rowsOf([]any{"jid0000000001", hostile, int64(-12), 1.5, true, made}, []any{"jid0000000002", "plain é 海図", int64(7), 0.0, false, nil})},
			{Name: "attempts", Title: "Failed attempts", None: "No attempt has failed.", Columns: []app.Column{{Name: "code", Label: "code"}}, Rows: rowsOf()},
		}}
}

func asReport(t testing.TB, r app.Report, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteReport(&b, r, ReportOptions{Format: format, Made: made}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReportsInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, format := range []string{FormatText, FormatHTML, FormatJSON, FormatCSV} {
		out := asReport(t, report(), format)
		golden(t, "report."+format, out)
		if strings.ContainsAny(string(out), "\x1b\u009b\x07") {
			t.Errorf("%s holds control characters: %q", format, out)
		}
	}
	cells, err := csv.NewReader(bytes.NewReader(asReport(t, report(), FormatCSV))).ReadAll()
	if err != nil || len(cells) != 3 || !strings.HasPrefix(cells[1][1], "'=") || cells[1][2] != "-12" || cells[2][5] != "" {
		t.Errorf("%q, %v", cells, err)
	}
	var back struct {
		Facts  map[string]any
		Tables map[string][]map[string]any
	}
	if err := json.Unmarshal(asReport(t, report(), FormatJSON), &back); err != nil || back.Tables["jobs"][0]["file_name"] != hostile || len(back.Tables["attempts"]) != 0 || back.Facts["erc_what"] != hostile {
		t.Errorf("%+v, %v", back, err)
	}
}

// TestMailsAreWhole reads a mail as a mail program does: its parts are the report as
// text and as a page, from rows that were read once; a long table is cut, which is
// said. The same report at the same moment is the same mail.
func TestMailsAreWhole(t *testing.T) {
	t.Parallel()
	options := ReportOptions{Format: FormatMail, Made: made, From: "Accession <ingest@archive.test>", To: []string{"one@lab.test"}}
	write := func(r app.Report) []byte {
		r.Facts = append(r.Facts, app.Fact{Name: "batch_id", Label: "batch", Value: "bid0000000001"})
		var out bytes.Buffer
		if err := WriteReport(&out, r, options); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	read := 0
	once := report()
	rows := once.Tables[0].Rows
	once.Tables[0].Rows = func(yield func([]any, error) bool) { read++; rows(yield) }
	raw := write(once)
	if read != 1 || !bytes.Equal(raw, write(report())) {
		t.Errorf("the rows were read %d times, or the mail is another one each time", read)
	}
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if subject := m.Header.Get("Subject"); subject != "Report batch of bid0000000001" || m.Header.Get("To") == "" || m.Header.Get("Date") == "" || m.Header.Get("Message-Id") == "" {
		t.Errorf("%v", m.Header)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s, %v", kind, err)
	}
	parts := map[string]string{}
	for in := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := in.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(p.Header.Get("Content-Type"), ";")
		parts[kind] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	r := report()
	r.Facts = append(r.Facts, app.Fact{Name: "batch_id", Label: "batch", Value: "bid0000000001"})
	if diff := cmp.Diff(map[string]string{"text/plain": string(asReport(t, r, FormatText)), "text/html": string(asReport(t, r, FormatHTML))}, parts); diff != "" {
		t.Errorf("(-report +mail):\n%s", diff)
	}
	long := report()
	long.Tables[1].Rows = func(yield func([]any, error) bool) {
		for range mailRows + 1 {
			if !yield([]any{"x"}, nil) {
				return
			}
		}
	}
	if !bytes.Contains(write(long), []byte("Failed attempts: only the first 500 rows are in this mail")) {
		t.Error("it is not said that a table is cut")
	}
	options.To = []string{"two@lab.test\r\nBcc: eve@evil.test"}
	if err := WriteReport(io.Discard, report(), options); err == nil {
		t.Error("a header was smuggled in")
	}
}

// TestPagesAreSafeAndWhole parses the page as a browser does: nothing in it is
// fetched or run, what outsiders wrote is text, and every table has its caption and
// heads.
func TestPagesAreSafeAndWhole(t *testing.T) {
	t.Parallel()
	root, err := html.Parse(bytes.NewReader(asReport(t, report(), FormatHTML)))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
			count[n.Data+" "+a.Key]++
		}
	}
	for element, want := range map[string]int{"script": 0, "img": 0, "link": 0, "iframe": 0, "table": 2, "caption": 2, "th": 7, "th scope": 7, "html lang": 1, "h1": 1, "title": 1, "main": 1} {
		if count[element] != want {
			t.Errorf("the page has %d %s, want %d", count[element], element, want)
		}
	}
}

func throughput(days int) app.Report {
	var rows [][]any
	for i := range days {
		rows = append(rows, []any{made.AddDate(0, 0, i).Format(time.DateOnly), int64(i), int64(40 + 7*i%13), int64(i % 5), int64(90 + i)})
	}
	return app.Report{Name: "throughput", Title: "What was done on each day", Tables: []app.Table{{Name: "days", None: "Nothing was done.",
		Columns: []app.Column{{Name: "day"}, {Name: "batches_submitted"}, {Name: "jobs_completed", Label: "jobs completed"}, {Name: "jobs_failed", Label: "jobs failed"}, {Name: "files_processed", Label: "files processed"}},
		Rows:    rowsOf(rows...)}}}
}

// TestDrawings are pictures, also of nothing and of too much.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for _, days := range []int{0, 1, 14, 400} {
		img, err := png.Decode(bytes.NewReader(asReport(t, throughput(days), FormatPNG)))
		if err != nil || img.Bounds().Dx() < 600 || img.Bounds().Dy() < 300 || img.Bounds().Dx() > 6000 {
			t.Fatalf("%d days: %v, %v", days, img.Bounds(), err)
		}
		out := asReport(t, throughput(days), FormatSVG)
		var svg struct {
			XMLName xml.Name
			Text    []string `xml:"g>g>text"`
		}
		if err := xml.Unmarshal(out, &svg); err != nil || svg.XMLName.Local != "svg" {
			t.Fatalf("%d days: %v", days, err)
		}
		if last := made.AddDate(0, 0, max(days-1, 0)).Format(time.DateOnly); days > 0 && !bytes.Contains(out, []byte(last)) {
			t.Errorf("%d days: the drawing does not name %s", days, last)
		}
	}
	if err := WriteReport(io.Discard, report(), ReportOptions{Format: FormatSVG}); err == nil {
		t.Error("a report without numbers was drawn")
	}
}

// inStates is a report on times from a twentieth of a second to some years.
func inStates() app.Report {
	rows := [][]any{}
	for i, state := range []string{"pending", "estimating", "provisioning", "downloading", "processing", "recording", "notify"} {
		p50 := []float64{0.04, 0.5, 8, 90, 3000, 50_000, 400_000}[i]
		rows = append(rows, []any{"job", state, int64(12_345), p50, 2 * p50, 6 * p50, 1234.5678 * p50})
	}
	return app.Report{Name: "states", Title: "How long jobs and files stayed in each state", Tables: []app.Table{{Name: "states", Title: "Seconds in each state", None: "Nothing has left a state.",
		Columns: []app.Column{{Name: "kind", Label: "kind"}, {Name: "status", Label: "status"}, {Name: "times", Label: "times"}, {Name: "p50", Label: "p50"}, {Name: "p95", Label: "p95"}, {Name: "p99", Label: "p99"}, {Name: "longest", Label: "longest"}},
		Rows:    rowsOf(rows...)}}}
}

// TestPagesOfNumbers: a report that has a chart shows it on its page, as an element that
// fetches nothing and names what it shows, drawn for a wide page and for a phone; its axis of times has seconds and days; numbers and
// their heads stand at the right, with a separator of thousands. A mail has no chart.
func TestPagesOfNumbers(t *testing.T) {
	t.Parallel()
	for _, days := range []int{0, 1, 400} {
		out := string(asReport(t, throughput(days), FormatHTML))
		if n := strings.Count(out, "<svg "); n != 2 || strings.Contains(out, "<?xml") || !strings.Contains(out, `<svg class="wide" role="img" aria-label="Chart: What was done on each day" `) || !strings.Contains(out, `<svg class="phone" role="img" aria-label="Chart: What was done on each day" `) {
			t.Errorf("%d days: %d charts", days, n)
		}
		last := made.AddDate(0, 0, max(days-1, 0)).Format(time.DateOnly)
		for _, class := range []string{"wide", "phone"} {
			_, chart, _ := strings.Cut(out, `<svg class="`+class)
			if chart, _, _ = strings.Cut(chart, "</svg>"); days > 0 && !strings.Contains(chart, ">"+last+"</text>") {
				t.Errorf("%d days: the chart of a %s page does not name %s", days, class, last)
			}
		}
	}
	out := string(asReport(t, inStates(), FormatHTML))
	for _, want := range []string{`<th scope="col" class="n">longest</th>`, `<th scope="col">status</th>`, `<td class="n">12,345</td>`, `<td class="n">0.040</td>`, `<td class="n">493,827,120.000</td>`, ">0.1 s</text>", ">1 min</text>", ">100 d</text>"} {
		if !strings.Contains(out, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.Index(out, "job pending") > strings.Index(out, "job notify") {
		t.Error("the states are not in their order")
	}
	var mail bytes.Buffer
	if err := WriteReport(&mail, inStates(), ReportOptions{Format: FormatMail, Made: made, From: "ingest@archive.test", To: []string{"one@lab.test"}}); err != nil {
		t.Fatal(err)
	}
	if s := mail.String(); strings.Contains(s, "<svg") || !strings.Contains(s, "12,345") {
		t.Error("the mail has a chart, or has no numbers")
	}
}

// TestHeightsOfTimes: bars of times are as high as their marks, and what is shorter than the
// first mark has none.
func TestHeightsOfTimes(t *testing.T) {
	t.Parallel()
	before := -1.0
	for _, m := range times {
		if h := height(m.seconds); h <= before {
			t.Errorf("%s is at %v, the mark before it at %v", m.label, h, before)
		} else {
			before = h
		}
	}
	for seconds, want := range map[float64]float64{-1: 0, 0: 0, .1: 0, 1: 1, 100: 3} {
		if got := height(seconds); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v s is %v high, want %v", seconds, got, want)
		}
	}
}
