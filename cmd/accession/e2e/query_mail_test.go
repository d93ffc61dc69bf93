package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// queryMail returns the mail with the report of a query: its header, text and attachment.
func (in *installation) queryMail(id domain.QueryID) (h mail.Header, text, name string, file []byte) {
	in.t.Helper()
	return in.mailOf(string(id) + "_2freport")
}

// mailOf returns the mail with a file name and an attachment.
func (in *installation) mailOf(base string) (h mail.Header, text, name string, file []byte) {
	in.t.Helper()
	raw, err := os.ReadFile(filepath.Join(in.dir, "mail", base+".eml"))
	in.must(err)
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	in.must(err)
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	in.must(err)
	parts := multipart.NewReader(m.Body, params["boundary"])
	body, err := parts.NextPart()
	in.must(err)
	read, err := io.ReadAll(body)
	in.must(err)
	attached, err := parts.NextPart()
	in.must(err)
	file, err = io.ReadAll(base64.NewDecoder(base64.StdEncoding, attached))
	in.must(err)
	return m.Header, string(read), attached.FileName(), file
}

// TestQueryReportsAreMailed: the report of a query is mailed in the format that was asked
// for, and is that which `query report` writes; what cannot be mailed is refused first.
func TestQueryReportsAreMailed(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	list := filepath.Join(t.TempDir(), "shelf.txt")
	in.must(os.WriteFile(list, []byte("local:none\ndigest:none\n"), 0o600))
	in.says(2, []string{"query", "submit", list, "--mail", "ana@example.org"}, "no address to send mails from", "set mail_from")
	in.set("mail_from=accession@example.org")
	for _, bad := range []string{"ana", "Ana <ana@example.org>", "ana@example.org, ben@example.org", "", "ana@\u00e9.example"} {
		in.says(2, []string{"query", "submit", list, "--mail", bad}, "is not an address", "write user@host")
	}
	in.says(2, []string{"query", "submit", list, "--format", "pdf"}, "text, csv, json")
	in.says(0, []string{"query", "ls"}, "no queries")
	in.set("listen_http=127.0.0.1:0")
	d := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	in.says(0, []string{"query", "submit", list, "--submitter", "ana", "--format", "csv", "--mail", "ana@example.org", "--mail", "ben@example.org"}, "qid0000000001")
	in.says(0, []string{"query", "show", "qid0000000001", "--watch"}, "answered", "report mail delivered, 2 address(es), 1 attempt(s)")
	header, text, name, file := in.queryMail("qid0000000001")
	if header.Get("From") != "<accession@example.org>" || header.Get("To") != "<ana@example.org>, <ben@example.org>" || header.Get("Subject") != "Query qid0000000001 was answered" {
		t.Errorf("header %v", header)
	}
	if !strings.Contains(text, "about shelf.txt was answered") || !strings.Contains(text, "2 lines = 0 found + 1 not found + 1 wrong") || name != "qid0000000001.csv" {
		t.Errorf("%s:\n%s", name, text)
	}
	if rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll(); err != nil || len(rows) != 3 || rows[1][1] != "local:none" {
		t.Errorf("%q, %v", rows, err)
	}
	in.says(0, []string{"query", "report", "qid0000000001"}, string(file)) // in the same format
	in.says(0, []string{"query", "report", "qid0000000001", "-o", "json"}, `"query_id":"qid0000000001"`)
	in.shown()
	if n := in.count(`select count(*) from accession.event where type = 'query.answered' and data->'mailed'->>'delivered' = 'true'`); n != 1 {
		t.Errorf("%d events tell of a mail", n)
	}
	if n := in.count(`select count(*) from accession.event where data::text like '%example.org%' and kind = 'query'`); n != 0 {
		t.Errorf("%d events have an address", n)
	}
	in.sentAgain("qid0000000001", text, file)
	olga := in.keyOf("olga", "operator", "--all")
	for range 2 { // under one key it is one mail
		var c app.Changed
		d.ask(olga, "POST", "/v1/queries/qid0000000001/send-report", `{"reason":"lost twice"}`, "Idempotency-Key: mail").into(d, &c)
	}
	if mails, err := filepath.Glob(filepath.Join(in.dir, "mail", "qid0000000001_2fagain_2f*")); err != nil || len(mails) != 3 {
		t.Errorf("%q, %v", mails, err)
	}
	in.agree()
}

