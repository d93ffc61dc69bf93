package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// What a caller is known by, API keys, tokens of sessions and passwords, is seen nowhere but
// in the one answer that makes it: not when it is right, wrong, of no use any more, or sent
// where it does not belong. Nor is it in an event, a node, a table, a file, a log, a metric, an
// answer or what a command writes.
// Shows: P14 P15
func TestCredentialsAreSeenNowhere(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "log_level=debug", "listen_ops=127.0.0.1:0", "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	in.editProfile("fetch:", takesArticles+"fetch:")
	ada, ana := in.keyOf("ada", "admin", "--all"), in.keyOf("ana", "depositor", "--collection", "test")
	in.says(0, words("user grant ana reader --all"))
	s := in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)
	d, payload := in.doorOf(s), goodServer(t)
	const first, password, wrong, misplaced = "a first canary of a password", "the canary of a password", "a canary that is wrong", "a canary in the wrong place"
	mistyped := ana[:len(ana)-4] + "zzzz"
	secrets := []string{ada, ana, first, password, wrong, misplaced, mistyped, mistyped[len("acc_12345678_"):], base64.StdEncoding.EncodeToString([]byte("ana:" + password)), base64.StdEncoding.EncodeToString([]byte("ana:" + wrong)), url.QueryEscape(password)}
	for _, key := range []string{ada, ana} {
		secrets = append(secrets, key[len("acc_12345678_"):])
	}
	var told []any // what may say nothing of them
	refused := func(status int, a answer) {
		t.Helper()
		if told = append(told, a.body, fmt.Sprint(a.header)); a.status != status {
			t.Errorf("%d %s, want %d", a.status, a.body, status)
		}
	}
	by := func(name, password string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(name, password)
		return "Authorization: " + r.Header.Get("Authorization")
	}

	for _, p := range []string{first, password} {
		refused(200, d.ask(ada, "POST", "/v1/users/ana/password", fmt.Sprintf(`{"password":%q,"reason":"x"}`, p), "Idempotency-Key: "+strings.ReplaceAll(p[:9], " ", "-")))
	}
	var ended, session people.Session
	d.ask("", "POST", "/v1/sessions", "", by("ana", password)).into(d, &ended)
	d.ask("", "POST", "/v1/sessions", "", by("ana", password)).into(d, &session)
	refused(200, d.ask(ended.Token, "POST", "/v1/sessions/end", ""))
	var made people.Key
	d.ask(ada, "POST", "/v1/keys", `{"user":"ana","label":"x"}`, "Idempotency-Key: k").into(d, &made)
	refused(409, d.ask(ada, "POST", "/v1/keys", `{"user":"ana","label":"x"}`, "Idempotency-Key: k")) // it is shown once
	refused(422, d.ask(ada, "POST", "/v1/keys", `{"user":"ana","label":"y"}`, "Idempotency-Key: k"))
	for range 2 {
		refused(200, d.ask(ada, "POST", "/v1/users", `{"name":"twice"}`, "Idempotency-Key: twice"))
	}
	refused(200, d.ask(ada, "POST", "/v1/keys/"+made.ID+"/revoke", ""))
	secrets = append(secrets, ended.Token, session.Token, session.Token[len("ses_"):], made.Secret)

	for _, token := range []string{mistyped, session.Token + "x", ended.Token, made.Secret, wrong} {
		refused(401, d.ask(token, "GET", "/v1/self", ""))
	}
	refused(401, d.ask("", "GET", "/v1/self", "", by("ana", wrong)))
	refused(401, d.ask("", "GET", "/v1/self", "", by("unknown", wrong)))
	refused(401, d.ask("", "GET", "/v1/self", "", by("bob", ana)))
	refused(200, d.ask(session.Token, "GET", "/v1/self", ""))

	// By forms: in fields, and in the URL.
	article := field{"fname", `<doc_batch xmlns="http://www.crossref.org/schema/5.3.1"/>`, "a.xml"}
	refused(200, d.post("", "/servlet/deposit", field{name: "login_id", value: "ana"}, field{name: "login_passwd", value: password}, article))
	refused(200, d.post("", "/servlet/deposit?login_id=ana&login_passwd="+ana, article))
	refused(401, d.post("", "/servlet/deposit", field{name: "usr", value: "ana"}, field{name: "pwd", value: mistyped}, article))
	refused(400, d.post("", "/servlet/deposit", field{name: "usr", value: "ana"}, field{name: "pwd", value: ana}, field{name: "pwd", value: misplaced}, article))
	refused(200, d.ask("", "GET", "/servlet/submissionDownload?file_name=a.xml&"+url.Values{"usr": {"ana"}, "pwd": {password}}.Encode(), "", "Authorization: "))
	refused(401, d.ask("", "GET", "/servlet/submissionDownload?file_name=a.xml&usr=ana&pwd="+mistyped, "", "Authorization: "))

	// Of a file that comes in pieces.
	for _, credential := range []string{"Authorization: Bearer " + session.Token, by("ana", password), by("ana", wrong), "Authorization: Bearer " + mistyped} {
		a := d.begins("", 4, tusMetadata("profile=test", "filename=pieces.txt"), credential)
		if told = append(told, a.body, fmt.Sprint(a.header)); a.status == http.StatusCreated {
			at := a.header.Get("Location")
			a = d.ask("", http.MethodDelete, at, "", credential, "Tus-Resumable: 1.0.0")
			told = append(told, a.body, fmt.Sprint(a.header))
		}
	}

	// Where they do not belong.
	for _, header := range []string{"Cookie: session=" + session.Token, "X-Api-Key: " + ada, "Authorization: " + ada, "Authorization: Digest " + misplaced, "Prefer: " + misplaced, "Referer: https://example.org/?key=" + ada, "User-Agent: " + ada} {
		a := d.ask("", "GET", "/v1/self", "", header)
		told = append(told, a.body, fmt.Sprint(a.header))
	}
	escaped := url.QueryEscape(misplaced)
	refused(400, d.ask(ada, "GET", "/v1/batches?api_key="+ada, ""))
	refused(400, d.ask(ada, "GET", "/v1/batches?limit="+escaped, ""))
	refused(400, d.ask(ada, "GET", "/v1/batches?password="+escaped+"%zz", ""))
	refused(404, d.ask(ada, "GET", "/v1/nothing/"+url.PathEscape(misplaced), ""))
	for _, body := range []string{`{"password":["` + misplaced + `"]}`, `{"passwort":"` + misplaced + `"}`, `{"password":"` + misplaced + `"`, `"` + misplaced + `"`, `{"password":{"a":"` + misplaced + `"}}`,
		`{"password":"` + misplaced + strings.Repeat("x", 256) + `"}`} {
		refused(400, d.ask(ada, "POST", "/v1/users/ana/password", body))
	}
	refused(400, d.ask(ada, "POST", "/v1/keys/"+ana+"/revoke", ""))
	refused(403, d.ask(ana, "POST", "/v1/users/ana/password", `{"password":"`+misplaced+`"}`))

	// A command line that has only HTTP.
	home := t.TempDir()
	accession := func(stdin, key string, args ...string) {
		var out bytes.Buffer
		cli.Main(in.ctx(), append([]string{"--server", d.url}, args...), cli.IO{In: strings.NewReader(stdin), Out: &out, Err: &out, Environ: []string{"HOME=" + home, "ACCESSION_API_KEY=" + key}})
		told = append(told, out.String())
	}
	for _, line := range []string{"user ls", "key ls", "audit ls -o json", "status", "batch ls", "config show", "user show ana -o json", "key revoke " + ana} {
		accession("", ada, words(line)...)
		accession("", mistyped, words(line)...)
	}
	accession(misplaced+"\n", ada, words("user password eve")...)
	accession(mistyped+"\n", "", "login")
	accession(session.Token+"\n", "", "login")
	if !strings.Contains(keptIn(t, home), session.Token) {
		t.Error("the command line keeps no session")
	}
	// A session by name and password, which logout ends.
	accession(wrong+"\n", "", "login", "--user", "ana")
	accession(password+"\n", "", "login", "--user", "ana", "-o", "json")
	begun := regexp.MustCompile(`ses_[a-z0-9]+`).FindString(keptIn(t, home))
	if a := d.ask(begun, "GET", "/v1/self", ""); begun == "" || begun == session.Token || a.status != 200 || !strings.Contains(a.body, `"ana"`) {
		t.Errorf("login --user has kept no session: %d %s", a.status, a.body)
	}
	secrets = append(secrets, begun)
	accession("", "", "logout")
	refused(401, d.ask(begun, "GET", "/v1/self", ""))
	if strings.Contains(keptIn(t, home), begun) {
		t.Error("logout keeps the session")
	}
	told = append(told, in.says(4, words("key revoke "+ana)), in.says(0, words("key revoke "+made.ID)))

	id := in.submit(app.Deposit{Payload: payload + "/batch.checkm", Type: domain.TypeBatchManifest})
	in.rest(id)
	waitFor(t, "the drop folder to be empty", func() bool { return len(in.kept()) == 0 })
	in.shown()
	places := in.places(s, []domain.BatchID{id})
	s.stop()
	if !strings.Contains(s.log.String(), "/servlet/submissionDownload") {
		t.Error("the log has no requests")
	}
	in.unseenAnywhere(secrets, s.log.String(), told, places, func(string, string, string) bool { return false })
}

// keptIn returns what the command line keeps of credentials.
func keptIn(t *testing.T, home string) string {
	t.Helper()
	kept, err := os.ReadFile(filepath.Join(home, ".config", "accession", "credentials.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(kept)
}
