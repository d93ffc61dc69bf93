package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/repocheck"
)

var peopleAt = regexp.MustCompile(`people and programs are answered"[^\n]*?address(?:=|":")([0-9.:]+)`)

// doorOf returns the API that a service in this process serves.
func (in *installation) doorOf(s *service) *door {
	in.t.Helper()
	at := peopleAt.FindStringSubmatch(s.log.String())
	if at == nil {
		in.t.Fatalf("the service does not say where it answers: %s", s.log.tail(2000))
	}
	return &door{in: in, url: "http://" + at[1]}
}

// keyOf adds a user with a right, and returns a key of it.
func (in *installation) keyOf(user string, right ...string) string {
	in.t.Helper()
	in.says(0, []string{"user", "add", user})
	in.says(0, append([]string{"user", "grant", user}, right...))
	return strings.TrimSpace(in.says(0, []string{"key", "add", user}))
}

// TestFrontDoor: a deposit's whole life over HTTP, with keys, by two users of different
// rights, in the real service.
// Shows: P1
func TestFrontDoor(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms", "waiting_limit=3")
	ana, olga := in.keyOf("ana", "depositor", "--collection", "test"), in.keyOf("olga", "operator", "--all")
	s := in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)
	d, good := in.doorOf(s), goodServer(t)
	var who struct{ Name string }
	if d.ask(ana, "GET", "/v1/self", "").into(d, &who); who.Name != "ana" {
		t.Errorf("%+v", who)
	}

	// A deposit by URL, twice under one key, and another under it.
	deposit := fmt.Sprintf(`{"profile":"test","url":"%s/batch.checkm","type":%q,"title":"Good"}`, good, domain.TypeBatchManifest)
	var first, again app.Submitted
	a := d.ask(ana, "POST", "/v1/submissions", deposit, "Idempotency-Key: one", "Prefer: wait=20").into(d, &first)
	if a.status != http.StatusAccepted || a.header.Get("Location") != "/v1/batches/"+string(first.Batch) || a.header.Get("Preference-Applied") != "wait=20" || a.header.Get("ETag") != `"1"` {
		t.Errorf("%d %v", a.status, a.header)
	}
	if d.ask(ana, "POST", "/v1/submissions", deposit, "Idempotency-Key: one").into(d, &again); again.Batch != first.Batch || !again.Again {
		t.Errorf("%+v, then %+v", first, again)
	}
	d.ask(ana, "POST", "/v1/submissions", strings.Replace(deposit, "Good", "Bad", 1), "Idempotency-Key: one").is(d, 422, app.KeyReused)
	in.rest(first.Batch)
	in.says(0, words("queue defaults metadata --synchronous 0 --reason busy"))
	full := d.ask(ana, "POST", "/v1/submissions", strings.Replace(deposit, "{", `{"synchronous":true,`, 1))
	if full.is(d, http.StatusTooManyRequests, app.Full); full.header.Get("Retry-After") == "" {
		t.Errorf("%v", full.header)
	}
	var shown app.BatchView
	if d.ask(ana, "GET", "/v1/batches/"+string(first.Batch), "").into(d, &shown); shown.Status != "completed" || shown.Submitter != "ana" {
		t.Errorf("%+v", shown.BatchSummary)
	}
	d.sendsReportOnce(olga, first.Batch)
	if a := d.ask(ana, "GET", "/v1/batches/"+string(first.Batch)+"?at=1", "").into(d, &shown); shown.Status != "pending" || shown.At == nil || a.header.Get("ETag") != "" {
		t.Errorf("as of its first event: %+v", shown.BatchSummary)
	}

	// A file, with its digest; the same again under its key; and one that arrives damaged.
	uploadTo := func(path, content, query string, headers ...string) answer {
		t.Helper()
		return d.send(ana, "POST", path+"?profile=test&name=letter.txt"+query, io.MultiReader(strings.NewReader(content)), headers...)
	}
	upload := func(content, query string, headers ...string) answer {
		t.Helper()
		return uploadTo("/v1/uploads", content, query, headers...)
	}
	sum := sha256.Sum256([]byte("a letter\n"))
	digest := "Repr-Digest: sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	var sent, resent drops.Shown
	if a := upload("a letter\n", "&title=Letter", digest, "Idempotency-Key: two").into(d, &sent); a.status != http.StatusAccepted || a.header.Get("Location") != "/v1/uploads/"+sent.ID || sent.SHA256 != fmt.Sprintf("%x", sum) {
		t.Errorf("%d %v %+v", a.status, a.header, sent)
	}
	if upload("a letter\n", "&title=Letter", digest, "Idempotency-Key: two").into(d, &resent); resent.ID != sent.ID {
		t.Errorf("%s, then %s", sent.ID, resent.ID)
	}
	upload("another\n", "&title=Other", "Idempotency-Key: two").is(d, 422, app.KeyReused)
	for _, path := range []string{"/v1/uploads", "/v1/uploads/synchronous"} {
		uploadTo(path, "a lettre\n", "", digest).is(d, 400, app.Invalid)
		uploadTo(path, "a letter\n", "", "Repr-Digest: md5=:AA==:").is(d, 400, app.Invalid)
		uploadTo(path, "a letter\n", "&submitter=olga").is(d, 403, app.Forbidden)
		d.ask(ana, "POST", path+"?profile=test&name=..%2Fletter.txt", "x").is(d, 400, app.Invalid)
	}
	waitFor(t, "the file to be transferred", func() bool {
		d.ask(ana, "GET", "/v1/uploads/"+sent.ID, "").into(d, &resent)
		return resent.State == drops.Transferred
	})
	if v := in.rest(resent.Batch); v.Status != "completed" || v.Submitter != "ana" || v.Jobs[0].ErcWhat != "Letter" {
		t.Errorf("%+v", v.BatchSummary)
	}
	d.ask(in.keyOf("eve", "depositor", "--all"), "GET", "/v1/uploads/"+sent.ID, "").is(d, 404, app.NotFound)

	// An operator changes the version that she has seen, once.
	in.says(0, []string{"queue", "pause", "pending", "--reason", "to look"})
	var stays app.Submitted
	d.ask(ana, "POST", "/v1/submissions", deposit).into(d, &stays)
	var job string
	waitFor(t, "its job", func() bool {
		list := idsIn(d.ask(ana, "GET", "/v1/jobs?batch="+string(stays.Batch), "").body)
		if len(list) == 1 {
			job = "/v1/jobs/" + list[0]
		}
		return len(list) == 1
	})
	etag := d.ask(olga, "GET", job, "").into(d, new(any)).header.Get("ETag")
	d.ask(ana, "POST", job+"/hold", `{"reason":"mine"}`).is(d, 403, app.Forbidden)
	hold := func(etag, key string) answer {
		return d.ask(olga, "POST", job+"/hold", `{"reason":"to look"}`, "If-Match: "+etag, "Idempotency-Key: "+key)
	}
	hold(`"77"`, "three").is(d, 412, app.Outdated)
	hold(`seven`, "three").is(d, 400, app.Invalid)
	var changed [2]app.Changed
	for i := range changed { // the second one is the same command
		hold(etag, "three").into(d, &changed[i])
	}
	if changed[0].Version != changed[1].Version || changed[1].State != "held" {
		t.Errorf("%+v", changed)
	}
	hold(etag, "four").is(d, 412, app.Outdated)
	d.ask(olga, "POST", job+"/release", "", "Prefer: wait=20").into(d, new(any))
	in.says(0, []string{"queue", "resume", "pending"})
	in.rest(stays.Batch)

	// Three may wait of one user.
	in.says(0, []string{"queue", "pause", "ingest", "--reason", "to look"})
	var waiting [3]app.Submitted
	for n := range waiting {
		d.ask(ana, "POST", "/v1/submissions", deposit, fmt.Sprint("Idempotency-Key: waiting ", n)).into(d, &waiting[n])
	}
	if a := d.ask(ana, "POST", "/v1/submissions", deposit).is(d, 429, app.Full); a.header.Get("Retry-After") == "" || !strings.Contains(a.Detail, "3 of your deposits wait, and at most 3 may") {
		t.Errorf("%v %s", a.header, a.Detail)
	}
	upload("a letter\n", "").is(d, 429, app.Full)
	if d.ask(ana, "POST", "/v1/submissions", deposit, "Idempotency-Key: waiting 0").into(d, &again); again.Batch != waiting[0].Batch {
		t.Errorf("%s, then %s when there is no more room", waiting[0].Batch, again.Batch)
	}
	if upload("a letter\n", "&title=Letter", digest, "Idempotency-Key: two").into(d, &resent); resent.ID != sent.ID {
		t.Errorf("%s, then %s when there is no more room", sent.ID, resent.ID)
	}
	in.says(0, []string{"queue", "resume", "ingest"})
	for _, w := range waiting {
		in.rest(w.Batch)
	}
	upload("a letter\n", "").into(d, &sent)
	d.audits(ana)
	in.keepsSecret(s, ana, olga)
}

