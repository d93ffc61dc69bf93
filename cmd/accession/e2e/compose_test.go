package e2e

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/accession-ingest/accession/cmd/internal/app/drops"
)

// composed is what compose.yaml says of the containers of the program.
type composed struct {
	Services map[string]struct {
		Command     []string
		Environment map[string]string
		Secrets     []string
		Volumes     []string
		Healthcheck struct{ Test []string }
	}
}

// machine is this machine in place of the containers: what they name, and what is there.
type machine struct {
	*installation
	compose composed
	there   *strings.Replacer
	extra   []string // settings that keep tests apart
}

// compose returns the containers of compose.yaml, with the secrets that the script makes, as
// accounts of servers of this machine.
func (in *installation) compose(nats *natsServer, secrets string) *machine {
	in.t.Helper()
	m := &machine{installation: in}
	data, err := os.ReadFile("../../../compose.yaml")
	in.must(err)
	in.must(yaml.Unmarshal(data, &m.compose))
	at, err := url.Parse(in.account("compose_"+strings.ToLower(rand.Text()[:10]), made(in.t, secrets, "postgres-password")))
	in.must(err)
	// The files of the secrets name containers, and a database of theirs.
	for name, with := range map[string][]string{
		"postgres-url": {"@postgres:5432/accession", "@" + at.Host + at.Path, "//accession:", "//" + at.User.Username() + ":"},
		"nats-url":     {"@nats:4222", "@" + strings.SplitN(nats.url(), "@", 2)[1]},
	} {
		text, file := made(in.t, secrets, name), filepath.Join(secrets, name)
		for i := 0; i < len(with); i += 2 {
			if !strings.Contains(text, with[i]) {
				in.t.Fatalf("the secret %s does not name %s", name, with[i])
			}
		}
		in.must(os.Remove(file))
		in.must(os.WriteFile(file, []byte(strings.NewReplacer(with...).Replace(text)+"\n"), 0o400))
	}
	dirs := []string{"/run/secrets", secrets}
	for _, volume := range m.compose.Services["http"].Volumes {
		from, to, _ := strings.Cut(volume, ":")
		to = strings.TrimSuffix(to, ":ro")
		own, known := map[string]string{"accession-data": in.dir, "accession-drop": in.cfg.DropDir, "./deploy/profiles": filepath.Dir(in.profileFile())}[from]
		if !known {
			in.t.Fatalf("the volume %s is not of this test", volume)
		}
		dirs = append(dirs, to, own)
	}
	slices.Reverse(dirs) // the longer of two names first
	var pairs []string
	for i := 0; i < len(dirs); i += 2 {
		pairs = append(pairs, dirs[i+1], dirs[i])
	}
	m.there = strings.NewReplacer(append(pairs, "zookeeper:2181", in.settings["zookeeper"])...)
	for key, value := range in.settings {
		if !slices.Contains([]string{"zookeeper", "nats", "postgres"}, key) {
			m.extra = append(m.extra, "ACCESSION_"+strings.ToUpper(key)+"="+value)
		}
	}
	return m
}

// made returns a secret that was made.
func made(t testing.TB, secrets, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(secrets, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// starts prepares a command line of a container as the file has it: nothing of its settings
// comes from elsewhere. changes are pairs of what it says and what is there instead.
func (m *machine) starts(container string, args []string, changes ...string) *exec.Cmd {
	m.t.Helper()
	c := m.compose.Services[container]
	if len(args) == 0 {
		m.t.Fatalf("%s has no command line", container)
	}
	for i := range args {
		args[i] = strings.NewReplacer(changes...).Replace(args[i])
	}
	program, err := released()
	m.must(err)
	cmd := exec.Command(program, args...) //nolint:noctx // the test ends it
	cmd.Env = append([]string{"HOME=/nowhere", "PATH=/usr/bin:/bin"}, m.extra...)
	for key, value := range c.Environment {
		if name, secret := strings.CutPrefix(value, "/run/secrets/"); secret && !slices.Contains(c.Secrets, name) {
			m.t.Errorf("%s: the secret %s is not given to it", container, name)
		}
		cmd.Env = append(cmd.Env, key+"="+m.there.Replace(value))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// TestComposeServesTheAPI runs the command lines of compose.yaml with the variables, secrets
// and directories that it gives them, on servers of this machine, and deposits.
// Shows: P1
func TestComposeServesTheAPI(t *testing.T) {
	t.Parallel()
	secrets := filepath.Join(t.TempDir(), "secrets")
	if out, err := exec.CommandContext(t.Context(), "../../../deploy/setup/secrets.sh", secrets).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	nats := newNATSWith(t, made(t, secrets, "nats-password"))
	in := prepare(t, "attempts: 2, timeout: 5s", append(slices.Clone(forProcesses), "nats="+nats.url())...)
	in.open()
	m, at := in.compose(nats, secrets), port(t)
	if out, err := m.starts("migrate", m.compose.Services["migrate"].Command).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	for _, name := range []string{"accession", "http"} {
		s := &service{in: in, cmd: m.starts(name, m.compose.Services[name].Command, "0.0.0.0:9480", at), log: &lockedBuffer{}}
		s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
		in.must(s.cmd.Start())
		t.Cleanup(func() {
			s.kill()
			if t.Failed() {
				t.Logf("log of %s:\n%s", name, s.log.tail(4000))
			}
		})
		s.works()
		// Its health check, in the same container.
		if out, err := m.starts(name, m.compose.Services[name].Healthcheck.Test[2:]).CombinedOutput(); err != nil {
			t.Errorf("the health check of %s: %v\n%s", name, err, out)
		}
	}
	// A user is made as the file says.
	user := func(args ...string) string {
		cmd := m.starts("migrate", args)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	user("user", "add", "ana")
	user("user", "grant", "ana", "depositor", "--all")
	key := user("key", "add", "ana")
	d := &door{in: in, url: "http://" + at}
	var sent drops.Shown
	d.send(key, "POST", "/v1/uploads?profile=test&name=letter.txt", io.MultiReader(strings.NewReader("a letter"))).into(d, &sent)
	waitFor(t, "the file to be transferred", func() bool {
		d.ask(key, "GET", "/v1/uploads/"+sent.ID, "").into(d, &sent)
		return sent.State == drops.Transferred
	})
	if v := in.rest(sent.Batch); v.Status != "completed" {
		t.Errorf("%+v", v.BatchSummary)
	}
	// All of them use the account of the file.
	if n := in.count("select count(*) from pg_stat_activity where datname = current_database() and usename like 'compose_%'"); n == 0 {
		t.Error(fmt.Sprint("no container uses the account of the secret ", made(t, secrets, "postgres-url")))
	}
}
