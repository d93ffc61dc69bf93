package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/domain"
)

// TestCommandLineOverHTTP: a command line that has nothing but the URL of a service and a key
// says the same as one that reaches the servers, and what is not over HTTP says so.
func TestCommandLineOverHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	stop := in.serveInProcess().stop
	batch := in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	job := in.firstOf(batch, "test").job
	stop()
	d := in.door()
	environ := []string{"HOME=" + t.TempDir()}
	over := func(key string, args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = cli.Main(in.ctx(), append([]string{"--server", d.url}, args...), cli.IO{In: strings.NewReader(key), Out: &o, Err: &e, Environ: environ})
		return code, o.String(), e.String()
	}
	if code, _, errs := over("", "batch", "ls"); code != 10 || !strings.Contains(errs, "accession login") {
		t.Fatalf("without a key: exit code %d\n%s", code, errs)
	}
	if code, _, errs := over("cy admin/*", "login"); code != 0 {
		t.Fatalf("login: exit code %d\n%s", code, errs)
	}
	kept := filepath.Join(strings.TrimPrefix(environ[0], "HOME="), ".config", "accession", "credentials.json")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	for _, line := range []string{"batch ls", "batch show " + string(batch), "batch report " + string(batch), "job ls --batch " + string(batch), "job show " + job,
		"job ls --state failed", "file ls --job " + job, "collection ls", "queue ls", "job hold " + job + " --dry-run", "job show jid0000009999", "job ls --batch bid0000009999"} {
		for _, format := range []string{"table", "json"} {
			args := append(strings.Fields(line), "-o", format)
			want, wantOut, _ := in.call(args...)
			if code, out, errs := over("", args...); code != want || out != wantOut {
				t.Errorf("accession %s: exit code %d, not %d\n%s%s\nnot\n%s", strings.Join(args, " "), code, want, out, errs, wantOut)
			}
		}
	}
	for _, line := range []string{"serve", "verify", "sweep", "events ls", "batch show " + string(batch) + " --watch"} {
		if code, _, errs := over("", strings.Fields(line)...); code != 2 || !strings.Contains(errs, "not over HTTP") {
			t.Errorf("accession %s: exit code %d\n%s", line, code, errs)
		}
	}
	stop = in.serveInProcess().stop
	in.submitsOverHTTP(func(args ...string) (int, string, string) { return over("", args...) })
	stop()
	for key, want := range map[string]int{"cy": 4, "cy reader/test": 11, "cy operator/test": 0} { // a variable wins over what is kept
		environ := append(environ, "ACCESSION_SERVER="+d.url, "ACCESSION_API_KEY="+key)
		var o, e bytes.Buffer
		if code := cli.Main(in.ctx(), []string{"job", "hold", job, "--dry-run"}, cli.IO{Out: &o, Err: &e, Environ: environ}); code != want && (want != 0 || code != 3) {
			t.Errorf("hold by %q: exit code %d, want %d\n%s", key, code, want, e.String())
		}
	}
	if code, _, errs := over("", "logout"); code != 0 {
		t.Fatalf("logout: exit code %d\n%s", code, errs)
	}
	if code, _, _ := over("", "batch", "ls"); code != 10 {
		t.Errorf("after logout: exit code %d", code)
	}
}

// submitsOverHTTP deposits a URL and a file with a command line that has only HTTP, each twice
// under one key.
func (in *installation) submitsOverHTTP(accession func(args ...string) (code int, out, errs string)) {
	t := in.t
	t.Helper()
	letter := filepath.Join(t.TempDir(), "letter.txt")
	in.must(os.WriteFile(letter, []byte("dear reader"), 0o600))
	for payload, id := range map[string]string{goodServer(t) + "/a.txt": "batch", letter: "id"} {
		var ids []string
		for range 2 {
			code, out, errs := accession("submit", "--profile", "test", "--type", "file", "--idempotency-key", id, "-o", "json", payload)
			var got map[string]any
			if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
				t.Fatalf("submit %s: exit code %d, %v\n%s%s", payload, code, err, out, errs)
			}
			text, _ := got[id].(string)
			ids = append(ids, text)
		}
		if ids[0] == "" || ids[0] != ids[1] {
			t.Errorf("submit %s twice under one key: %v", payload, ids)
		}
	}
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"submit --profile test " + t.TempDir():            {4, "is no regular file"},
		"submit --profile test " + letter + ".gone":       {4, "no such file"},
		"submit --profile sand " + letter:                 {4, "sand"},
		"submit --profile test --watch " + letter:         {2, "not over HTTP"},
		"submit --profile test --digest md5:00 " + letter: {2, "digest"},
	} {
		if code, _, errs := accession(strings.Fields(args)...); code != want.code || !strings.Contains(errs, want.says) {
			t.Errorf("accession %s: exit code %d, want %d\n%s", args, code, want.code, errs)
		}
	}
}
