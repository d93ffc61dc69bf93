package notify_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/mailread"
)

func report() notify.Message {
	return notify.Message{
		Key: "bid0000000007/12/report", From: "Accession <ingest@archive.test>",
		To:      []string{"one@lab.test", "Zoë Ä <two@lab.test>"},
		Subject: "Batch bid0000000007: 14 of 15 objects stored – one failed",
		Text:    "Dear depositor,\n\ntide é.csv: digest differs\n.\nFrom here on = nothing\n" + strings.Repeat("long ", 300) + "\n",
		Date:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)),
	}
}

// read parses a mail with the standard library.
func read(t *testing.T, raw []byte) (mail.Header, string) {
	t.Helper()
	msg, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if err != nil {
		t.Fatal(err)
	}
	return msg.Header, strings.ReplaceAll(string(text), "\r\n", "\n")
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	d := notify.MailDrop{Dir: filepath.Join(t.TempDir(), "mail", "drop")}
	m := report()
	name, err := d.Deliver(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(d.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	h, text := read(t, raw)
	subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil || subject != m.Subject || text != m.Text {
		t.Errorf("%v, subject %q, text %q", err, subject, text)
	}
	if at, err := h.Date(); err != nil || !at.Equal(m.Date) {
		t.Errorf("date %v, %v", at, err)
	}
	to, err := h.AddressList("To")
	if err != nil || len(to) != 2 || to[0].Address != "one@lab.test" || to[1].Name != "Zoë Ä" {
		t.Errorf("to %v, %v", to, err)
	}
	if !regexp.MustCompile(`^<[0-9a-f]{32}@archive\.test>$`).MatchString(h.Get("Message-ID")) || len(h) != 9 {
		t.Errorf("headers %v", h)
	}
	for i, line := range bytes.Split(raw, []byte("\r\n")) {
		if len(line) > 78 || bytes.ContainsAny(line, "\r\n") || !isASCII(line) {
			t.Errorf("line %d: %q", i+1, line)
		}
	}

	// Again, and with another text: one mail, the first.
	m.Text = "of a later try"
	if again, err := d.Deliver(m); err != nil || again != name {
		t.Errorf("%q, %v", again, err)
	}
	if now, err := os.ReadFile(filepath.Join(d.Dir, name)); err != nil || !bytes.Equal(now, raw) {
		t.Error("the mail that was there has changed")
	}
	// Taken away and written again: the same bytes.
	if err := os.Remove(filepath.Join(d.Dir, name)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Deliver(report()); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(filepath.Join(d.Dir, name)); err != nil || !bytes.Equal(now, raw) {
		t.Error("written again, the mail has other bytes")
	}
	if names := entries(t, d.Dir); len(names) != 1 {
		t.Errorf("the directory holds %v", names)
	}
}

func isASCII(b []byte) bool { return !bytes.ContainsFunc(b, func(r rune) bool { return r > '~' }) }

// Shows: P6
func TestDeliverAtOnce(t *testing.T) {
	t.Parallel()
	d := notify.MailDrop{Dir: filepath.Join(t.TempDir(), "a", "b", "c")}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := d.Deliver(report()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names := entries(t, d.Dir); len(names) != 1 {
		t.Errorf("the directory holds %v", names)
	}
}

func TestDeliverDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, notify.FileName(report().Key)), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "sub"), taken} {
		_, err := (notify.MailDrop{Dir: dir}).Deliver(report())
		if e := fails(t, err, notify.CodeMailDrop, domain.ClassSystem); !e.Temporary || errors.Unwrap(e) == nil {
			t.Errorf("%+v", e)
		}
	}
}

