package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/domain"
)

// ofOneTime is what two answers do not have in common: who asked, and when, and with which
// request of a service.
var ofOneTime = regexp.MustCompile(`"by": "user/[^"]*"|"made":"[^"]*"|,\s*"request": "[^"]*"`)

// TestCommandLineOverHTTP: a command line that has nothing but the URL of a service and a key
// says the same as one that reaches the servers, and what is not over HTTP says so.
func TestCommandLineOverHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "drop_dir="+t.TempDir())
	stop := in.serveInProcess().stop
	batch := in.depositFor("test", "ana", goodServer(t)+"/batch.checkm", domain.TypeBatchManifest)
	first := in.firstOf(batch, "test")
	job := first.job
	failed := in.failed(webServer(t, rowsThatFail(3))+"/rows.checkm", 3)
	stop()
	d := in.door()
	environ := []string{"HOME=" + t.TempDir()}
	profileFile := in.profileOf(t, "attempts: 3")
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
		"job ls --state failed", "job failures", "job failures --limit 1 --since 1h --collection test", "job failures --batch " + string(failed), "job failures --code no_such_code", "job failures --profile sand", "job failures --batch bid0000009999", "file ls --job " + job, "collection ls", "queue ls", "job hold " + job + " --dry-run", "job show jid0000009999", "job look " + job, "job look jid0000009999", "job ls --batch bid0000009999",
		"object ls", "object show " + first.object, "object files " + first.object, "object get " + first.object + " mrt-erc.txt --kind system", "object get " + first.object + " nothing.txt",
		"processor ls", "processor show metadata default", "processor show all default", "processor show metadata films", "queue show all", "query ls", "query show qid0000009999", "query report qid0000009999",
		"drop ls", "intake show", "intake close --message x --reason x --dry-run", "intake open metadata --user eve --reason x --dry-run", "timeouts show", "profile ls", "profile show test", "profile show sand", "profile check " + profileFile, "profile rm test --reason x --dry-run", "report ls", "report retries", "report batch --batch " + string(batch) + " --format csv --table failed_attempts", "report batch", "report nothing",
		"events ls", "events ls --limit 2", "events ls --job " + job, "events ls --type job.completed,file.*", "events ls --from 3 --to 5", "events ls --actor user/* --since 1h", "events tail",
		"events tail --batch " + string(batch) + " --from 2", "replay", "replay --from 2 --to 4 --format csv", "replay --job " + job + " --format jsonl", "replay --batch bid0000009999", "poison ls", "poison show 4711", "poison retry --all",
		"batch show " + string(batch) + " --at 5", "batch report " + string(batch) + " --at 5", "job show " + job + " --at 9", "file show " + first.file + " --at 12", "file history " + first.file + " --at 12", "report collections --at 12",
		"events ls --batch bid0000009999", "batch show " + string(batch) + " --watch",
		"batch ls --older-than 1h", "job ls --since 1h", "object ls --batch " + string(batch) + " --since 1h", "object ls --profile test --older-than 1h", "object ls --batch bid0000009999",
		"drop ls --profile test --collection test --state refused --older-than 1h", "drop ls --profile sand", "query ls --since 1h --older-than 1m", "audit report --since 2099-01-01",
		"user ls", "user show dora", "key ls", "bulk ls", "bulk ls --state running --older-than 1h", "bulk show 0198c5f3-7b1e-7c50-a6ff-6f3f5b1f7c21",
		"queue suspend all --reason x --dry-run", "queue prohibit metadata eve --reason x --dry-run", "queue allow all eve,ana --reason x --dry-run", "queue limit all eve,ana --allocation 0 --reason x --dry-run",
		"queue unlimit metadata eve --reason x --dry-run", "queue defaults metadata --synchronous 2 --concurrency unset --reason x --dry-run", "queue free " + string(batch) + " --reason x --dry-run",
		"queue park eve --reason x --dry-run", "queue unpark --batch " + string(batch) + " --reason x --dry-run", "queue park --reason x", "query park --user eve --reason x --dry-run",
		"processor add metadata films --users eve --reason x --dry-run", "processor stop metadata default --reason x --dry-run", "processor set all default --preferred eve,ana --workers 2 --reason x --dry-run",
		"processor rm metadata default --reason x --dry-run", "timeouts set download=2h --reason x --dry-run", "timeouts set download=2h", "query fail qid0000009999 --reason x --dry-run",
		"drop stop --reason x --dry-run", "drop retry 0198c5f3-7b1e-7c50-a6ff-6f3f5b1f7c21 --dry-run", "bulk begin job hold --batch " + string(batch) + " --dry-run", "bulk begin job sing --state failed --dry-run"} {
		for _, format := range []string{"table", "json"} {
			args := append(strings.Fields(line), "-o", format)
			want, wantOut, _ := in.call(args...)
			if code, out, errs := over("", args...); code != want || ofOneTime.ReplaceAllString(out, "") != ofOneTime.ReplaceAllString(wantOut, "") {
				t.Errorf("accession %s: exit code %d, not %d\n%s%s\nnot\n%s", strings.Join(args, " "), code, want, out, errs, wantOut)
			}
		}
	}
	in.says(0, words("job failures --batch "+string(failed)), "http_status (content): ", "127.0.0.1", "depositor", "test")
	in.says(0, words("job failures --batch "+string(batch)), "no job has failed")
	for line, want := range map[string]string{"batch show": string(batch), "job hold": job, "file show": first.file, "object show": first.object, "submit --profile": "test",
		"job ls --batch": string(batch), "batch ls --collection": "test", "batch ls --state": "completed", "queue pause": "ingest", "query show": ":36"} {
		args := append(append([]string{"__complete"}, strings.Fields(line)...), "")
		var settings []string // not as flags: these would be completed
		for key, value := range in.settings {
			settings = append(settings, config.EnvPrefix+strings.ToUpper(key)+"="+value)
		}
		var o, e bytes.Buffer
		cli.Main(in.ctx(), args, cli.IO{Out: &o, Err: &e, Environ: settings})
		here := o.String()
		if _, out, errs := over("", args...); out != here || !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("accession %s completes to\n%s%snot\n%s", line, out, errs, here)
		}
	}
	in.peopleOverHTTP(func(args ...string) (int, string, string) { return over("", args...) })
	in.contentOverHTTP(first.object, func(stdin string, args ...string) (int, string, string) { return over(stdin, args...) }, func(point string, args ...string) {
		kept := in.environ
		in.environ = append(in.environ, "ACCESSION_SERVER="+d.url, "ACCESSION_API_KEY=cy admin/*")
		in.killedAt(point, args...)
		in.environ = kept
	})
	mail := "report batch --format mail --batch " + string(batch)
	if code, out, errs := over("", strings.Fields(mail)...); code != 0 || !strings.Contains(out, "To: <depositor@example.org>") || !strings.Contains(out, string(batch)) {
		t.Errorf("accession %s: exit code %d\n%s%s", mail, code, out, errs)
	}
	for _, line := range []string{"serve", "verify", "sweep", "replay --publish x", "profile check", "profile check .."} {
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

// peopleOverHTTP changes users and keys with a command line that has only HTTP.
func (in *installation) peopleOverHTTP(accession func(args ...string) (code int, out, errs string)) {
	t := in.t
	t.Helper()
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"user add dora --display-name Dora", "added the user dora", 0},
		{"user add dora", "there is a user", 3},
		{"user grant dora reader --collection test --reason x", "dora is reader", 0},
		{"user grant dora reader --collection test", "nothing changed", 0},
		{"user withdraw dora reader --collection test", "dora is no reader", 0},
		{"user set dora --mail dora@example.org", "changed the user dora", 0},
		{"user show dora", "dora@example.org", 0},
		{"user disable dora", "dora may do nothing any more", 0},
		{"user enable dora", "dora may sign in again", 0},
		{"user show eve", "there is no user", 4},
		{"key add dora --label scanner --role reader --expires 90d", "acc_", 0},
		{"key ls --user dora", "scanner", 0},
		{"__complete user show do", "dora", 0},
		{"__complete key ls --user do", "dora", 0},
		{"audit ls --on user/dora --action user.grant", "user/dora", 0},
		{"audit ls --on user/dora --older-than 1h", "nothing was audited", 0},
		{"audit report --on user/dora --action user.grant", "id,at,caller,via,address,action,subject,outcome,detail,reason", 0},
		{"audit report --on user/dora --action user.grant --format html", "user/dora", 0},
	} {
		if code, out, errs := accession(strings.Fields(c.args)...); code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("accession %s: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, c.says, out, errs)
		}
	}
}