// sentAgain sends the report of a query that was mailed again, twice, after its tables have
// changed, and checks that the mails have the same report; what was never mailed is refused.
func (in *installation) sentAgain(id domain.QueryID, text string, file []byte) {
	in.t.Helper()
	again := "query send-report " + string(id) + " --reason lost"
	in.says(0, words(again+" --dry-run"), "2 address(es)", "as "+string(id)+"/again/1")
	if _, err := os.Stat(filepath.Join(in.dir, "mail", string(id)+"_2fagain_2f1.eml")); err == nil {
		in.t.Error("a dry run has sent a mail")
	}
	for n := 1; n <= 2; n++ {
		in.says(0, words(again), fmt.Sprintf("/again/%d", n))
		header, body, name, report := in.mailOf(fmt.Sprintf("%s_2fagain_2f%d", id, n))
		if header.Get("Subject") != "Query "+string(id)+" was answered (sent again)" || header.Get("To") != "<ana@example.org>, <ben@example.org>" || name != string(id)+".csv" {
			in.t.Errorf("header %v, %s", header, name)
		}
		if !strings.HasPrefix(body, "Sent again on ") || !strings.HasSuffix(body, text) || !bytes.Equal(report, file) {
			in.t.Errorf("sent again was %s%q, first %s%q", body, report, text, file)
		}
	}
	in.says(0, words("query show "+string(id)), "report again mail delivered, 2 address(es), 1 attempt(s)")
	if n := in.count(`select count(*) from record.audit_entry where action = 'query.send-report' and subject = $1 and outcome = 'done' and reason = 'lost'`, "query/"+string(id)); n != 2 {
		in.t.Errorf("%d entries of the audit", n)
	}
	list := filepath.Join(in.t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	in.says(0, []string{"query", "submit", list, "--submitter", "ana", "--watch"}, "qid0000000002 answered")
	in.says(3, words("query send-report qid0000000002"), "no mail was asked for", "accession query report qid0000000002")
	in.says(4, words("query send-report qid0000000099"), "there is no query")
	in.says(0, words("queue suspend query --reason x"))
	in.says(0, []string{"query", "submit", list, "--mail", "ana@example.org"}, "qid0000000003")
	in.says(3, words("query send-report qid0000000003"), "it is received, and its report is not made yet")
	in.says(0, words("query fail --yes --reason x qid0000000003"))
	in.says(3, words("query send-report qid0000000003"), "no mail was sent at its end")
}

// TestQueryMailServerIsAway: the query ends though its mail cannot be sent, and says so; the
// next one is mailed when the mails can be delivered again.
func TestQueryMailServerIsAway(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.set("mail_from=accession@example.org")
	in.serveInProcess()
	list, drop := filepath.Join(t.TempDir(), "shelf.txt"), filepath.Join(in.dir, "mail")
	in.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	in.must(os.RemoveAll(drop))
	in.must(os.WriteFile(drop, nil, 0o600)) // a file where the directory was
	submit := []string{"query", "submit", list, "--mail", "ana@example.org", "--watch"}
	in.says(0, submit, "qid0000000001 answered", "report mail failed", "cannot write into the drop directory")
	in.must(os.Remove(drop))
	in.says(0, submit, "qid0000000002 answered", "report mail delivered")
	if _, _, name, file := in.queryMail("qid0000000002"); name != "qid0000000002.txt" || !bytes.Contains(file, []byte("local:none")) {
		t.Errorf("%s:\n%s", name, file)
	}
	in.says(0, []string{"query", "report", "qid0000000001"}, "local:none")
	in.says(0, words("query send-report qid0000000001"))
	if _, text, _, file := in.mailOf("qid0000000001_2fagain_2f1"); !strings.HasPrefix(text, "Sent again on ") || !bytes.Contains(file, []byte("local:none")) {
		t.Errorf("sent again was %q with %q", text, file)
	}
	in.shown()
	if n := in.count(`select count(*) from accession.event where type = 'query.answered' and data->'mailed'->'reason'->>'code' = 'mail_drop'`); n != 1 {
		t.Errorf("%d events tell of a mail that was not sent", n)
	}
	in.agree()
}

// mailsAnswers: a process dies that keeps the addresses of a report, or the outcome of its
// query, or mails it. Behind it there is one mail, which says what the first one said, and
// the event at the end of the query says that it was sent.
func mailsAnswers(o *crashInstallation, point string) {
	o.finish()
	const from = "--set=mail_from=accession@example.org"
	list := filepath.Join(o.t.TempDir(), "list.txt")
	o.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	submit := []string{"query", "submit", "--submitter", "ana", "--mail", "ana@example.org", from, list}
	submitting := strings.HasPrefix(point, "record/")
	if submitting {
		o.dies(point, nil, submit...)
	}
	shown, _, _ := strings.Cut(o.run(submit...), " ")
	id := domain.QueryID(shown)
	if !submitting {
		o.dies(point, nil, "serve", from)
	}
	sent, before := filepath.Join(o.dir, "mail", string(id)+"_2freport.eml"), []byte(nil)
	if strings.HasPrefix(point, "daemon/query/") && point != "daemon/query/keep-outcome/before" { // its outcome is kept: the list is not read again
		o.must(os.WriteFile(filepath.Join(o.dir, "store", "queries", string(id), "list.txt"), nil, 0o600))
		before, _ = os.ReadFile(sent)
	}
	s := o.serve(from)
	o.answered(id)
	o.still()
	s.stop()
	if after, err := os.ReadFile(sent); err != nil || before != nil && !bytes.Equal(before, after) || before == nil && point == "daemon/query/send/after" || before != nil && point != "daemon/query/send/after" && o.deaths() == 1 {
		o.t.Errorf("after a death at %s the mail is %q, and was %q; %v", point, after, before, err)
	}
	if _, text, name, _ := o.queryMail(id); name != string(id)+".txt" {
		o.t.Errorf("after a death at %s the mail has %q:\n%s", point, name, text)
	}
	if n := o.count(`select count(*) from accession.event where type = 'query.answered' and data->'mailed'->>'delivery' = $1 and data->'mailed'->>'delivered' = 'true'`, string(id)+"/report"); n != 1 {
		o.t.Errorf("after a death at %s %d events say that %s was mailed", point, n, id)
	}
	if n := o.count(`select count(*) from record.delivery where key = $1 and state = 'delivered'`, string(id)+"/report"); n != 1 {
		o.t.Errorf("after a death at %s the mail of %s is not delivered", point, id)
	}
	if !submitting {
		o.keptOnce(id)
	}
	o.finish()
}

// sendsAnswersAgain: a process that mails the report of a query again dies; the next one says
// so, and ends with one mail, the same bytes.
func sendsAnswersAgain(o *crashInstallation, point string) {
	const from = "--set=mail_from=accession@example.org"
	list := filepath.Join(o.t.TempDir(), "list.txt")
	o.must(os.WriteFile(list, []byte("local:none\n"), 0o600))
	shown, _, _ := strings.Cut(o.run("query", "submit", "--submitter", "ana", "--mail", "ana@example.org", from, list), " ")
	id := domain.QueryID(shown)
	s := o.serve(from)
	o.answered(id)
	o.still()
	s.stop()
	ask := []string{"query", "send-report", string(id), from, "--reason", "they lost it"}
	o.dies(point, nil, ask...)
	if out := o.run(append(ask, "--dry-run")...); o.interrupt == nil && !strings.Contains(out, "did not come to its end") {
		o.t.Errorf("after a death at %s nothing tells of a mail that may be under way:\n%s", point, out)
	}
	drop := filepath.Join(o.dir, "mail", string(id)+"_2fagain_2f1.eml")
	taken, none := os.ReadFile(drop)
	o.run(ask...)
	if now, err := os.ReadFile(drop); err != nil || none == nil && !bytes.Equal(now, taken) || o.interrupt == nil && (none == nil) != strings.HasSuffix(point, "/after") {
		o.t.Errorf("after a death at %s: was\n%s\n%v, %v, is\n%s", point, taken, none, err, now)
	}
	if n := o.count("select count(*) from record.delivery where key like $1 and state = 'delivered'", string(id)+"/again/%"); o.interrupt == nil && n != 1 {
		o.t.Errorf("%d mails after a death at %s", n, point)
	}
	if n := o.count("select count(*) from record.audit_entry where action = 'query.send-report' and subject = $1 and outcome = 'done'", "query/"+string(id)); n < 1 || o.interrupt == nil && n != 1 {
		o.t.Errorf("%d entries of the audit after a death at %s", n, point)
	}
	o.finish()
}
