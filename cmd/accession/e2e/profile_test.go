package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
)

// TestProfilesAreSet: a profile that is made over HTTP while the service runs is that of
// deposits in every process at once, also after a restart. It is checked first, its changes are
// events with its version and without its addresses, and its file counts again when that is
// removed.
func TestProfilesAreSet(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	service := in.serve() // a process of its own, which is at work before anything is set
	in.completes(in.submit(app.Deposit{Payload: goodServer(t) + "/batch.checkm", Type: domain.TypeBatchManifest}))
	d := in.door()
	over := func(key string, args ...string) (int, string) {
		var o bytes.Buffer
		code := cli.Main(in.ctx(), append([]string{"--server", d.url}, args...), cli.IO{In: strings.NewReader(""), Out: &o, Err: &o, Environ: []string{"ACCESSION_API_KEY=" + key}})
		return code, o.String()
	}
	says := func(code int, key string, args []string, texts ...string) {
		t.Helper()
		got, out := over(key, args...)
		if got != code {
			t.Fatalf("accession %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("accession %s does not say %q:\n%s", strings.Join(args, " "), text, out)
			}
		}
	}
	const admin = "cy admin/*"
	films := strings.ReplaceAll(profileOf(""), ": test\n", ": films\n")
	file := filepath.Join(t.TempDir(), "films.yaml")
	write := func(content string) []string {
		in.must(os.WriteFile(file, []byte(content), 0o600))
		return []string{"profile", "set", "films", file, "--reason", "a new collection"}
	}
	says(4, admin, words("profile show films"), "known are: test")
	says(11, "cy operator/*", write(films), "no right to administer")
	says(2, admin, write(films)[:4], "needs a reason")
	says(2, admin, write(films+"description: [a]\nweather: fine\n"), "films:", "weather: there is no such field", "description")
	says(2, admin, []string{"profile", "check", file}, "weather: there is no such field")
	says(2, admin, write(strings.Replace(films, "collection: films", "collection: test", 1)), "is the collection of the profile test")
	says(0, admin, append(write(films), "--dry-run"), "films would go from none to", "the profile is new")
	says(0, admin, []string{"profile", "check", file}, "films is valid: it would go from none to")
	says(11, "cy operator/*", []string{"profile", "check", file}, "no right to administer")
	says(4, admin, words("profile show films"))
	if n := in.count("select count(*) from record.profile"); n != 0 {
		t.Errorf("%d contents are kept of a dry run", n)
	}
	says(0, admin, write(films), "now, was none")
	says(3, admin, write(films), "says this already")
	says(0, admin, words("profile ls"), "films", "test")

	// A deposit with it goes through every daemon of the service, which knew nothing of it.
	deposit := func(want int) (id domain.BatchID) {
		t.Helper()
		a := d.ask("ana depositor/films", http.MethodPost, "/v1/submissions", `{"profile":"films","url":"`+goodServer(t)+`/batch.checkm","type":"batch_manifest"}`)
		if a.status != want {
			t.Fatalf("a deposit: %d, want %d: %s", a.status, want, a.body)
		}
		var made struct{ ID domain.BatchID }
		_ = json.Unmarshal([]byte(a.body), &made)
		return made.ID
	}
	in.completes(deposit(http.StatusAccepted))

	// It is changed, if it is what the caller has seen.
	changed := strings.Replace(films, "depositor@", "owner@", 1)
	says(3, admin, append(write(changed), "--if-version", "7"), "it has version 1, not 7")
	says(0, admin, append(write(changed), "--if-version", "1", "--dry-run"), `notify.to is ["owner@example.org"], was ["depositor@example.org"]`)
	says(0, admin, append(write(changed), "--if-version", "1"), "now, was")
	in.shown()
	says(0, "cy operator/films", words("profile show films"), "set at run time (version 2 of the setting) by user/cy", "a new collection", "- hidden")
	says(11, "cy reader/films", words("profile show films"))
	a := d.ask(admin, http.MethodGet, "/v1/profiles/films", "")
	var shown profiles.Shown
	if err := json.Unmarshal([]byte(a.body), &shown); err != nil || a.header.Get("ETag") != `"2"` || shown.Source != profiles.SourceRunTime || shown.Notify.To[0] != "owner@example.org" {
		t.Errorf("%v, %s: %+v", err, a.header.Get("ETag"), shown)
	}
	for query, want := range map[string]int{
		"select count(*) from accession.event where type = 'setting.changed' and aggregate_id = 'profile:films'":                       2,
		"select count(*) from accession.event where kind = 'setting' and data::text like '%example.org%'":                              0,
		"select count(*) from accession.setting where kind = 'profile' and value -> 'profile' ->> 'version' = '" + shown.Version + "'": 1,
		"select count(*) from record.profile where name = 'films'":                                                                     2,
		"select count(*) from accession.batch where profile_name = 'films' and status = 'completed'":                                   1,
	} {
		if got := in.count(query); got != want {
			t.Errorf("%s gives %d, want %d", query, got, want)
		}
	}

	// Other processes begin with it, and what is damaged is written again.
	service.stop()
	node := in.cfg.ZooKeeperRoot + "/config/profiles/films"
	_, err := in.zookeeper().Set(node, []byte("{garbage"), -1)
	in.must(err)
	service = in.serveInProcess()
	in.mends("a profile that cannot be read", consistency.SettingWrong)
	in.says(0, words("profile show films"), "version "+shown.Version)
	in.says(0, words("submit --profile films --submitter ana --type batch_manifest "+goodServer(t)+"/batch.checkm"))
	in.completes(deposit(http.StatusAccepted))
	in.agree()

	// A content that is altered is not used by a process that begins; the others keep what they
	// have. It says so, verify too, and set again it is sound.
	in.exec("update record.profile set content = content || '# more'")
	fresh := func(args ...string) (int, string) {
		code, out, errs := in.call(args...)
		return code, out + errs
	}
	if code, out := fresh("profile", "show", "films"); code == 0 || !strings.Contains(out, "it was altered") {
		t.Errorf("an altered content: exit code %d\n%s", code, out)
	}
	in.completes(deposit(http.StatusAccepted))
	if v, err := in.app.Verify(in.ctx(), app.VerifyOptions{Wait: 20 * time.Second}); err != nil || !found(v, consistency.ProfileLost) {
		t.Errorf("verify does not find the altered content: %v\n%s", err, findings(v.Findings))
	}
	says(0, admin, words("profile rm films --reason altered"))
	says(0, admin, append(write(changed), "--reason", "from our copy"))
	if code, out := fresh("profile", "show", "films"); code != 0 || !strings.Contains(out, "from our copy") {
		t.Errorf("a content that was set again: exit code %d\n%s", code, out)
	}
	in.agree()

	// Removed, the file counts again; there is none for films.
	in.says(0, words("profile set test "+in.profileOf(t, "attempts: 2")+" --reason fewer"), `fetch.timeout is "1h0m0s"`)
	in.editProfile("collection: test", "collection: elsewhere") // which no process may go back to
	in.says(2, words("profile rm test --reason enough"), "stays so while the service runs")
	in.editProfile("collection: elsewhere", "collection: test")
	in.says(0, words("profile rm test --reason enough"), "uses the file test.yaml of its profiles_dir again")
	in.says(0, words("profile show test"), "file test.yaml")
	in.says(3, words("profile rm test --reason enough"), "profile test is not set")
	in.says(0, words("profile rm films --reason enough"), "films is none now", "jobs of its deposits wait")
	deposit(http.StatusForbidden)
	if a := d.ask(admin, http.MethodPost, "/v1/submissions", `{"profile":"films","url":"http://127.0.0.1:1/a","type":"file"}`); a.status != http.StatusNotFound || a.Code != string(app.NotFound) {
		t.Errorf("a deposit with a profile that is gone: %d %s", a.status, a.body)
	}
	service.stop()
	in.agree()
}