// contentOverHTTP asks about identifiers and gets content out, here and over HTTP.
func (in *installation) contentOverHTTP(object string, accession func(stdin string, args ...string) (code int, out, errs string), killed func(point string, args ...string)) {
	t := in.t
	t.Helper()
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte(object+"\nark:/99999/nothing\n"), 0o600))
	_, want, _ := in.call("query", "answer", list, "--format", "csv")
	if code, out, errs := accession("", "query", "answer", list, "--format", "csv"); code != 0 || out != want || want == "" {
		t.Errorf("query answer: exit code %d\n%s%snot\n%s", code, out, errs, want)
	}
	code, out, errs := accession("", "query", "submit", list, "-o", "json")
	var q struct {
		ID      string `json:"id"`
		Request struct{ Submitter string }
	}
	if err := json.Unmarshal([]byte(out), &q); err != nil || code != 0 || q.Request.Submitter != "cy" {
		t.Fatalf("query submit: exit code %d, %v\n%s%s", code, err, out, errs)
	}
	stop := in.serveInProcess().stop
	if code, out, errs := accession("", "query", "show", q.ID, "--watch"); code != 0 || !strings.Contains(out, "answered") {
		t.Errorf("query show --watch: exit code %d\n%s%s", code, out, errs)
	}
	stop()
	_, want, _ = in.call("query", "report", q.ID)
	if code, out, errs := accession("", "query", "report", q.ID); code != 0 || out != want || !strings.Contains(want, object) {
		t.Errorf("query report: exit code %d\n%s%snot\n%s", code, out, errs, want)
	}
	here, there := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "there")
	if code, _, errs := in.call("object", "export", object, "--dir", here); code != 0 {
		t.Fatal(errs)
	}
	killed("store/export/sync/before:2", "object", "export", object, "--dir", there) // when the first file is there, and part of the next
	for _, again := range []string{"; 1 files were there already", "files were there already"} {
		if code, out, errs := accession("", "object", "export", object, "--dir", there); code != 0 || !strings.Contains(out, again) {
			t.Errorf("object export: exit code %d\n%s%s", code, out, errs)
		}
	}
	files := 0
	in.must(filepath.WalkDir(here, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		one, err := os.ReadFile(name)
		in.must(err)
		other, err := os.ReadFile(there + strings.TrimPrefix(name, here))
		if !bytes.Equal(one, other) {
			t.Errorf("%s is another file over HTTP", name)
		}
		return err
	}))
	if files < 3 {
		t.Errorf("only %d files were exported", files)
	}
	file := filepath.Join(there, "producer", "a.txt")
	in.must(os.WriteFile(file, []byte("another"), 0o600))
	if code, _, errs := accession("", "object", "export", object, "--dir", there); code != 3 || !strings.Contains(errs, "replaces nothing") {
		t.Errorf("export over another file: exit code %d\n%s", code, errs)
	}
}

