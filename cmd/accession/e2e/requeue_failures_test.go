package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/compute"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	names "github.com/accession-ingest/accession/cmd/internal/mint/service"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/internal/testkit/minter"
)

// failing is a deposit that fails, until its cause is mended.
type failing struct {
	name    string // of its profile, its collection and its directory on the depositor's server
	lines   string // of the profile, further ones; SERVER = the depositor's server
	deposit app.Deposit
	row     string // of the requeue
	code    domain.Code
	class   domain.Class

	state  domain.JobState        // in which it is when it is made to fail, "" = it fails by itself
	damage func(job string)       // then
	mend   func(profile string)   // besides what the server does
	edit   [2]string              // what its profile says, and what it says instead until it is mended
	again  map[string]int         // requests to the depositor's server after the requeue, METHOD FILE
	had    map[string]os.FileInfo // what was stored when it failed
	asked  map[string]int         // until then
	batch  domain.BatchID
	job    string
}

// wilful is a depositor's server with a directory for each failing deposit: a.txt is always good,
// bad.txt is not before the deposit is mended.
type wilful struct {
	*httptest.Server
	t      testing.TB
	mu     sync.Mutex
	mended bool
	asked  map[string]int // requests, METHOD DIRECTORY/FILE
	told   map[string]int // callbacks that were taken, by DIRECTORY and key

	bad  map[string]http.HandlerFunc // by DIRECTORY, how its box.zip is answered before it is mended
	good map[string][]byte           // by DIRECTORY, its box.zip
}

func newWilful(t testing.TB) *wilful {
	s := &wilful{t: t, asked: map[string]int{}, told: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// requests returns those for the files of a directory.
func (s *wilful) requests(dir string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]int{}
	for what, n := range s.asked {
		method, path, _ := strings.Cut(what, " ")
		if name, is := strings.CutPrefix(path, dir+"/"); is {
			all[method+" "+name] = n
		}
	}
	return all
}

func (s *wilful) isMended(dir, method, file, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[method+" "+dir+"/"+file]++
	if s.mended && method == http.MethodPost {
		s.told[dir+" "+key]++
	}
	return s.mended
}

func (s *wilful) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mended = true
}

// ServeHTTP implements http.Handler.
func (s *wilful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that the client has gone
	dir, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	mended := s.isMended(dir, r.Method, file, r.Header.Get("Idempotency-Key"))
	a, bad := []byte("a of "+dir+"\n"), []byte("bad of "+dir+"\n")
	here := "http://" + r.Host + "/" + dir
	switch {
	case file == "box.zip" && s.bad[dir] != nil && !mended:
		s.bad[dir](w, r)
	case file == "box.zip" && s.good[dir] != nil:
		_, _ = w.Write(s.good[dir])
	case dir == "astray" && !mended:
		http.Redirect(w, r, "gopher://files.test/", http.StatusFound)
	case file == "object.checkm" && (mended || dir != "manifest"):
		sum := " | | | |"
		switch dir {
		case "digest":
			sum = fmt.Sprintf(" | sha256 | %x | |", sha256.Sum256(bad))
		case "size":
			sum = fmt.Sprintf(" | | | %d |", len(bad))
		}
		_, _ = w.Write(checkm("mrt-ingest-manifest", "", here+"/a.txt | | | | | a.txt", here+"/bad.txt"+sum+" | bad.txt"))
	case file == "callback" && mended, file == "a.txt":
		_, _ = w.Write(a)
	case file == "box.zip":
		name := "../bad.txt"
		if mended {
			name = "bad.txt"
		}
		_, _ = w.Write(zipOf(s.t, map[string]string{name: string(bad)}))
	case file == "bad.txt" && mended:
		_, _ = w.Write(bad)
	case dir == "never": // it announces more than there is space for
		w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<59))
	case dir == "crawls" && r.Method == http.MethodGet:
		_, _ = w.Write(bad[:1])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case dir == "digest", dir == "size":
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		_, _ = w.Write(bad[1:])
	case dir == "hangs" && r.Method == http.MethodGet, dir == "silent":
		<-r.Context().Done()
	case file == "callback":
		http.Error(w, "no more", http.StatusGone)
	default:
		http.NotFound(w, r)
	}
}