// TestProfilesSetAtOnce: of profiles that are set at once by several processes, and that do not
// fit beside each other, one comes to be: two of one collection, or one with two contents.
func TestProfilesSetAtOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	d := in.door()
	content := func(name, collection string) string {
		file := filepath.Join(t.TempDir(), name+".yaml")
		text := strings.ReplaceAll(profileOf(""), ": test\n", ": "+name+"\n")
		in.must(os.WriteFile(file, []byte(strings.Replace(text, "collection: "+name, "collection: "+collection, 1)), 0o600))
		return file
	}
	for round, refused := range []string{"is the collection of the profile", "and stays so while the service runs"} {
		var all sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for i := range 8 {
			name, collection := fmt.Sprintf("films%d-%d", round, i), fmt.Sprintf("films-%d", round)
			if round == 1 {
				name, collection = collection, name
			}
			args := []string{"profile", "set", name, content(name, collection), "--reason", "x"}
			all.Go(func() {
				var o bytes.Buffer
				var code int
				if i%2 == 0 {
					code = cli.Main(in.ctx(), append([]string{"--server", d.url}, args...), cli.IO{In: strings.NewReader(""), Out: &o, Err: &o, Environ: []string{"ACCESSION_API_KEY=cy admin/*"}})
				} else {
					cmd := in.command(args...)
					cmd.Stdout, cmd.Stderr = &o, &o
					_ = cmd.Run() // the exit code says it
					code = cmd.ProcessState.ExitCode()
				}
				mu.Lock()
				defer mu.Unlock()
				if code == 0 {
					done++
				} else if code != 2 || !strings.Contains(o.String(), refused) {
					t.Errorf("exit code %d: %s", code, o.String())
				}
			})
		}
		all.Wait()
		if done != 1 {
			t.Errorf("round %d: %d were set, want 1", round, done)
		}
	}
	in.serveInProcess()
	in.shown()
	if n := in.count("select count(*) from accession.setting where kind = 'profile' and value is not null"); n != 2 {
		t.Errorf("%d profiles are set, want 2", n)
	}
	in.agree()
}

