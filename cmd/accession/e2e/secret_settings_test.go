package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
	"github.com/accession-ingest/accession/internal/testkit/minter"
	"github.com/accession-ingest/accession/internal/testkit/openidserver"
	"github.com/accession-ingest/accession/internal/testkit/smtpserver"
	"github.com/accession-ingest/accession/internal/testkit/stepserver"
)

// secretSetting is a setting that may hold a secret.
type secretSetting struct {
	canaries []string // as they may be seen
	value    string   // with which the service works, "" = a test sets it
	wrong    []string // values that are refused
}

// TestSecretSettingsAreSeenNowhere: what a setting holds that may be a secret is sent to the server
// that it is for, and seen nowhere else: not in a log, an event, a metric, an error, a URL, a mail,
// a callback, an answer, the dump of the database or that of a process that is told to die; nor
// where a setting cannot be read. Every setting that the table of settings says to be secret has a
// canary here.
// Shows: P14 P15
func TestSecretSettingsAreSeenNowhere(t *testing.T) {
	t.Parallel()
	mailed, minted, recorded, signing, atNATS, atPostgres, inStore, known := rand.Text(), rand.Text(), rand.Text(), make([]byte, 32), rand.Text(), rand.Text(), rand.Text(), rand.Text()
	_, _ = rand.Read(signing)
	signs := base64.StdEncoding.EncodeToString(signing)
	ownNATS := newNATSWith(t, atNATS)
	in := prepare(t, "attempts: 3, timeout: 1h", append(slices.Clone(forProcesses), "log_level=debug", "listen_ops=127.0.0.1:0", "listen_http=127.0.0.1:0", "ops_pprof=true", "nats="+ownNATS.url(),
		"fetch_response_timeout=30m", "fetch_callback_timeout=1h", "fetch_connect_timeout=1m")...)
	in.set("postgres=" + in.account("canary_"+strings.ToLower(rand.Text()[:10]), atPostgres))
	mails := smtpserver.New(t, smtpserver.Options{TLS: "starttls", User: "accession", Password: mailed})
	names := minter.New(t, minter.Options{Shoulder: "ark:/99999/fk4", User: "apitest", Password: minted})
	recorder := stepserver.New(t, "archive", recorded)
	const publicURL = "https://deposit.example.org"
	provider := openidserver.New(t, openidserver.Options{Client: "accession", Secret: known, ReturnTo: publicURL + "/console/sign-in/openid/done"})
	objects := bucket.Serve(t, false, "sky")
	objects.Put("sky", "night/a.txt", []byte("a night"))
	var mu sync.Mutex
	var told []any // what may say nothing of the secrets
	receiver := webServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		in.should(err)
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(r.URL, r.Header), string(body))
	}))
	set := []string{"smtp_server=" + mails.Address(), "smtp_ca=" + mails.CA(), "smtp_user=accession", "smtp_retry_delay=10ms", "s3_endpoint=" + objects.URL, "s3_access_key=" + bucket.AccessKey,
		"public_url=" + publicURL, "openid_issuer=" + provider.Issuer(), "openid_client=accession"}

	encoded := func(texts ...string) (all []string) { // as headers and protocols have them
		for _, s := range texts {
			all = append(all, s, base64.RawStdEncoding.EncodeToString([]byte(s)))
		}
		return all
	}
	secrets := map[string]secretSetting{
		"nats":     {canaries: encoded(atNATS), wrong: []string{"nats//accession:" + atNATS + "@127.0.0.1", atNATS}},
		"postgres": {canaries: encoded(atPostgres), wrong: []string{"host=127.0.0.1 password=" + atPostgres, "postgres://me:" + atPostgres + "@%zz/"}},
		"store":    {canaries: encoded(inStore), wrong: []string{"s3://k:" + inStore + "@bucket?secret=" + inStore, "bucket " + inStore}},
		"smtp_password": {canaries: append(encoded(mailed), base64.StdEncoding.EncodeToString([]byte("\x00accession\x00"+mailed))),
			value: mailed},
		"minter_credentials": {canaries: append(encoded(minted), base64.RawStdEncoding.EncodeToString([]byte("apitest:"+minted))),
			value: "# of EZID\ntest:apitest:" + minted, wrong: []string{minted, "test " + minted, "test:apitest:" + minted + "\nTEST " + minted}},
		"service_credentials": {canaries: append(encoded(recorded), base64.RawStdEncoding.EncodeToString([]byte("archive:"+recorded))),
			value: "# of the archive\ntest:archive:" + recorded, wrong: []string{recorded, "test " + recorded, "test:archive:" + recorded + "\nTEST " + recorded}},
		"callback_secrets": {canaries: encoded(signs), value: "test: whsec_" + signs,
			wrong: []string{"whsec_" + signs, "test whsec_" + signs, "test: " + signs, "test: whsec_" + signs + "!", "test: whsec_" + signs + " whsec_" + signs[:8]}},
		"openid_secret": {canaries: append(encoded(known), base64.RawStdEncoding.EncodeToString([]byte("accession:"+known))), value: known},
		"s3_secret_key": {canaries: encoded(bucket.SecretKey), value: bucket.SecretKey},
	}
	file, dir := filepath.Join(t.TempDir(), "accession.yaml"), t.TempDir()
	environ := []string{"ACCESSION_CONFIG=" + file, "HOME=" + dir}
	var canaries, keys []string
	resolved, err := config.Load(config.Sources{})
	in.must(err)
	for _, row := range resolved.Rows() {
		s, has := secrets[row.Key.Name]
		if row.Secret != has {
			t.Errorf("%s is a secret: %v; it has a canary here: %v", row.Key.Name, row.Secret, has)
		}
		if !has {
			continue
		}
		keys, canaries = append(keys, row.Key.Name), append(canaries, s.canaries...)
		value := s.value
		if value == "" {
			value = in.settings[row.Key.Name]
		}
		if value == "" {
			continue // it is not set
		}
		set = append(set, row.Key.Name+"="+value)
		at := filepath.Join(dir, row.Key.Name)
		in.must(os.WriteFile(at, []byte(value+"\n"), 0o600))
		environ = append(environ, "ACCESSION_"+strings.ToUpper(row.Key.Name)+"_FILE="+at)
	}
	in.set(set...)
	public := maps.Clone(in.settings)
	for _, key := range keys {
		delete(public, key)
	}
	text, err := yaml.Marshal(public)
	in.must(err)
	in.must(os.WriteFile(file, text, 0o600))
	in.tell("queued, report")
	in.editProfile(local, identifiers(names, false))
	in.editProfile("allow: [127.0.0.1/32]", "allow: [127.0.0.1/32, 's3://sky/night/']")
	in.editProfile("fetch:", "callback: {url: "+receiver+"/done}\nrecording: "+recorder.URL+"\nfetch:")
	in.open()
	ada := in.keyOf("ada", "admin", "--all")

	// run runs command lines, keeps what they say, and counts those that succeed.
	run := func(environ []string, lines ...string) (succeeded int) {
		t.Helper()
		for _, line := range lines {
			var out bytes.Buffer
			if cli.Main(in.ctx(), words(line), cli.IO{In: strings.NewReader(""), Out: &out, Err: &out, Environ: environ}) == 0 {
				succeeded++
			}
			mu.Lock()
			told = append(told, out.String())
			mu.Unlock()
		}
		return succeeded
	}
	lines := []string{"config print", "config print -o json", "config check -o json", "status -o json", "batch ls", "verify --wait 1m", "events tail -o json"}

	program, err := released()
	in.must(err)
	s := &service{in: in, cmd: exec.Command(program, "serve", "--roles", "all,http"), log: &lockedBuffer{}} //nolint:noctx // the test ends it
	s.cmd.Env = append(os.Environ(), environ...)
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.SysProcAttr = s.log, s.log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in.must(s.cmd.Start())
	t.Cleanup(s.kill)
	s.works()
	s.tells("people and programs are answered")

	// A deposit that needs all of them, and then those that their servers refuse.
	deposit := func(payload string, want domain.BatchState) domain.BatchID {
		t.Helper()
		id := in.submit(app.Deposit{Payload: payload, Type: domain.TypeFile})
		if v := in.rest(id); v.Status != string(want) {
			t.Errorf("%s ended %s: %+v", payload, v.Status, v.Jobs)
		}
		return id
	}
	batches := []domain.BatchID{deposit("s3://sky/night/a.txt", domain.BatchCompleted)}
	mails.Await("its mails", func(mails []smtpserver.Mail, _ int) bool { return len(mails) >= 2 })
	if _, made := names.Records(); made != 1 {
		t.Errorf("%d identifiers were made known", made)
	}
	if n := len(recorder.Works()); n != 1 {
		t.Errorf("%d versions were recorded", n)
	}
	recorder.Fail(stepserver.Fault{Status: 401, Body: "who is archive:" + recorded + "?"})
	batches = append(batches, deposit("s3://sky/night/a.txt", domain.BatchFailed))
	names.Fail(minter.Fault{Status: 401, Body: "error: unauthorized"})
	batches = append(batches, deposit("s3://sky/night/a.txt", domain.BatchFailed), deposit("s3://sky/night/none.txt", domain.BatchFailed), deposit("s3://closed/a.txt", domain.BatchFailed))
	for _, m := range mails.Mails() {
		told = append(told, string(m.Data))
	}
	if n := run(environ, lines...); n < len(lines) {
		t.Errorf("%d of %d commands succeeded: %s", n, len(lines), told)
	}
	d := in.doorOf(s)
	for _, path := range []string{"/readyz?verbose", "/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		_, page := s.asked(path)
		told = append(told, strings.ReplaceAll(page, "\x00", " "))
	}
	// A sign-in by OpenID Connect, and those at which the provider repeats the secret.
	in.says(0, []string{"user", "set", "ada", "--openid-issuer", provider.Issuer(), "--openid-subject", "person-1"})
	repeats := func(status int, text string) openidserver.Fault {
		return openidserver.Fault{Answer: map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}}}
	}
	for _, c := range []struct {
		person string
		fault  openidserver.Fault
		status int
	}{
		{"person-1", openidserver.Fault{}, http.StatusSeeOther},
		{"person-2", openidserver.Fault{}, http.StatusUnauthorized},
		{"person-1", openidserver.Fault{Claims: func(claims map[string]any) { claims["iss"] = "https://" + known }}, http.StatusUnauthorized},
		{"person-1", repeats(http.StatusBadRequest, `{"error":"`+known+`","error_description":"`+known+`"}`), http.StatusServiceUnavailable},
		{"person-1", repeats(http.StatusInternalServerError, known), http.StatusServiceUnavailable},
		{"person-1", repeats(http.StatusOK, `{"access_token":"`+known+`"}`), http.StatusServiceUnavailable},
	} {
		provider.Person(c.person)
		provider.Fail(c.fault)
		status, said := d.signsIn(publicURL)
		if told = append(told, said...); status != c.status {
			t.Errorf("signing in by OpenID Connect: %d, want %d: %s", status, c.status, said)
		}
	}
	for _, path := range []string{"/v1/config", "/v1/status", "/v1/servers", "/v1/mails", "/v1/deliveries"} {
		a := d.ask(ada, "GET", path, "")
		told = append(told, a.body, fmt.Sprint(a.header))
	}

	// What cannot be read: in a file, in the environment and as a flag; alone, and beside a key that
	// there is not.
	for key, s := range secrets {
		for _, wrong := range s.wrong {
			if n := run([]string{"ACCESSION_CONFIG=" + file, "HOME=" + dir, "ACCESSION_" + strings.ToUpper(key) + "=" + wrong}, "config check"); n != 0 && key != "store" {
				t.Errorf("%s is taken", key)
			}
			var out bytes.Buffer
			cli.Main(in.ctx(), []string{"--set", key + "=" + wrong, "config", "check"}, cli.IO{In: strings.NewReader(""), Out: &out, Err: &out, Environ: environ})
			told = append(told, out.String())
		}
		broken := filepath.Join(dir, "broken.yaml")
		for _, text := range []string{key + ": [" + s.canaries[0], key + ": {a: " + s.canaries[0] + "}", key + "s: " + s.canaries[0], "\t" + key + ": " + s.canaries[0]} {
			in.must(os.WriteFile(broken, []byte(text), 0o600))
			run([]string{"ACCESSION_CONFIG=" + broken, "HOME=" + dir}, "config check", "config print")
		}
	}

	places := in.places(s, batches)
	in.must(s.cmd.Process.Signal(syscall.SIGQUIT)) // dumps all goroutines
	_ = s.cmd.Wait()
	if !strings.Contains(s.log.String(), "goroutine ") {
		t.Error("the process left no dump")
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.ContainsFunc(told, func(a any) bool { return strings.Contains(fmt.Sprint(a), "Webhook-Signature") }) {
		t.Error("no callback came, or none was signed")
	}
	in.unseenAnywhere(canaries, s.log.String(), told, append(places, in.pgDump()), func(string, string, string) bool { return false })
}