// TestRequeueAfterEachFailure: jobs fail in each state that a job can fail in, by each kind of
// cause: an operator, a depositor's file or manifest, too little space, a minter, an identifier, a
// step of the profile, the object store, the inventory, a receiver. When the cause is mended and the job is requeued
// it completes, the second report says so, and what was done before is not done again: no file
// is fetched twice, no identifier is made twice, and no version that was stored is written again.
// Shows: P5 P6
func TestRequeueAfterEachFailure(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "fetch_response_timeout=3s", "fetch_callback_timeout=1s", "minter_credentials=refused:apitest:s3cret\nunknown:apitest:s3cret\ndamaged:apitest:s3cret\ntold:apitest:s3cret"+accounts)
	server := newWilful(t)
	refusing, minting := minter.New(t, minter.Options{Shoulder: "ark:/99999/fk4", User: "apitest", Password: "s3cret"}), minter.New(t, minter.Options{Shoulder: "ark:/99999/fk4", User: "apitest", Password: "s3cret"})
	refusing.Fail(minter.Fault{Status: http.StatusUnauthorized, Body: "error: unauthorized - authentication failure"})
	dataCite := minter.New(t, minter.Options{DataCite: true, Shoulder: "10.5072/fk4", User: "apitest", Password: "s3cret"})
	dataCite.Fail(minter.Fault{Status: http.StatusUnauthorized, Body: `{"errors":[{"status":"401","title":"Bad credentials."}]}`})
	down := newRevivable(t)
	object := app.Deposit{Payload: "object.checkm", Type: domain.TypeObjectManifest}
	bad := map[string]int{"GET bad.txt": 1}
	const primary = "ark:/99999/fk4own"
	place := filepath.Join(in.dir, "store", store.VersionPrefix(primary+"s", 1), "producer", "a.txt")
	taken := []string{place, place + "~" + sha256Text("a of stored\n")[:32]} // where the file goes, and where it goes if that is taken
	var all []*failing
	for _, s := range []struct {
		state domain.JobState
		row   string
		again map[string]int
	}{
		{domain.JobPending, "J25", map[string]int{"HEAD a.txt": 1, "GET a.txt": 1}}, {domain.JobEstimating, "J25", map[string]int{"HEAD a.txt": 1, "GET a.txt": 1}},
		{domain.JobProvisioning, "J25", map[string]int{"HEAD a.txt": 1, "GET a.txt": 1}}, {domain.JobDownloading, "J16", map[string]int{"GET a.txt": 1}},
		{domain.JobProcessing, "J17", nil}, {domain.JobRecording, "J18", nil}, {domain.JobNotify, "J19", nil},
	} {
		all = append(all, &failing{name: "in-" + string(s.state), state: s.state, row: s.row, again: s.again, code: domain.CodeCancelled, class: domain.ClassCancelled,
			damage: func(job string) { in.says(0, words("job fail "+job+" --reason stop")) }})
	}
	var whole []byte // the storage manifest of the object whose primary identifier is damaged
	var damaged string
	all = append(all,
		&failing{name: "never", lines: "limits: {max_file_bytes: 1000000 TiB}", deposit: app.Deposit{Payload: "bad.txt"}, row: "J25", code: domain.CodeSpaceNever, class: domain.ClassContent,
			again: map[string]int{"HEAD bad.txt": 1, "GET bad.txt": 1}},
		&failing{name: "missing", deposit: object, row: "J16", code: fetch.CodeHTTPStatus, class: domain.ClassContent, again: bad},
		&failing{name: "digest", deposit: object, row: "J16", code: domain.CodeDigestMismatch, class: domain.ClassContent, again: bad},
		&failing{name: "size", deposit: object, row: "J16", code: reason.CodeSizeMismatch, class: domain.ClassContent, again: bad},
		&failing{name: "hangs", deposit: object, row: "J16", code: fetch.CodeTimeout, class: domain.ClassTimeout, again: bad},
		&failing{name: "manifest", deposit: object, row: "J16", code: fetch.CodeHTTPStatus, class: domain.ClassContent,
			again: map[string]int{"GET object.checkm": 1, "GET a.txt": 1, "GET bad.txt": 1}},
		&failing{name: "down", deposit: app.Deposit{Payload: down.url + "/a.txt"}, row: "J16", code: fetch.CodeUnreachable, class: domain.ClassContent, mend: func(string) { down.up() }},
		&failing{name: "large", lines: "limits: {max_file_bytes: 4}", row: "J16", code: fetch.CodeTooLarge, class: domain.ClassContent, again: map[string]int{"GET a.txt": 1},
			mend: func(profile string) { in.rewrite(profile, "max_file_bytes: 4", "max_file_bytes: 1000") }},
		&failing{name: "box", deposit: app.Deposit{Payload: "box.zip", Type: domain.TypeContainer}, row: "J16", code: container.CodeName, class: domain.ClassContent,
			again: map[string]int{"GET box.zip": 1}},
		&failing{name: "refused", lines: identifiers(refusing, false), row: "J17", code: names.CodeUnauthorized, class: domain.ClassSystem},
		&failing{name: "unknown", lines: identifiers(dataCite, true), row: "J17", code: names.CodeUnauthorized, class: domain.ClassSystem},
		&failing{name: "foreign", deposit: app.Deposit{Payload: "a.txt", Primary: "ark:/99999/m5own"}, row: "J17", code: record.CodeIdentifierForeign, class: domain.ClassContent,
			mend: func(profile string) { in.rewrite(profile, "shoulder: fk4", "shoulder: m5") }},
		&failing{name: "step", lines: "steps: [{name: scan, dataset: scans}]", row: "J17", code: compute.CodeExitStatus, class: domain.ClassContent},
		&failing{name: "stored", deposit: app.Deposit{Payload: "a.txt", Primary: primary + "s"}, row: "J17", code: reason.CodeStorage, class: domain.ClassSystem,
			mend: func(string) {
				for _, at := range taken {
					in.must(os.Remove(at))
				}
			}},
		&failing{name: "damaged", lines: identifiers(minting, false), row: "J18", code: reason.CodeStorage, class: domain.ClassSystem, state: domain.JobRecording,
			damage: func(job string) { damaged = in.primaryOf(job); whole = in.damageManifest(damaged) },
			mend:   func(string) { in.must(os.WriteFile(in.manifestOf(damaged), whole, 0o600)) }},
		&failing{name: "conflict", deposit: app.Deposit{Payload: "a.txt", Primary: primary + "c"}, row: "J18", code: record.CodeInventoryConflict, class: domain.ClassSystem, state: domain.JobRecording,
			damage: func(string) {
				first := in.jobOf(all[0].batch) // it has no version yet
				in.exec("insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id) values ($1, 'The tests', 'conflict', 1, '', '', '', '{}')", primary+"c")
				in.exec("insert into record.object_version (primary_identifier, version, job_id, batch_id, profile_name, submitter, manifest_key, manifest_sha256, files, bytes, stored_at) "+
					"values ($1, 1, $2, $3, 'conflict', 'another', 'k', '', 0, 0, now())", primary+"c", first, all[0].batch)
			},
			mend: func(string) {
				in.exec("delete from record.object_version where primary_identifier = $1", primary+"c")
				in.exec("delete from record.object where primary_identifier = $1", primary+"c")
			}},
		&failing{name: "told", lines: identifiers(minting, false) + "\ncallback: {url: SERVER/told/callback}", row: "J19", code: fetch.CodeHTTPStatus, class: domain.ClassSystem, again: map[string]int{"POST callback": 1}},
		&failing{name: "silent", lines: "callback: {url: SERVER/silent/callback}", row: "J19", code: fetch.CodeTimeout, class: domain.ClassTimeout, again: map[string]int{"POST callback": 1}},
	)
	all = append(all, in.furtherFailures()...)
	if checkCodesOfJobs(t, all); t.Failed() {
		return
	}
	for _, at := range taken {
		in.must(os.MkdirAll(filepath.Dir(at), 0o755))
		in.must(os.WriteFile(at, []byte("another\n"), 0o600))
	}
	for _, f := range all {
		in.makeProfile(server, f)
	}
	in.serveToRewrite()
	mended := filepath.Join(t.TempDir(), "mended")
	in.working("sh -c 'test -e "+mended+" || { echo infected; exit 65; }; wc -c < {in} > {out}'", "--datasets", "scans")

	for _, f := range all { // those that are made to fail, one after another
		if f.state != "" && f.state != domain.JobRecording {
			in.failsIn(f.state, server, f)
		}
	}
	var late []*failing
	for _, f := range all {
		switch f.state {
		case domain.JobRecording:
			late = append(late, f)
		case "":
			in.depositFailing(server, f)
		}
	}
	in.failsIn(domain.JobRecording, server, late...)
	in.haveFailed(server, all)
	if t.Failed() {
		return
	}
	server.mend()
	in.must(os.WriteFile(mended, nil, 0o600))
	in.areRequeued(server, all)
	for what, m := range map[string]struct {
		*minter.Server
		made int
	}{"the minter that refused": {refusing, 1}, "DataCite": {dataCite, 1}, "the minter": {minting, 2}} {
		if _, made := m.Records(); made != m.made {
			t.Errorf("%s has made %d identifiers, want %d", what, made, m.made)
		}
	}
	in.agree()
	in.says(0, words("verify"))
}