// TestProfileSetKilledAtEachStep: a process that dies before or after the content is kept, and
// before the setting names it, leaves nothing that counts; the same command makes the profile
// then, and all agrees.
// Shows: P2 P4
func TestProfileSetKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, func(*crashInstallation) {})
	setsAProfile(o, "record/profile/keep/before")
	setsAProfile(o, "record/profile/keep/after")
	o.finish(o.deposit("again"))
	o.sound()
	if n := o.count("select count(*) from accession.setting where kind = 'profile' and value is not null"); n != 2 {
		t.Errorf("%d profiles are set, want 2", n)
	}
}

// completes waits for a batch, which must be completed.
func (in *installation) completes(id domain.BatchID) {
	in.t.Helper()
	if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
		in.t.Errorf("%s is %s", id, v.Status)
	}
}

// profileOf writes the file of the profile test, with further settings of fetch.
func (in *installation) profileOf(t *testing.T, fetch string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "test.yaml")
	in.must(os.WriteFile(name, []byte(profileOf(fetch)), 0o600))
	return name
}

// TestProfileFileIsReadAgain: a file that changes counts for the next deposits without a restart;
// one with a fault changes nothing, and the log says so.
func TestProfileFileIsReadAgain(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := goodServer(t)
	s := in.serveInProcess()
	said := func(what string, n int) {
		t.Helper()
		waitFor(t, what, func() bool {
			_, err := in.app.Submit(in.ctx(), app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile, Profile: "no-such", Submitter: "tester"}) // profiles are looked at
			return err != nil && strings.Count(s.log.String(), what) == n
		})
	}
	ends := func(want domain.BatchState) {
		t.Helper()
		if v := in.rest(in.submit(app.Deposit{Payload: base + "/a.txt", Type: domain.TypeFile})); v.Status != string(want) {
			t.Errorf("the batch is %s, want %s", v.Status, want)
		}
	}
	ends(domain.BatchCompleted)
	in.editProfile("fetch:", "limits: {max_file_bytes: 1}\nfetch:")
	said("the profiles were read again", 1)
	ends(domain.BatchFailed)
	in.editProfile("max_file_bytes: 1", "max_file_bytes: many")
	said("stay as they were in this process", 1)
	ends(domain.BatchFailed)
	in.editProfile("max_file_bytes: many", "max_file_bytes: 1000")
	said("the profiles were read again", 2)
	ends(domain.BatchCompleted)
}
