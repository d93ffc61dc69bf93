package e2e

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
)

// exampleOf is a request of docs/api.md, with the status of its answer.
var exampleOf = regexp.MustCompile("(?s)```http\n(\\w+) (\\S+)\n(.*?)```\n\n([0-9]{3})\\b")

// TestExamplesOfTheAPI sends every request of docs/api.md.
func TestExamplesOfTheAPI(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	in.editProfile("fetch:", takesArticles+"fetch:")
	ana, olga := in.keyOf("ana", "depositor", "--collection", "test"), in.keyOf("olga", "operator", "--all")
	d := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	text := strings.NewReplacer("https://files.example.org", goodServer(t), "Bearer KEY", "Bearer "+ana, "Bearer OPERATOR", "Bearer "+olga, "Bearer ADMIN", "Bearer "+in.keyOf("root", "admin", "--all")).Replace(string(page))
	examples := exampleOf.FindAllStringSubmatch(text, -1)
	if n := strings.Count(text, "```http\n"); n != len(examples) || n < 8 {
		t.Fatalf("%d of %d examples have the status of their answer", len(examples), n)
	}
	upload := "" // the one that was begun last
	for i, e := range examples {
		method, path, want := e[1], strings.Replace(e[2], "UPLOAD", upload, 1), e[4]
		head, body, _ := strings.Cut(e[3], "\n\n")
		a := d.send("", method, path, io.MultiReader(strings.NewReader(strings.TrimSuffix(body, "\n"))), strings.Split(strings.TrimSpace(head), "\n")...)
		if fmt.Sprint(a.status) != want {
			t.Errorf("%s %s: %d %s, want %s", method, path, a.status, a.body, want)
		}
		if path == resumables {
			upload = a.header.Get("Location")
		}
		if i == 0 {
			in.rest("bid0000000001")
		}
	}
}