// sendsReportOnce sends the report of a batch again, twice under one key, and under another one
// about a version that is not there: it is one mail.
func (d *door) sendsReportOnce(key string, id domain.BatchID) {
	d.in.t.Helper()
	path := "/v1/batches/" + string(id)
	again := func(etag, key2 string) answer {
		return d.ask(key, "POST", path+"/send-report", `{"reason":"lost"}`, "If-Match: "+etag, "Idempotency-Key: "+key2)
	}
	etag := d.ask(key, "GET", path, "").into(d, new(any)).header.Get("ETag")
	var sent [2]app.Changed
	for i := range sent {
		again(etag, "mail").into(d, &sent[i])
	}
	again(etag, "another mail").is(d, 412, app.Outdated)
	mails, err := filepath.Glob(filepath.Join(d.in.dir, "mail", string(id)+"_2fagain_2f*"))
	if err != nil || len(mails) != 1 || sent[0].Version != sent[1].Version {
		d.in.t.Errorf("%q, %v; %+v", mails, err, sent)
	}
}

// keepsSecret checks that no key is in the service's log, in an event, or in a table.
func (in *installation) keepsSecret(s *service, keys ...string) {
	in.t.Helper()
	tables, err := in.db.Query(in.ctx(), `select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname in ('record', 'accession') and c.relkind in ('r', 'p')`)
	in.must(err)
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	in.must(err)
	for _, key := range keys {
		secret := strings.Split(key, "_")[2]
		if strings.Contains(s.log.String(), secret) {
			in.t.Error("the log has a key")
		}
		for _, name := range names {
			if n := in.count(`select count(*) from `+name+` x where x::text like '%' || $1 || '%'`, secret); n > 0 {
				in.t.Errorf("%s has a key", name)
			}
		}
	}
	if len(names) < 20 {
		in.t.Errorf("only %d tables: %v", len(names), names)
	}
}

