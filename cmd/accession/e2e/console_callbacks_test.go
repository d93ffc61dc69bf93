package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/browser"
)

// TestConsoleShowsCallbacks: the page of a batch has the callbacks about its jobs, first that which
// did not arrive, with the receiver, the attempts and why; nothing of the URL but its host. What the
// receiver takes after the job is requeued shows as delivered.
func TestConsoleShowsCallbacks(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	c := &consoled{installation: in, browser: browser.Start(t)}
	in.says(0, []string{"user", "add", "olga"})
	in.says(0, []string{"user", "grant", "olga", "operator", "--all"})
	in.withPassword("olga", password)
	const hidden = "s3cret-of-the-receiver"
	refuse := make(chan struct{}) // closed: everything is taken
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		in.should(err)
		switch {
		case r.Method == http.MethodPost && r.URL.RawQuery != "token="+hidden:
			t.Errorf("the callback has the query %q", r.URL.RawQuery)
		case r.Method == http.MethodPost && bytes.Contains(body, []byte("two.txt")):
			select {
			case <-refuse:
			default:
				w.WriteHeader(http.StatusForbidden)
			}
		case strings.HasSuffix(r.URL.Path, ".checkm"):
			row := func(name string) string {
				return "http://" + r.Host + "/" + name + " | | | | | " + name + " | | | A creator | " + name + " | 2026"
			}
			_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, row("one.txt"), row("two.txt")))
		default:
			_, _ = io.WriteString(w, "the content of "+r.URL.Path)
		}
	}))
	in.editProfile("fetch:", "callback: {url: \""+base+"/done?token="+hidden+"\"}\nfetch:")
	c.url = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)).url
	batch := in.depositFor("test", "ana", base+"/rows.checkm", domain.TypeFileBatchManifest)
	if v := in.rest(batch); v.Status != string(domain.BatchFailed) {
		t.Fatalf("the batch is %s", v.Status)
	}
	p := c.signedIn("olga")
	const made = `[...document.querySelectorAll("table")].filter((t) => t.caption.innerText.startsWith("Callbacks")).flatMap((t) => [...t.tBodies[0].rows]).map((r) => [...r.cells].slice(1, 4).map((e) => e.innerText).join(" "))`
	host := strings.TrimPrefix(base, "http://")
	page := c.url + "/console/batches/" + string(batch)
	for _, width := range []int64{360, 1200} {
		p.Look(width, width == 360)
		p.Open(page)
		c.looks(p, "callbacks")
	}
	if got := browser.Eval[[]string](p, made); len(got) != 2 || got[0] != host+" failed 1" || got[1] != host+" delivered 1" {
		t.Errorf("%q", got)
	}
	c.reads(p, "the receiver answered 403")
	for name, text := range map[string]string{"the page": browser.Eval[string](p, "document.documentElement.outerHTML"),
		"the answer": in.says(0, []string{"batch", "show", "-o", "json", string(batch)}), "the text": in.says(0, []string{"batch", "show", string(batch)}, "callback of jid", "failed", host)} {
		if strings.Contains(text, hidden) || strings.Contains(text, base+"/done") {
			t.Errorf("%s has the URL of the receiver: %s", name, text)
		}
	}
	close(refuse)
	browser.Eval[bool](p, "window.kept = true")
	in.says(0, []string{"bulk", "begin", "job", "requeue", "--batch", string(batch), "--state", "failed", "--yes", "--reason", "the receiver is well"})
	waitFor(t, "the callback that arrives, on the open page", func() bool {
		got := browser.Eval[[]string](p, made)
		return len(got) == 2 && strings.Contains(strings.Join(got, "\n"), host+" delivered 2")
	})
	if !browser.Eval[bool](p, "window.kept === true") {
		t.Error("the page was loaded again")
	}
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Error(wrong)
	}
}