// submitsOverHTTP deposits a URL and a file with a command line that has only HTTP, each twice
// under one key.
func (in *installation) submitsOverHTTP(accession func(args ...string) (code int, out, errs string)) {
	t := in.t
	t.Helper()
	letter := filepath.Join(t.TempDir(), "letter.txt")
	in.must(os.WriteFile(letter, []byte("dear reader"), 0o600))
	for payload, key := range map[string]string{goodServer(t) + "/a.txt": "a URL", letter: "a file"} {
		var ids []string
		for range 2 {
			code, out, errs := accession("submit", "--profile", "test", "--type", "file", "--idempotency-key", key, "-o", "json", payload)
			var got map[string]any
			if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
				t.Fatalf("submit %s: exit code %d, %v\n%s%s", payload, code, err, out, errs)
			}
			text, _ := got["id"].(string)
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
		"submit --profile test " + t.TempDir():                                 {2, "there are no files below"},
		"submit --profile test " + letter + ".gone":                            {4, "no such file"},
		"submit --profile sand " + letter:                                      {4, "sand"},
		"submit --profile test --sync --idempotency-key s " + letter:           {0, "1 listed = 1 completed"},
		"submit --profile test --sync --type file " + goodServer(t) + "/a.txt": {0, "1 listed = 1 completed"},
		"submit --profile test --watch " + letter:                              {0, "completed"},
		"submit --profile test --digest md5:00 " + letter:                      {2, "digest"},
	} {
		if code, out, errs := accession(strings.Fields(args)...); code != want.code || !strings.Contains(out+errs, want.says) {
			t.Errorf("accession %s: exit code %d, want %d\n%s%s", args, code, want.code, out, errs)
		}
	}
	var batches []string
	for range 2 {
		_, out, errs := accession("submit", "--profile", "test", "--sync", "--idempotency-key", "s", "-o", "json", letter)
		var got synchronous.Answer
		if err := json.Unmarshal([]byte(out), &got); err != nil || !got.Again || got.Report == nil {
			t.Errorf("submit --sync again: %v\n%s%s", err, out, errs)
		}
		batches = append(batches, string(got.Batch))
	}
	if batches[0] == "" || batches[0] != batches[1] {
		t.Errorf("submit --sync under one key: %v", batches)
	}
}