// audits checks that the audit has what was requested, and by whom, and none of the key.
func (d *door) audits(key string) {
	d.in.t.Helper()
	text := d.in.says(0, []string{"audit", "ls", "--limit", "100", "-o", "json"}, `"action": "submission.create"`, `"action": "user.grant"`, `"outcome": "refused"`, `"detail": "forbidden"`,
		`"action": "job.hold"`, `"caller": "olga"`, `"via": "machine"`)
	if secret := strings.Split(key, "_")[2]; strings.Contains(text, secret) {
		d.in.t.Error("the audit has a key")
	}
}

// TestSessionsOverHTTP: a name and password begin a session, which ends when it is ended.
// Attempts are limited by the address that a proxy in front says; and with TLS a certificate is
// exchanged while the service runs.
func TestSessionsOverHTTP(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "http_proxies=127.0.0.0/8")
	key := in.keyOf("ana", "reader", "--all")
	in.withPassword("ana", "correct horse battery")
	service := in.serveInProcess(run.RoleHTTP)
	d := in.doorOf(service)
	basic := func(password string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ana:"+password))
	}
	d.ask(key, "POST", "/v1/sessions", "").is(d, 409, app.Refused)
	d.ask("", "POST", "/v1/sessions", "", basic("wrong")).is(d, 401, app.Unauthenticated)
	var s people.Session
	d.ask("", "POST", "/v1/sessions", "", basic("correct horse battery")).into(d, &s)
	d.ask(s.Token, "GET", "/v1/batches", "").into(d, new(any))
	d.ask(s.Token, "POST", "/v1/sessions/end", "").into(d, new(any))
	d.ask(s.Token, "GET", "/v1/batches", "").is(d, 401, app.Unauthenticated)

	signIn := func(address, name, password string) answer {
		return d.ask("", "POST", "/v1/sessions", "", "X-Forwarded-For: "+address, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
	}
	for i := range 10 {
		signIn("203.0.113.5", fmt.Sprint("unknown", i), "wrong").is(d, 401, app.Unauthenticated)
	}
	if a := signIn("203.0.113.5", "ana", "correct horse battery").is(d, 429, app.Full); a.header.Get("Retry-After") == "" || !strings.HasPrefix(a.header.Get("RateLimit-Policy"), `"sign-in"`) {
		t.Errorf("%v", a.header)
	}
	signIn("203.0.113.6", "ana", "correct horse battery").into(d, &s)
	service.stop()

	files := [2]string{filepath.Join(t.TempDir(), "certificate.pem"), filepath.Join(t.TempDir(), "key.pem")}
	writeCertificate(t, files, 1)
	in.set("http_certificate="+files[0], "http_key="+files[1])
	d = in.doorOf(in.serveInProcess(run.RoleHTTP))
	serial := func() int64 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(d.url, "http://"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // it is that of the test
		in.must(err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("the certificate is number %d", n)
	}
	writeCertificate(t, files, 2)
	waitFor(t, "the other certificate", func() bool { return serial() == 2 })
}

// writeCertificate writes a certificate with its key.
func writeCertificate(t *testing.T, files [2]string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: cert}, {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(files[i], pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// port returns an address where nothing listens.
func port(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// uploads: a process dies while it keeps which file an idempotency key stands for. The same
// request is accepted afterwards, once.
func uploads(o *crashInstallation, point string) {
	o.n++
	user, at := "u"+o.number(), port(o.t)
	key := o.keyOf(user, "depositor", "--all")
	d := &door{in: o.installation, url: "http://" + at}
	name, path := "uploaded-"+o.number()+".txt", "/v1/uploads"
	if strings.HasPrefix(point, "drop/spool/") {
		path += "/synchronous"
	}
	request := func() (status int, err error) {
		r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, d.url+path+"?profile=test&name="+name, strings.NewReader("a file"))
		o.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Idempotency-Key", "the key")
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err == nil {
			status = res.StatusCode
			err = res.Body.Close()
		}
		return status, err
	}
	o.dies(point, func(_ *os.Process, dead <-chan struct{}) {
		for {
			select {
			case <-dead:
				return
			case <-time.After(20 * time.Millisecond):
				_, _ = request()
			}
		}
	}, "serve", "--roles", "http", "--set", "listen_http="+at)
	s := o.serve("--roles", "http", "--set", "listen_http="+at)
	for range 2 {
		waitFor(o.t, "the file to be accepted", func() bool {
			status, err := request()
			return err == nil && status == http.StatusAccepted
		})
	}
	s.stop()
	o.emptied()
	if n := o.count(`select count(*) from accession.batch where file_name = $1`, name); n != 1 {
		o.t.Errorf("%d batches of one file, after a death at %s", n, point)
	}
}

// TestUploadKilledAtEachStep: a process dies at each step of taking a file over HTTP under an
// idempotency key. The same request is accepted afterwards, and makes one batch.
// Shows: P1
func TestUploadKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, func(*crashInstallation) {})
	points, err := repocheck.Points(os.DirFS("../../.."))
	o.must(err)
	var way []string
	for _, p := range points {
		if strings.HasPrefix(p.Name, "drop/accept/") && !strings.HasPrefix(p.Name, "drop/accept/undo/") || strings.HasPrefix(p.Name, "drop/spool/") || strings.HasPrefix(p.Name, "record/upload/") || strings.HasPrefix(p.Name, "drop/directory/sync/") {
			way = append(way, p.Name)
		}
	}
	if len(way) < 10 {
		t.Errorf("only %d points", len(way))
	}
	for _, point := range thirdOf(t, way) {
		uploads(o, point)
	}
	o.sound()
}

// TestUploadsAtOnce: requests under one key at the same moment accept one file, and begin one
// upload.
// Shows: P1
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=1h")
	d := in.door()
	var all sync.WaitGroup
	ids := make(chan string, 16)
	for range cap(ids) {
		all.Go(func() {
			a := d.send("ana depositor/test", "POST", "/v1/uploads?profile=test&name=a.txt", io.MultiReader(strings.NewReader("one file")), "Idempotency-Key: k")
			ids <- a.header.Get("Location") + a.Detail
		})
	}
	all.Wait()
	first := <-ids
	for range cap(ids) - 1 {
		if id := <-ids; id != first {
			t.Errorf("%s and %s", first, id)
		}
	}
	// Those of an empty file, which is whole as soon as it is begun, are all answered with the
	// same upload.
	empty := make(chan answer, 16)
	for range cap(empty) {
		all.Go(func() {
			empty <- d.begins("ana depositor/test", 0, tusMetadata("profile=test", "filename=empty.txt"), "Idempotency-Key: empty")
		})
	}
	all.Wait()
	at := (<-empty).header.Get("Location")
	for range cap(empty) - 1 {
		if a := <-empty; a.status != 201 || a.header.Get("Location") != at || at == "" {
			t.Errorf("%d %v %s, want %s", a.status, a.header, a.body, at)
		}
	}
	kept, err := os.ReadDir(filepath.Join(in.cfg.DropDir, "user-ana"))
	if err != nil || len(kept) != 2 || !strings.HasPrefix(first, "/v1/uploads/") {
		t.Errorf("%s: %v (%v)", first, kept, err)
	}
	if left, err := os.ReadDir(filepath.Join(in.cfg.DropDir, "aside")); err != nil || len(left) != 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// records opens the records.
func (in *installation) records() *record.Records {
	in.t.Helper()
	r, err := in.app.Open.Records(in.ctx())
	in.must(err)
	return r
}
