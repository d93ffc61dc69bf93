package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/domain"
)

// account makes an account of PostgreSQL for the test's database, and returns its URL.
func (in *installation) account(name, password string) string {
	in.t.Helper()
	in.role("create", name, password)
	in.t.Cleanup(func() {
		_, err := in.db.Exec(context.WithoutCancel(in.t.Context()), "reassign owned by "+name+" to current_user; drop role "+name)
		in.should(err)
	})
	u, err := url.Parse(in.databaseURL())
	in.must(err)
	u.User = url.UserPassword(name, password)
	return u.String()
}

// role makes or alters the account and its password.
func (in *installation) role(how, name, password string) {
	in.t.Helper()
	_, err := in.db.Exec(in.ctx(), fmt.Sprintf("%s role %s superuser login password '%s'", how, name, password))
	in.must(err)
}

// TestLogAfterARefusedPassword: a service whose password NATS has refused again and again
// connects when NATS takes it, without a restart.
// Shows: P7
func TestLogAfterARefusedPassword(t *testing.T) {
	t.Parallel()
	own := newNATSWith(t, "right")
	in := prepare(t, "attempts: 20, timeout: 5s", append(slices.Clone(forProcesses), "log_level=debug", "listen_ops=127.0.0.1:0", "nats="+own.url())...)
	in.open()
	s := in.serve("--roles", "relay,projector")
	s.works()
	own.kill()
	own.pass = "another"
	own.start()
	waitFor(t, "NATS to refuse the password twice", func() bool { return strings.Count(strings.ToLower(s.log.String()), "authorization") >= 2 })
	own.kill()
	own.pass = "right"
	own.start()
	begun := time.Now()
	waitFor(t, "the service to have the log again", func() bool {
		code, text := s.asked("/readyz")
		if time.Since(begun) > 25*time.Second { // it tries every two seconds
			t.Fatalf("/readyz: %d %s", code, text)
		}
		return code == http.StatusOK
	})
}

