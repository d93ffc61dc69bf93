package stack

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"
)

// root of the repository, from this package.
const root = "../../.."

type composeFile struct {
	Services map[string]struct {
		Image       string
		Restart     string
		Command     []string
		Ports       []string
		Environment map[string]string
		Volumes     []string
		Secrets     []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck *struct{ Test []string }
	}
	Configs map[string]struct{ Content string }
	Secrets map[string]struct{ File string }
	Volumes map[string]any
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// The containers are pinned, checked, kept from other machines, and joined to each
// other by names that exist.
func TestCompose(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for _, name := range []string{"zookeeper", "nats", "postgres", "accession", "http"} {
		if _, ok := c.Services[name]; !ok {
			t.Errorf("there is no service %s", name)
		}
	}
	for name, s := range c.Services {
		if _, tag, _ := strings.Cut(s.Image, ":"); tag == "" || tag == "latest" {
			t.Errorf("%s: image %q has no fixed version", name, s.Image)
		}
		if s.Restart != "no" && (s.Healthcheck == nil || len(s.Healthcheck.Test) < 2) {
			t.Errorf("%s: runs on without a health check", name)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to other machines", name, port)
			}
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if path, relative := strings.CutPrefix(from, "./"); relative {
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					t.Errorf("%s: mounts what the repository does not have: %v", name, err)
				}
			} else if !hasKey(c.Volumes, from) {
				t.Errorf("%s: volume %q is not declared", name, from)
			}
		}
		for other, need := range s.DependsOn {
			target, ok := c.Services[other]
			healthy := need.Condition == "service_healthy" && target.Healthcheck != nil
			done := need.Condition == "service_completed_successfully" && target.Restart == "no"
			if !ok || !healthy && !done {
				t.Errorf("%s: waits for %s in vain (%s)", name, other, need.Condition)
			}
		}
	}
	secrets := madeSecrets(t)
	for name, s := range c.Services {
		for _, secret := range s.Secrets {
			if file := c.Secrets[secret].File; filepath.Dir(file) != ".accession/secrets" || filepath.Base(file) != secret || secrets[secret] == "" {
				t.Errorf("%s: the secret %s is the file %q, which is not made", name, secret, file)
			}
		}
		for key, value := range s.Environment {
			made, isSecret := strings.CutPrefix(value, "/run/secrets/")
			if strings.Contains(strings.ToLower(key), "password") && !isSecret || isSecret && !slices.Contains(s.Secrets, made) {
				t.Errorf("%s: %s=%s", name, key, value)
			}
		}
	}
	env := c.Services["accession"].Environment
	for _, own := range (Addresses{}).Environ(ServicePrefix) {
		name := strings.TrimSuffix(own, "=")
		server := strings.ToLower(strings.TrimPrefix(name, string(ServicePrefix)))
		leads := env[name]
		if file := env[name+"_FILE"]; file != "" {
			leads = secrets[filepath.Base(file)]
		}
		if !regexp.MustCompile(`(^|[/@])` + server + `:\d+`).MatchString(leads) {
			t.Errorf("accession: %s=%q does not lead to the service %s", name, leads, server)
		}
	}
}

// The service for people and programs is published at the port where it answers, and shares its
// directories with the one that does the work.
func TestComposePublishesTheAPI(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	door, worker := c.Services["http"], c.Services["accession"]
	listens := regexp.MustCompile(`listen_http=0\.0\.0\.0:(\d+)`).FindStringSubmatch(strings.Join(door.Command, " "))
	if listens == nil {
		t.Fatalf("http does not say where it listens: %v", door.Command)
	}
	if want := "127.0.0.1:" + listens[1] + ":" + listens[1]; !slices.Contains(door.Ports, want) {
		t.Errorf("http is published at %v, want %s", door.Ports, want)
	}
	for _, volume := range []string{"accession-drop:", "accession-data:", "./deploy/profiles:"} {
		at := func(volumes []string) string {
			i := slices.IndexFunc(volumes, func(v string) bool { return strings.HasPrefix(v, volume) })
			if i < 0 {
				return ""
			}
			return volumes[i]
		}
		if in := at(worker.Volumes); in == "" || in != at(door.Volumes) {
			t.Errorf("%s is %q for accession and %q for http", volume, in, at(door.Volumes))
		}
	}
}

// madeSecrets returns what the script makes, by name. Run again, it changes nothing.
func madeSecrets(t *testing.T) map[string]string {
	t.Helper()
	dir, made := filepath.Join(t.TempDir(), "secrets"), map[string]string{}
	for range 2 {
		if out, err := exec.CommandContext(t.Context(), filepath.Join(root, "deploy/setup/secrets.sh"), dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 5 {
			t.Fatalf("%d secrets, %v", len(files), err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil || made[f.Name()] != "" && made[f.Name()] != string(text) {
				t.Errorf("%s was %q and is %q (%v)", f.Name(), made[f.Name()], text, err)
			}
			made[f.Name()] = string(text)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	if len(made["nats-password"]) < 48 || made["nats-password"] == made["postgres-password"] {
		t.Errorf("the passwords are %q", made)
	}
	return made
}

func hasKey[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// NATS reads its configuration in compose.yaml as the private stack sets it.
func TestComposeNATSConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nats.conf")
	secrets, text := madeSecrets(t), readCompose(t).Configs["nats"].Content
	for at, content := range map[string]string{file: strings.Replace(text, "../../run/secrets/", "", 1), filepath.Join(filepath.Dir(file), "nats-account"): secrets["nats-account"]} {
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := natsOptions(got.StoreDir, got.Port, got.ServerName, "")
	if !want.JetStream || !want.SyncAlways {
		t.Error("the private stack's NATS does not sync each message")
	}
	if u, err := url.Parse(strings.TrimSpace(secrets["nats-url"])); err != nil || got.Username == "" || got.Username != u.User.Username() || got.Password+"\n" != secrets["nats-password"] {
		t.Errorf("the account %s of the server is not that of the URL (%v)", got.Username, err)
	}
	if got.JetStream != want.JetStream || got.SyncAlways != want.SyncAlways || got.MaxPayload != want.MaxPayload {
		t.Errorf("JetStream %v, sync always %v, payload up to %d", got.JetStream, got.SyncAlways, got.MaxPayload)
	}
}

// The image is built from all directories with Go code, and does not run as root.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var copied []string
	for _, match := range regexp.MustCompile(`(?m)^COPY (\w+) \./(\w+)$`).FindAllStringSubmatch(string(data), -1) {
		if match[1] != match[2] {
			t.Errorf("%s is copied to %s", match[1], match[2])
		}
		copied = append(copied, match[1])
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && holdsGo(t, filepath.Join(root, e.Name())) && !slices.Contains(copied, e.Name()) {
			t.Errorf("%s holds Go code and is not copied", e.Name())
		}
	}
	for _, line := range []string{`(?m)^USER [1-9]`, `(?m)^HEALTHCHECK`, `CGO_ENABLED=0`} {
		if !regexp.MustCompile(line).Match(data) {
			t.Errorf("no line matches %s", line)
		}
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(data), -1) {
		if _, tag, _ := strings.Cut(from[1], ":"); from[1] != "scratch" && (tag == "" || tag == "latest") {
			t.Errorf("base image %s has no fixed version", from[1])
		}
	}
}

func holdsGo(t *testing.T, dir string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil // a temporary file
		case err != nil:
			return err
		case strings.HasSuffix(path, ".go"):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
