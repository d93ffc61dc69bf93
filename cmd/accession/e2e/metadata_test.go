package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/metadata"
)

const (
	// takesRecords lets the profile take files of the samples' kind.
	takesRecords = `metadata: [{root: "{https://accession.test/ns/records}records", record: record, identifier: identifier, title: titles/title}]
`
	recordsHead = `<records xmlns="https://accession.test/ns/records">`
)

func (in *installation) takeRecords() { in.editProfile("fetch:", takesRecords+"fetch:") }

// A metadata file is stored as it came, and every record of it has its outcome in the
// mail, the report, the tables of the report and on the command line. Its type is found.
func TestMetadataDeposit(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.takeRecords()
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	file := filepath.Join("..", "..", "..", "deploy", "samples", "files", "metadata", "records.xml")
	text, err := os.ReadFile(file)
	in.must(err)
	ids := []domain.BatchID{
		in.submit(app.Deposit{Payload: file}),
		in.submit(app.Deposit{Payload: base + samples.MetadataFile, Type: domain.TypeMetadata, LocalIDs: []string{"records"}}),
	}
	const counts = "3 = 1 Success + 1 Warning + 1 Failure"
	for _, id := range ids {
		v := in.rest(id)
		if v.Status != "completed" || v.Type != string(domain.TypeMetadata) || len(v.Jobs) != 1 {
			t.Fatalf("%+v", v)
		}
		in.holds(v.Jobs[0], map[string]string{"records.xml": string(text)})
		b, err := in.app.BatchReport(in.ctx(), id, 2)
		in.must(err)
		if r := b.MetadataRecords; r == nil || r.Problem != "" || len(r.Worst) != 2 || r.Worst[0].Outcome != metadata.Failure || r.Worst[0].Line != 14 ||
			r.Worst[1].Outcome != metadata.Warning || r.Worst[1].Identifier != "tides-south-2024" {
			t.Errorf("%s: %+v", id, b.MetadataRecords)
		}
		var rows []string
		for row := range in.rows(id, "batch", "records") {
			rows = append(rows, fmt.Sprintf("%v %v %v", row["line"], row["identifier"], row["outcome"]))
		}
		if want := []string{"5 tides-north-2024 Success", "10 tides-south-2024 Warning", "14 tides-north-2024 Failure"}; !slices.Equal(rows, want) {
			t.Errorf("%s: the report has the records %q, want %q", id, rows, want)
		}
		mails := in.mails(id)
		if len(mails) != 1 {
			t.Fatalf("%d mails about %s", len(mails), id)
		}
		for _, says := range []string{"Records: " + counts, "Failure  line 14  tides-north-2024", "the record of line 5 has the same identifier",
			"Warning  line 10  tides-south-2024", "it has no title", "Success  line 5  tides-north-2024"} {
			if !strings.Contains(mails[0], says) {
				t.Errorf("the mail about %s does not say %q:\n%s", id, says, mails[0])
			}
		}
		in.says(0, []string{"batch", "show", string(id)}, "records", counts)
		end, err := in.app.LogEnd(in.ctx())
		in.must(err)
		in.says(0, []string{"batch", "report", string(id)}, counts, "tides-south-2024", "Failure", "the record of line 5 has the same identifier")
		in.says(0, []string{"report", "batch", "--batch", string(id), "--format", "html"}, "tides-south-2024", "it has no title")
		in.says(0, []string{"report", "batch", "--batch", string(id), "--at", fmt.Sprint(end)}, counts, "it has no title")
	}
	in.agree()
	// A list that is not the one of the listing is not shown as it.
	list := filepath.Join(in.cfg.Store, "records", string(ids[0])+".jsonl")
	in.must(os.Chmod(list, 0o600))
	in.must(os.WriteFile(list, []byte("{}\n"), 0o600))
	b, err := in.app.BatchReport(in.ctx(), ids[0], 2)
	if err != nil || b.MetadataRecords == nil || !strings.Contains(b.MetadataRecords.Problem, "SHA-256") || b.MetadataRecords.Failure != 1 {
		t.Errorf("%+v, %v", b.MetadataRecords, err)
	}
}