// TestPasswordsOfServersAreSeenNowhere: the passwords of NATS and PostgreSQL, from the file of
// settings and from a file of a secret, are seen nowhere else: not while the servers answer,
// nor while they are away or refuse them, nor in the dump of a process that is told to die.
// Shows: P14 P15
func TestPasswordsOfServersAreSeenNowhere(t *testing.T) {
	t.Parallel()
	// What is looked for has no character that a URL would write otherwise.
	atNATS, atPostgres, name := rand.Text(), rand.Text(), "canary_"+strings.ToLower(rand.Text()[:10])
	ownNATS := newNATSWith(t, atNATS+"/ü @:%")
	in := prepare(t, "attempts: 20, timeout: 5s", append(slices.Clone(forProcesses), "log_level=debug", "listen_ops=127.0.0.1:0", "listen_http=127.0.0.1:0", "ops_pprof=true", "nats="+ownNATS.url())...)
	in.set("postgres=" + in.account(name, atPostgres+"/ü @:%"))
	in.open()
	ada := in.keyOf("ada", "admin", "--all")

	file, secretFile := filepath.Join(t.TempDir(), "accession.yaml"), filepath.Join(t.TempDir(), "nats")
	write := func(change map[string]string) {
		t.Helper()
		all := maps.Clone(in.settings)
		maps.Copy(all, change)
		delete(all, "nats")
		text, err := yaml.Marshal(all)
		in.must(err)
		in.must(os.WriteFile(file, text, 0o600))
	}
	write(nil)
	in.must(os.WriteFile(secretFile, []byte(in.settings["nats"]+"\n"), 0o600))
	program, err := released()
	in.must(err)
	files := []string{"ACCESSION_CONFIG=" + file, "ACCESSION_NATS_FILE=" + secretFile}
	var told []any
	// run runs command lines with these two files, keeps what they say, and counts those that
	// succeed.
	run := func(lines ...string) (succeeded int) {
		t.Helper()
		for _, line := range lines {
			var out bytes.Buffer
			if cli.Main(in.ctx(), words(line), cli.IO{In: strings.NewReader("typed\n"), Out: &out, Err: &out, Environ: files}) == 0 {
				succeeded++
			}
			told = append(told, out.String())
		}
		return succeeded
	}
	lines := []string{"config print", "config check -o json", "status", "batch ls", "verify --wait 1s", "user ls -o json", "submit --profile test --submitter ana " + in.profileFile(), "events tail"}

	s := &service{in: in, cmd: exec.Command(program, "serve", "--roles", "all,http"), log: &lockedBuffer{}} //nolint:noctx // the test ends it
	s.cmd.Env = append(os.Environ(), files...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = s.log, s.log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in.must(s.cmd.Start())
	t.Cleanup(s.kill)
	s.works()
	s.tells("people and programs are answered")
	d := in.doorOf(s)
	asks := func() {
		for _, path := range []string{"/readyz?verbose", "/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/"} {
			_, text := s.asked(path)
			told = append(told, strings.ReplaceAll(text, "\x00", " "))
		}
		for _, path := range []string{"/v1/config", "/v1/status", "/v1/batches", "/v1/servers", "/v1/users"} {
			a := d.ask(ada, "GET", path, "")
			told = append(told, a.body, fmt.Sprint(a.header))
		}
	}
	id := in.submit(app.Deposit{Payload: goodServer(t) + "/batch.checkm", Type: domain.TypeBatchManifest})
	in.rest(id)
	if n := run(lines...); n < 7 {
		t.Errorf("%d of %d commands succeeded: %s", n, len(lines), told)
	}
	asks()

	// The log is away, and then asks for another password.
	ownNATS.kill()
	s.until(503, "")
	run(lines[6:]...)
	asks()
	ownNATS.pass = "another"
	ownNATS.start()
	run(lines[6:]...)
	waitFor(t, "NATS to refuse the password", func() bool { return strings.Contains(strings.ToLower(s.log.String()), "authorization") })
	asks()
	ownNATS.kill()
	ownNATS.pass = atNATS + "/ü @:%"
	ownNATS.start()
	s.until(200, "")

	// So does the database.
	in.role("alter", name, "another")
	in.exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = '" + name + "'")
	run(lines[6:]...)
	waitFor(t, "PostgreSQL to refuse the password", func() bool { return strings.Contains(s.log.String(), "password authentication failed") })
	asks()
	in.role("alter", name, atPostgres+"/ü @:%")
	s.until(200, "")
	run(lines...)

	// Settings that cannot be read.
	right := in.settings["postgres"]
	for _, wrong := range []map[string]string{{"postgres": strings.Replace(right, "postgres://", "postgres//", 1)}, {"postgres": "host=127.0.0.1 password=" + atPostgres}, {"postgress": right},
		{"store": right}, {"zookeeper": right}, {"log_level": right}, {"server": right}, {right: "x"}, {"postgres": right + "&password=" + atPostgres}} {
		write(wrong)
		run(lines[:3]...)
	}
	in.must(os.WriteFile(file, []byte("postgres: "+right+"\n\t- nats: ["+right), 0o600))
	run(lines[:3]...)
	write(nil)
	in.must(os.WriteFile(secretFile, []byte("nats//accession:"+atNATS+"@127.0.0.1"), 0o600))
	run(lines[:3]...)

	places := in.places(s, []domain.BatchID{id})
	in.must(s.cmd.Process.Signal(syscall.SIGQUIT)) // dumps all goroutines
	_ = s.cmd.Wait()
	if !strings.Contains(s.log.String(), "goroutine ") {
		t.Error("the process left no dump")
	}
	var secrets []string
	for _, one := range []string{atNATS, atPostgres} {
		secrets = append(secrets, one)
		for _, user := range []string{"accession:", name + ":"} { // as a header would have it
			secrets = append(secrets, base64.RawStdEncoding.EncodeToString([]byte(user + one))[:len(user)+len(one)])
		}
	}
	in.unseenAnywhere(secrets, s.log.String(), told, append(places, in.pgDump()), func(string, string, string) bool { return false })
}

// pgDump returns what pg_dump writes of the whole database.
func (in *installation) pgDump() place {
	in.t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	in.must(err)
	if len(found) == 0 {
		found = []string{"pg_dump"}
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(in.ctx(), found[len(found)-1], "--dbname", in.databaseURL())
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		in.t.Fatalf("%v\n%s", err, errs.String())
	}
	if !strings.Contains(out.String(), "CREATE TABLE accession.event ") {
		in.t.Error("the dump has no events")
	}
	return place{"dump", "pg_dump", out.String()}
}
