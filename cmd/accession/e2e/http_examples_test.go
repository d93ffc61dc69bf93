package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
)

// exampleOf is a request of docs/api.md, with the status of its answer and the rest of the
// sentence about it.
var exampleOf = regexp.MustCompile("(?s)```http\n(\\w+) (\\S+)\n(.*?)```\n\n([0-9]{3})\\b(.*?)(?:\\. |\n)")

// What a sentence about an answer names: a header or a field, with its value if it says one, and
// texts of it.
var (
	namesHeader = regexp.MustCompile("`([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*)`(?: is ([^\\s,]+))?")
	namesField  = regexp.MustCompile("`([a-z][A-Za-z_]*)`(?: is ([^\\s,]+))?")
	namesText   = regexp.MustCompile("“([^”]*)”")
)

// hasWhatIsSaid compares an answer with the sentence of the page about it, which says something of
// every answer that has a body.
func (a answer) hasWhatIsSaid(t *testing.T, of, sentence string) {
	t.Helper()
	headers, fields, texts := namesHeader.FindAllStringSubmatch(sentence, -1), namesField.FindAllStringSubmatch(sentence, -1), namesText.FindAllStringSubmatch(sentence, -1)
	for _, h := range headers {
		is, _, _ := strings.Cut(a.header.Get(h[1]), ";")
		if want := strings.TrimRight(h[2], ".:;"); is == "" || want != "" && is != want {
			t.Errorf("%s: the page says of its answer %q; %s is %q", of, sentence, h[1], is)
		}
	}
	for _, f := range fields {
		want := f[1]
		if value := strings.TrimRight(f[2], ".:;"); json.Valid([]byte(a.body)) && value != "" {
			want = fmt.Sprintf("%q:%q", f[1], value)
		} else if json.Valid([]byte(a.body)) {
			want = fmt.Sprintf("%q:", f[1])
		}
		if !strings.Contains(a.body, want) {
			t.Errorf("%s: the page says of its answer %q; it has no %s: %s", of, sentence, want, a.body)
		}
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text[1]) {
			t.Errorf("%s: the page says of its answer %q; it has no %s: %s", of, sentence, text[1], a.body)
		}
	}
	if a.body != "" && len(headers)+len(fields)+len(texts) == 0 {
		t.Errorf("%s: the page does not say what its answer has, in its first sentence: %s", of, a.body)
	}
}

// shellOf are the command lines of docs/api.md.
var shellOf = regexp.MustCompile("(?s)\n```\n((?:accession [^\n]+\n)+)```\n")

// commandsOf returns the roles that the command lines of the page serve, and the others.
func commandsOf(t *testing.T, page string) (roles []run.Role, lines []string) {
	t.Helper()
	blocks := 0
	for _, block := range shellOf.FindAllStringSubmatch(page, -1) {
		blocks++
		for line := range strings.SplitSeq(strings.TrimSpace(block[1]), "\n") {
			line = strings.TrimPrefix(line, "accession ")
			list, serves := strings.CutPrefix(line, "serve --roles ")
			if !serves {
				lines = append(lines, line)
				continue
			}
			var err error
			if roles, err = run.ParseRoles(list); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := strings.Count("\n"+page, "\n```\n") - strings.Count(page, "\n```http\n"); n != 2*blocks || len(roles) == 0 || len(lines) < 3 {
		t.Fatalf("%d blocks of %d are command lines: %v, %q", blocks, n/2, roles, lines)
	}
	return roles, lines
}

// TestExamplesOfTheAPI runs every command line of docs/api.md, and sends every request: its answer
// has the status, the headers and the fields that the page names.
func TestExamplesOfTheAPI(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	in.editProfile("fetch:", takesArticles+"fetch:")
	roles, lines := commandsOf(t, string(page))
	var ana string
	for _, line := range lines {
		if said := in.says(0, words(line)); strings.HasPrefix(line, "key add ana ") {
			ana = strings.TrimSpace(said)
		}
	}
	olga := in.keyOf("olga", "operator", "--all")
	d := in.doorOf(in.serveInProcess(roles...))
	text := strings.NewReplacer("https://files.example.org", goodServer(t), "Bearer KEY", "Bearer "+ana, "Bearer OPERATOR", "Bearer "+olga, "Bearer ADMIN", "Bearer "+in.keyOf("root", "admin", "--all")).Replace(string(page))
	examples := exampleOf.FindAllStringSubmatch(text, -1)
	if n := strings.Count(text, "```http\n"); n != len(examples) || n < 8 {
		t.Fatalf("%d of %d examples have the status of their answer", len(examples), n)
	}
	upload := "" // the one that was begun last
	for i, e := range examples {
		method, path, want := e[1], strings.Replace(e[2], "UPLOAD", upload, 1), e[4]
		head, body, _ := strings.Cut(e[3], "\n\n")
		if strings.HasPrefix(path, "/v1/objects?") { // what was deposited before is stored then
			waitFor(t, "an object that is found", func() bool {
				return strings.Contains(d.ask("", method, path, "", strings.TrimSpace(head)).body, `"id":`)
			})
		}
		a := d.send("", method, path, io.MultiReader(strings.NewReader(strings.TrimSuffix(body, "\n"))), strings.Split(strings.TrimSpace(head), "\n")...)
		if fmt.Sprint(a.status) != want {
			t.Errorf("%s %s: %d %s, want %s", method, path, a.status, a.body, want)
		}
		a.hasWhatIsSaid(t, method+" "+path, e[5])
		if path == resumables {
			upload = a.header.Get("Location")
		}
		if i == 0 {
			in.rest("bid0000000001")
		}
	}
}