// haveFailed waits for the ends of failing deposits, and keeps what was done until then.
func (in *installation) haveFailed(server *wilful, all []*failing) {
	in.t.Helper()
	for _, f := range all {
		v := in.rest(f.batch)
		f.job, f.asked = v.Jobs[0].ID, server.requests(f.name)
		if j := v.Jobs[0]; v.Status != string(domain.BatchFailed) || deref(j.ReasonCode) != string(f.code) || deref(j.ReasonClass) != string(f.class) {
			in.t.Errorf("%s: %s with %s (%s): %s", f.name, v.Status, deref(j.ReasonCode), deref(j.ReasonClass), deref(j.ReasonMessage))
		}
		if f.row == "J18" || f.row == "J19" {
			f.had = in.versionFiles(v.Jobs[0].PrimaryIdentifier)
		}
	}
}

// areRequeued mends what the server does not, requeues the jobs of failing deposits, and checks
// that each completes.
func (in *installation) areRequeued(server *wilful, all []*failing) {
	in.t.Helper()
	for _, f := range all {
		if f.mend != nil {
			f.mend(f.name)
		}
		if f.edit[0] != "" {
			in.rewrite(f.name, f.edit[1], f.edit[0])
		}
	}
	for _, f := range all {
		in.says(0, []string{"job", "requeue", f.job, "--reason", "mended"}, "("+f.row+")")
	}
	for _, f := range all {
		in.hasCompleted(server, f)
	}
}