func TestHostileMessages(t *testing.T) {
	t.Parallel()
	d := notify.MailDrop{Dir: filepath.Join(t.TempDir(), "drop")}
	lines := []string{"x\r\nBcc: evil@x.test", "x\nBcc: evil@x.test", "x\rBcc: evil@x.test", "x\r\n\r\nbody", "x\x00", "x\x0b", "x\u0085y", "x\u2028y", "x\u2029y", "\x1b[31m", "x\xff"}
	set := map[string]func(*notify.Message, string){
		"key":     func(m *notify.Message, s string) { m.Key = s },
		"subject": func(m *notify.Message, s string) { m.Subject = s },
		"from":    func(m *notify.Message, s string) { m.From = s },
		"to[1]":   func(m *notify.Message, s string) { m.To = []string{"a@b.test", s} },
	}
	addresses := []string{
		"", "x", "@x", "x@", "a@b@c", "a@b.test, c@d.test", "a@b.test;c@d.test", "<a@b.test", "a b@c.test", "Group: a@b.test;", "a@b.test\r\nBcc: evil@x.test",
		"Name\r\n <a@b.test>", "Name <a@b.test\n>", "\"a\r\nb\"@c.test", "\"a b\"@c.test", "é@b.test", "a@é.test", "a@b.test (x\r\nBcc: y)", strings.Repeat("a", 250) + "@b.test",
	}
	tries := map[string][]string{
		"key":     append([]string{"", strings.Repeat("k", 256)}, lines...),
		"subject": append([]string{"", "  ", strings.Repeat("s", 501)}, lines...),
		"from":    append(addresses, lines...),
		"to[1]":   append(addresses, lines...),
	}
	for field, values := range tries {
		for _, v := range values {
			m := report()
			set[field](&m, v)
			_, err := d.Deliver(m)
			var e *notify.Error
			if !errors.As(err, &e) || e.Code != notify.CodeMailInvalid || e.Class != domain.ClassSystem || e.Temporary {
				t.Errorf("%s %q: %v", field, v, err)
				continue
			}
			if !strings.Contains(e.Error(), field) || strings.Contains(e.Error(), "evil") || strings.Contains(e.Error(), "@b.test") {
				t.Errorf("%s %q: message %q", field, v, e)
			}
		}
	}
	for _, change := range []func(*notify.Message){
		func(m *notify.Message) { m.To = nil },
		func(m *notify.Message) { m.To = make([]string, 101) },
		func(m *notify.Message) { m.Text = "" },
		func(m *notify.Message) { m.Text = "\xff" },
		func(m *notify.Message) { m.Text = strings.Repeat("x", 1<<20+1) },
		func(m *notify.Message) { m.Date = time.Time{} },
	} {
		m := report()
		change(&m)
		_, err := d.Deliver(m)
		fails(t, err, notify.CodeMailInvalid, domain.ClassSystem)
	}
	if names := entries(t, d.Dir); names != nil {
		t.Errorf("written: %v", names)
	}
	err := notify.Message{To: []string{"x"}}.Validate()
	for _, field := range []string{"key", "from", "to[0]", "subject", "text", "date"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
}

// Whatever passes Validate reads as exactly the headers that were meant.
// Shows: P15
func TestNoHeaderSlipsIn(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var n int
	rapid.Check(t, func(t *rapid.T) {
		m := report()
		text := rapid.OneOf(rapid.StringN(1, 120, 480), rapid.StringMatching(`( {0,80}[a-z:=?]{0,90}){1,4}`), rapid.StringMatching(`=\?utf-8\?q\?[a-z=0-9A-F_]{0,30}\?=`))
		m.Subject = text.Draw(t, "subject")
		m.Text = text.Draw(t, "text")
		m.From = (&mail.Address{Name: text.Draw(t, "name"), Address: "ingest@archive.test"}).String()
		m.Key = rapid.StringN(1, 40, 255).Draw(t, "key")
		if m.Validate() != nil {
			return
		}
		n++
		d := notify.MailDrop{Dir: filepath.Join(base, notify.FileName(m.Key))}
		defer os.RemoveAll(d.Dir)
		name, err := d.Deliver(m)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(d.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
		for _, line := range strings.Split(string(head), "\r\n") {
			if strings.TrimSpace(line) == "" || strings.ContainsAny(line, "\r\n") || len(line) > 998 {
				t.Fatalf("line %q in\n%s", line, head)
			}
		}
		msg, err := mail.ReadMessage(bytes.NewReader(raw))
		if err != nil || len(msg.Header) != 9 {
			t.Fatalf("%v: %v\n%s", err, msg, raw)
		}
	})
	if n == 0 {
		t.Error("no message was valid: the test proves nothing")
	}
}

// Folding at each of many spaces would make blank lines, which end the headers.
func TestRunsOfSpaces(t *testing.T) {
	t.Parallel()
	d := notify.MailDrop{Dir: t.TempDir()}
	m := report()
	many := strings.Repeat(" ", 200)
	m.Subject, m.From = "a"+many+"b", `"a`+many+`b" <ingest@archive.test>`
	name, err := d.Deliver(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(d.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	for _, line := range strings.Split(string(head), "\r\n") {
		if strings.TrimSpace(line) == "" {
			t.Errorf("a blank line in\n%s", head)
		}
	}
	if h, _ := read(t, raw); h.Get("Subject") != "a b" || h.Get("From") != `"a b" <ingest@archive.test>` {
		t.Errorf("%v", h)
	}
}

// A mail shows no character that is no text.
// Shows: P15
func TestTextShowsNoControls(t *testing.T) {
	t.Parallel()
	d := notify.MailDrop{Dir: t.TempDir()}
	m := report()
	m.Text = "a\r\nb\x1b[2Jc\td\x00e\rf"
	name, err := d.Deliver(m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(d.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if _, text := read(t, raw); text != "a\nb\ufffd[2Jc\td\ufffde\ufffdf" {
		t.Errorf("%q", text)
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"bid0000000007-12": "bid0000000007-12.eml", "bid7/12/report": "bid7_2f12_2freport.eml", "..": "_2e_2e.eml", "A_b": "_41_5fb.eml", "a\x00": "a_00.eml",
	} {
		if got := notify.FileName(key); got != want {
			t.Errorf("FileName(%q) = %q, want %q", key, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.OneOf(rapid.StringN(1, 255, 255), rapid.StringMatching(`[a-b_A]{90,130}`), rapid.StringMatching(`[a_/]{1,4}`))
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		x, y := notify.FileName(a), notify.FileName(b)
		if strings.EqualFold(x, y) != (a == b) {
			t.Fatalf("%q and %q: %q, %q", a, b, x, y)
		}
		if len(x) > 255 || !filepath.IsLocal(x) || strings.HasPrefix(x, ".") || strings.ContainsAny(x, `/\`) {
			t.Fatalf("%q", x)
		}
	})
}

// TestParts: a mail with a page and attachments is read back whole, and is the same each time
// it is written, whatever its text looks like.
func TestParts(t *testing.T) {
	t.Parallel()
	m := report()
	m.Text += "\n boundary=" + strings.Repeat("0a", 30) + "\n"
	m.HTML = "<p>tide é.csv</p>\n boundary=" + strings.Repeat("1b", 30) + "\n"
	m.Files = []notify.File{{Name: "r.csv", Type: "text/csv", Data: []byte("a,b\n1,é\n")}, {Name: "r.json", Type: "application/json", Data: []byte("{}")}}
	first, err := m.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		page  string
		files []notify.File
	}{{"page", m.HTML, nil}, {"files", "", m.Files}, {"both", m.HTML, m.Files}} {
		m.HTML, m.Files = c.page, c.files
		raw, err := m.Bytes()
		if err != nil {
			t.Fatal(c.name, err)
		}
		if again, err := m.Bytes(); err != nil || !bytes.Equal(raw, again) {
			t.Errorf("%s: written twice it differs (%v):\n%s\n%s", c.name, err, raw, again)
		}
		got, err := mailread.Read(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, raw)
		}
		if got.Text != m.Text || got.HTML != c.page || len(got.Files) != len(c.files) {
			t.Errorf("%s: read back as %+v", c.name, got)
		}
		for _, f := range c.files {
			if !bytes.Equal(got.Files[f.Name], f.Data) {
				t.Errorf("%s: %s is %q", c.name, f.Name, got.Files[f.Name])
			}
		}
		if c.name == "both" && !bytes.Equal(raw, first) {
			t.Error("the same message differs")
		}
	}
	m.Files = []notify.File{{Name: "r.csv", Data: make([]byte, notify.MaxAttachments)}, {Name: "a\nb", Data: []byte("x")}}
	if _, err := m.Bytes(); err == nil || !strings.Contains(err.Error(), "attachment 1: the name") || !strings.Contains(err.Error(), "attach up to 10, of up to 5242880 bytes") {
		t.Error(err)
	}
}