// A metadata file that is bad as a whole makes no job, and its depositor is told the line
// and what to do. Nothing that it names is asked for.
func TestBadMetadataIsReported(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.takeRecords()
	asked := make(chan string, 100)
	pages := map[string]string{
		"/malformed": recordsHead + "\n<record><identifier>a</record></records>",
		"/bomb": `<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>` +
			recordsHead + "<record><identifier>&c;</identifier></record></records>",
		"/external": `<!DOCTYPE records SYSTEM "http://HOST/outside.dtd">` + recordsHead + "<record/></records>",
		"/include":  recordsHead + `<i:include xmlns:i="http://www.w3.org/2001/XInclude" href="http://HOST/outside.xml"/></records>`,
		"/sheet":    `<?xml-stylesheet href="http://HOST/outside.xsl"?>` + recordsHead + "<record/></records>",
		"/deep":     recordsHead + strings.Repeat("<record>\n", 200_000),
		"/other":    "<html><body/></html>",
		"/none":     recordsHead + "</records>",
		"/hint": `<records xmlns="https://accession.test/ns/records" xmlns:x="http://www.w3.org/2001/XMLSchema-instance" ` +
			`x:schemaLocation="https://accession.test/ns/records http://HOST/outside.xsd"><record><identifier>a</identifier></record></records>`,
	}
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			asked <- r.URL.Path
		}
		_, _ = rw.Write([]byte(strings.ReplaceAll(page, "HOST", r.Host)))
	}))
	in.serveInProcess()
	ids := map[string]domain.BatchID{}
	for path := range pages {
		ids[path] = in.submit(app.Deposit{Payload: base + path, Type: domain.TypeMetadata})
	}
	for path, says := range map[string]string{
		"/malformed": "line 2: </record> ends an element that is not open there", "/bomb": "line 1: it has a document type declaration: remove it",
		"/external": "line 1: it has a document type declaration: remove it", "/include": "line 1: it includes another document with XInclude: write",
		"/sheet": "line 1: it has the processing instruction", "/deep": "line 64: its elements are nested more than 64 deep",
		"/other": "the profile knows", "/none": "it has no record",
	} {
		v := in.rest(ids[path])
		if v.Status != "failed" || v.RowsListed == nil || *v.RowsListed != 0 || deref(v.ReasonCode) != "manifest_invalid" || !strings.Contains(deref(v.ReasonMessage), says) {
			t.Errorf("%s: %s, %s: %s", path, v.Status, deref(v.ReasonCode), deref(v.ReasonMessage))
		}
		if mails := in.mails(ids[path]); len(mails) != 1 || !strings.Contains(mails[0], says) {
			t.Errorf("%s: the mails are %q", path, mails)
		}
	}
	if v := in.rest(ids["/hint"]); v.Status != "completed" || v.MetadataRecords == nil || v.MetadataRecords.Warning != 1 {
		t.Errorf("%+v, %+v", v, v.MetadataRecords)
	}
	select {
	case path := <-asked:
		t.Errorf("%s was asked for", path)
	default:
	}
	in.agree()
}

// Of 50,000 records every one is in the report, and the mail stays small.
func TestMetadataOfFiftyThousandRecords(t *testing.T) {
	t.Parallel()
	in := newPatient(t)
	in.takeRecords()
	const records = 50_000
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(recordsHead))
		for i := range records {
			title := "<titles><title>Readings</title></titles>"
			if i%100 == 0 {
				title = ""
			}
			if _, err := fmt.Fprintf(rw, "\n<record><identifier>id-%d</identifier>%s</record>", i/2*2, title); err != nil {
				return
			}
		}
		_, _ = rw.Write([]byte("</records>"))
	}))
	in.serveInProcess()
	id := in.submit(app.Deposit{Payload: base + "/large.xml", Type: domain.TypeMetadata})
	v := in.rest(id)
	if r := v.MetadataRecords; v.Status != "completed" || r == nil || r.Failure != records/2 || r.Warning != records/100 || r.Success != records/2-records/100 {
		t.Fatalf("%+v, %+v", v, r)
	}
	n := 0
	for row := range in.rows(id, "batch", "records") {
		if n++; row["number"] != int64(n) && row["number"] != float64(n) {
			t.Fatalf("record %d is %v", n, row)
		}
	}
	if mails := in.mails(id); n != records || len(mails) != 1 || len(mails[0]) > 100<<10 || !strings.Contains(mails[0], "and 49800 more") {
		t.Errorf("%d records in the report, %d mails", n, len(mails))
	}
	in.agree()
}