// hasCompleted checks what a failing deposit has come to once it was requeued.
func (in *installation) hasCompleted(server *wilful, f *failing) {
	in.t.Helper()
	waitFor(in.t, f.name+" to complete", func() bool {
		return in.count("select count(*) from accession.job where id = $1 and status = 'completed' and retry_count = 1", f.job) == 1
	})
	got := server.requests(f.name)
	for what, n := range f.asked {
		if got[what] -= n; got[what] == 0 {
			delete(got, what)
		}
	}
	want := maps.Clone(f.again)
	if want == nil {
		want = map[string]int{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		in.t.Errorf("%s: after the requeue it was asked for (-want +got):\n%s", f.name, diff)
	}
	primary := in.primaryOf(f.job)
	if n := in.count("select count(*) from record.object_version where job_id = $1 and primary_identifier = $2 and version = 1 and files = (select count(*) from record.object_file where primary_identifier = $2)", f.job, primary); n != 1 {
		in.t.Errorf("%s: %d versions of %s are recorded", f.name, n, primary)
	}
	if n := in.count("select count(*) from record.effect where key like $1 || '%' and kind = 'store' and (state <> 'done' or begun <> 1 and $2)", f.job, f.had != nil); n != 0 {
		in.t.Errorf("%s: %d effects have not ended, or were begun again", f.name, n)
	}
	now := in.versionFiles(primary)
	for name, was := range f.had {
		if is := now[name]; is == nil || !os.SameFile(is, was) || name != "manifest.json" && !is.ModTime().Equal(was.ModTime()) {
			in.t.Errorf("%s: %s was written again", f.name, name)
		}
	}
	server.mu.Lock()
	for key, n := range server.told {
		if n != 1 || strings.HasSuffix(key, " ") {
			in.t.Errorf("the callback %q was taken %d times", key, n)
		}
	}
	server.mu.Unlock()
	in.says(0, []string{"batch", "update-report", string(f.batch), "--reason", "mended"})
	waitFor(in.t, f.name+" to be reported again", func() bool {
		return in.count("select count(*) from accession.batch where id = $1 and status = 'completed'", f.batch) == 1
	})
	v, err := in.app.BatchReport(in.ctx(), f.batch, 10)
	in.must(err)
	if len(v.ReportsMade) != 2 || len(v.ReportsMade[1].NewlySuccessfulJobs) != 1 || v.JobsCompleted != 1 || v.JobsFailed != 0 || len(v.Retries) != 1 || v.Retries[0].Outcome != "succeeded" {
		in.t.Errorf("%s: %+v", f.name, v)
	}
}

// failsIn pauses a queue, makes deposits, and lets each be damaged in that state.
func (in *installation) failsIn(state domain.JobState, server *wilful, all ...*failing) {
	in.t.Helper()
	in.says(0, words("queue pause "+string(state)+" --reason look"))
	for _, f := range all {
		in.depositFailing(server, f)
	}
	for _, f := range all {
		job := in.jobOf(f.batch)
		waitFor(in.t, job+" to be "+string(state), func() bool {
			return in.count("select count(*) from accession.job where id = $1 and status = $2", job, string(state)) == 1
		})
		f.damage(job)
	}
	in.says(0, words("queue resume "+string(state)))
}

// makeProfile makes the profile of a deposit of its own.
func (in *installation) makeProfile(server *wilful, f *failing) {
	in.t.Helper()
	text := strings.ReplaceAll(profileOf("attempts: 2, timeout: 2s"), ": test\n", ": "+f.name+"\n")
	lines := strings.ReplaceAll(f.lines, "SERVER", server.URL)
	if strings.HasPrefix(lines, "identifier:") {
		text = strings.Replace(text, local+"\n", "", 1)
	}
	if f.edit[0] != "" {
		text = strings.Replace(text, f.edit[0], f.edit[1], 1)
	}
	in.must(os.WriteFile(filepath.Join(filepath.Dir(in.profileFile()), f.name+".yaml"), []byte(text+lines+"\n"), 0o600))
}

// depositFailing deposits by that profile.
func (in *installation) depositFailing(server *wilful, f *failing) {
	in.t.Helper()
	d := f.deposit
	if d.Payload == "" {
		d.Payload = "a.txt"
	}
	if !strings.Contains(d.Payload, "://") && !filepath.IsAbs(d.Payload) {
		d.Payload = server.URL + "/" + f.name + "/" + d.Payload
	}
	if d.Type == "" {
		d.Type = domain.TypeFile
	}
	d.Profile, d.Submitter = f.name, "tester"
	s, err := in.app.Submit(in.ctx(), d)
	in.must(err)
	f.batch = s.Batch
}

// serveToRewrite starts the service with a front door, through which [installation.rewrite] works.
func (in *installation) serveToRewrite() *door {
	in.t.Helper()
	in.mender = in.keyOf("mender", "admin", "--all")
	in.front = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	return in.front
}

// rewrite replaces a text in the profile of a name. The process that serves sets it, and so uses it
// at once; another process would use what it knew for a second.
func (in *installation) rewrite(name, from, to string) {
	in.t.Helper()
	at := filepath.Join(filepath.Dir(in.profileFile()), name+".yaml")
	text, err := os.ReadFile(at)
	in.must(err)
	if !bytes.Contains(text, []byte(from)) {
		in.t.Fatalf("%s does not say %q", at, from)
	}
	file := filepath.Join(in.t.TempDir(), name+".yaml")
	in.must(os.WriteFile(file, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
	var out bytes.Buffer
	if code := cli.Main(in.ctx(), []string{"--server", in.front.url, "profile", "set", name, file, "--reason", "mended"},
		cli.IO{In: strings.NewReader(""), Out: &out, Err: &out, Environ: []string{"ACCESSION_API_KEY=" + in.mender}}); code != 0 {
		in.t.Fatalf("profile set %s: exit code %d\n%s", name, code, &out)
	}
}

func (in *installation) primaryOf(job string) (primary string) {
	in.t.Helper()
	in.must(in.db.QueryRow(in.ctx(), "select primary_identifier from accession.job where id = $1", job).Scan(&primary))
	return primary
}

// manifestOf returns where the storage manifest of the first version of an object is.
func (in *installation) manifestOf(primary string) string {
	return filepath.Join(in.dir, "store", store.ManifestKey(primary, 1))
}

// damageManifest changes the storage manifest of an object, and returns what it was.
func (in *installation) damageManifest(primary string) (whole []byte) {
	in.t.Helper()
	at := in.manifestOf(primary)
	whole, err := os.ReadFile(at)
	in.must(err)
	in.must(os.Chmod(at, 0o600))
	in.must(os.WriteFile(at, append(bytes.Clone(whole), '\n'), 0o600))
	return whole
}

// versionFiles returns the files of the first version of an object, as they are in the store.
func (in *installation) versionFiles(primary string) map[string]os.FileInfo {
	in.t.Helper()
	dir, all := filepath.Dir(in.manifestOf(primary)), map[string]os.FileInfo{}
	in.must(filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			all[strings.TrimPrefix(path, dir+"/")] = info
		}
		return err
	}))
	return all
}

// revivable is an address where nothing answers until it is up.
type revivable struct {
	t   testing.TB
	url string
}

func newRevivable(t testing.TB) *revivable { return &revivable{t, "http://" + closedPort(t)} }

func (r *revivable) up() {
	r.t.Helper()
	l, err := net.Listen("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("back\n")) })}}
	s.Start()
	r.t.Cleanup(s.Close)
}
