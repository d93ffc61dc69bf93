package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/internal/repocheck"
)

const resumables = "/v1/resumable-uploads"

// tusMetadata writes Upload-Metadata: each field is key=value.
func tusMetadata(fields ...string) string {
	var all []string
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		all = append(all, key+" "+base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return "Upload-Metadata: " + strings.Join(all, ",")
}

// tus sends a request as clients of tus do.
func (d *door) tus(caller, method, path, body string, headers ...string) answer {
	d.in.t.Helper()
	return d.send(caller, method, path, io.MultiReader(strings.NewReader(body)), append([]string{"Tus-Resumable: 1.0.0"}, headers...)...)
}

// begins begins an upload of so many bytes.
func (d *door) begins(caller string, size int, headers ...string) answer {
	d.in.t.Helper()
	return d.tus(caller, "POST", resumables, "", append(headers, fmt.Sprintf("Upload-Length: %d", size))...)
}

// piece sends the bytes of an upload from an offset on.
func (d *door) piece(caller, at string, offset int, bytes string) answer {
	d.in.t.Helper()
	r, err := http.NewRequestWithContext(d.in.ctx(), http.MethodPatch, d.url+at, strings.NewReader(bytes))
	d.in.must(err)
	return d.do(r, caller, "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", fmt.Sprintf("Upload-Offset: %d", offset))
}

// stands checks how many bytes of an upload have come.
func (d *door) stands(caller, at string, offset, size int) answer {
	d.in.t.Helper()
	a := d.tus(caller, "HEAD", at, "")
	if a.status != http.StatusOK || a.header.Get("Upload-Offset") != fmt.Sprint(offset) || a.header.Get("Upload-Length") != fmt.Sprint(size) {
		d.in.t.Errorf("%s: %d %v, want %d bytes of %d", at, a.status, a.header, offset, size)
	}
	return a
}

// uploading counts the uploads that are not finished.
func (in *installation) uploading() int {
	in.t.Helper()
	all, err := fs.Glob(os.DirFS(in.cfg.DropDir), "resumable/*/*/deposit")
	in.must(err)
	return len(all)
}

// reprDigest returns the header with the SHA-256 of a file.
func reprDigest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "Repr-Digest: sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// TestResumableUpload: a file that comes in pieces becomes the deposit that was described at
// its begin, and only its user sees it.
// Shows: P1
func TestResumableUpload(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	in.set("upload_limit=4096")
	ana, eve := in.keyOf("ana", "depositor", "--collection", "test"), in.keyOf("eve", "depositor", "--all")
	d := in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))

	if a := d.send("", "OPTIONS", resumables, http.NoBody); a.status >= 300 || a.header.Get("Tus-Version") != "1.0.0" || a.header.Get("Tus-Max-Size") != "4096" ||
		a.header.Get("Tus-Extension") != "creation,creation-with-upload,termination,expiration" {
		t.Errorf("%d %v", a.status, a.header)
	}
	const letter = "a letter that comes in pieces\n"
	about := tusMetadata("profile=test", "filename=letter.txt", "title=A letter", "creator=Ana", "local_ids=letter-7,l7", "mode=add", "type=file")
	a := d.begins(ana, len(letter), about, reprDigest(letter))
	at := a.header.Get("Location")
	if a.status != http.StatusCreated || !strings.HasPrefix(at, resumables+"/") || a.header.Get("Upload-Expires") == "" || a.header.Get("RateLimit") == "" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	if a := d.stands(ana, at, 0, len(letter)); !strings.Contains(a.header.Get("Upload-Metadata"), "title "+base64.StdEncoding.EncodeToString([]byte("A letter"))) {
		t.Errorf("%v", a.header)
	}
	if a := d.piece(ana, at, 0, letter[:9]); a.status != http.StatusNoContent || a.header.Get("Upload-Offset") != "9" || a.header.Get("Upload-Expires") == "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	d.piece(ana, at, 0, letter[:9]).is(d, 409, app.Refused)
	d.piece(ana, at, 12, letter[12:]).is(d, 409, app.Refused)
	d.piece(ana, at, 9, letter[9:]+"more").is(d, 413, app.Invalid)
	d.stands(ana, at, 9, len(letter))

	// For another user, also one who may deposit everywhere, it is not there.
	if a := d.tus(eve, "HEAD", at, ""); a.status != http.StatusNotFound || a.header.Get("Upload-Offset") != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	d.piece(eve, at, 9, letter[9:]).is(d, 404, app.NotFound)
	d.tus(eve, "DELETE", at, "").is(d, 404, app.NotFound)
	d.tus(ana, "DELETE", resumables+"/x%1b%0a", "").is(d, 404, app.NotFound)
	d.send("", "PATCH", at, strings.NewReader("")).is(d, 401, app.Unauthenticated)
	d.send(ana, "PATCH", at, http.NoBody).is(d, 412, app.Invalid) // no version of tus
	d.tus(ana, "POST", at, "", "X-HTTP-Method-Override: DELETE").is(d, 405, app.Invalid)
	d.stands(ana, at, 9, len(letter))

	if n := len(in.kept()); n != 0 {
		t.Errorf("%d deposits of a file of which a third has come", n)
	}
	a = d.piece(ana, at, 9, letter[9:])
	made := a.header.Get("Location")
	if a.status != http.StatusNoContent || a.header.Get("Upload-Offset") != fmt.Sprint(len(letter)) || !strings.HasPrefix(made, "/v1/uploads/") {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	// Who got no answer learns it by asking, or by sending again.
	for _, again := range []answer{d.stands(ana, at, len(letter), len(letter)), d.piece(ana, at, len(letter), "")} {
		if again.status >= 300 || again.header.Get("Location") != made {
			t.Errorf("%d %v, want %s", again.status, again.header, made)
		}
	}
	var sent drops.Shown
	waitFor(t, "the file to be transferred", func() bool {
		d.ask(ana, "GET", made, "").into(d, &sent)
		return sent.State == drops.Transferred
	})
	v := in.rest(sent.Batch)
	if v.Status != "completed" || v.Submitter != "ana" || v.Jobs[0].ErcWhat != "A letter" || v.Jobs[0].ErcWho != "Ana" || len(v.Jobs) != 1 {
		t.Errorf("%+v", v)
	}
	if d.tus(ana, "DELETE", at, ""); in.count(`select count(*) from accession.batch`) != 1 {
		t.Error("not one batch")
	}
	if a := d.tus(ana, "HEAD", at, ""); a.status != http.StatusNotFound {
		t.Errorf("%d %v", a.status, a.header)
	}
	in.agree()
}

// kept returns the deposits in the drop folder.
func (in *installation) kept() []string {
	in.t.Helper()
	all, err := filepath.Glob(filepath.Join(in.cfg.DropDir, "user-*", "*"))
	in.must(err)
	return all
}

// TestResumableRefused: what must not become a deposit is refused as soon as it is known, and
// nothing is left of it.
// Shows: P1
func TestResumableRefused(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=1h", "waiting_limit=2")
	in.set("upload_limit=4096")
	d := in.door()
	const ana, olga = "ana depositor/test", "olga operator/test depositor/test"
	about := func(more ...string) string {
		return tusMetadata(append([]string{"profile=test", "filename=letter.txt"}, more...)...)
	}
	for _, c := range []struct {
		why, caller string
		headers     []string
		status      int
		code        app.Kind
		detail      string
	}{
		{"no metadata", ana, nil, 400, app.Invalid, "Upload-Metadata: expected required property"},
		{"no name", ana, []string{tusMetadata("profile=test")}, 400, app.Invalid, "name"},
		{"no base64", ana, []string{"Upload-Metadata: profile dGVzdA==,filename !"}, 400, app.Invalid, "base64"},
		{"a key twice", ana, []string{about("title=a", "title=b")}, 400, app.Invalid, "twice"},
		{"an unknown key", ana, []string{about("colour=red")}, 400, app.Invalid, "colour"},
		{"a long Idempotency-Key", ana, []string{about(), "Idempotency-Key: " + strings.Repeat("k", 201)}, 400, app.Invalid, "at most 200 bytes"},
		{"no text", ana, []string{about("title=a\nb")}, 400, app.Invalid, "title holds a line break"},
		{"two names", ana, []string{about("name=other.txt")}, 400, app.Invalid, "differ"},
		{"a directory", ana, []string{tusMetadata("profile=test", "filename=../letter.txt")}, 400, app.Invalid, "letter.txt"},
		{"a mode", ana, []string{about("mode=odd")}, 400, app.Invalid, "mode"},
		{"a type", ana, []string{about("type=odd")}, 400, app.Invalid, "odd"},
		{"a digest", ana, []string{about("digest=sha256:12")}, 400, app.Invalid, "digest"},
		{"an identifier of many", ana, []string{about("identifier=ark:/99999/x", "type=batch_manifest")}, 400, app.Invalid, "batch"},
		{"an update of what", ana, []string{about("mode=update")}, 400, app.Invalid, "update"},
		{"a Repr-Digest", ana, []string{about(), "Repr-Digest: md5=:AA==:"}, 400, app.Invalid, "SHA-256"},
		{"an unknown profile", ana, []string{tusMetadata("profile=none", "filename=a.txt")}, 403, app.Forbidden, ""},
		{"no right", "bob reader/test", []string{about()}, 403, app.Forbidden, "right to deposit"},
		{"another user", ana, []string{about("submitter=olga")}, 403, app.Forbidden, "another user"},
		{"no caller", "", []string{about()}, 401, app.Unauthenticated, ""},
		{"too large", ana, []string{about(), "Upload-Length: 4097"}, 413, app.Invalid, "maximum size"},
		{"no length", ana, []string{about(), "Upload-Length: "}, 400, app.Invalid, "Upload-Length"},
		{"a deferred length", ana, []string{about(), "Upload-Length: ", "Upload-Defer-Length: 1"}, 501, app.Failed, ""},
		{"no version", ana, []string{about(), "Tus-Resumable: 0.1.0"}, 412, app.Invalid, "Tus-Resumable"},
	} {
		a := d.tus(c.caller, "POST", resumables, "", append([]string{"Upload-Length: 8"}, c.headers...)...)
		if a.is(d, c.status, c.code); !strings.Contains(a.Detail, c.detail) {
			t.Errorf("%s: %s, want %q", c.why, a.Detail, c.detail)
		}
	}
	if n := in.uploading(); n != 0 {
		t.Fatalf("%d uploads were begun", n)
	}

	// A file that is not the one that was announced.
	at := d.begins(ana, 8, about(), reprDigest("a letter")).header.Get("Location")
	d.piece(ana, at, 0, "a let")
	if a := d.piece(ana, at, 5, "tre").is(d, 400, app.Invalid); !strings.Contains(a.Detail, "has the SHA-256") {
		t.Error(a.Detail)
	}
	longer := d.begins(ana, 8, about()).header.Get("Location")
	if a := d.tus(ana, "PATCH", longer, "a letter and more", "Content-Type: application/offset+octet-stream", "Upload-Offset: 0").is(d, 400, app.Invalid); !strings.Contains(a.Detail, "Upload-Length") {
		t.Error(a.Detail)
	}
	for _, gone := range []string{at, longer} {
		if a := d.tus(ana, "HEAD", gone, ""); a.status != http.StatusNotFound {
			t.Errorf("%d %v", a.status, a.header)
		}
	}

	// A right that is withdrawn between two pieces.
	at = d.begins(ana, 8, about()).header.Get("Location")
	d.piece(ana, at, 0, "a let")
	d.piece("ana reader/test", at, 5, "ter").is(d, 403, app.Forbidden)
	d.stands(ana, at, 5, 8)

	// Those that are being uploaded count, and those that wait.
	second := d.begins(ana, 8, about()).header.Get("Location")
	full := d.begins(ana, 8, about()).is(d, 429, app.Full)
	d.send(ana, "POST", "/v1/uploads?profile=test&name=letter.txt", strings.NewReader("a letter"), "Content-Type: application/octet-stream").is(d, 429, app.Full)
	if seconds, err := strconv.Atoi(full.header.Get("Retry-After")); err != nil || seconds < 1 || !strings.HasPrefix(full.header.Get("RateLimit"), `"waiting-deposits";r=0`) {
		t.Errorf("%v", full.header)
	}
	if d.tus(ana, "DELETE", second, ""); in.uploading() != 1 {
		t.Errorf("%d uploads after one was cancelled", in.uploading())
	}
	// One request may begin an upload and send all of it.
	whole := d.tus(ana, "POST", resumables, "a letter", about(), "Upload-Length: 8", "Content-Type: application/offset+octet-stream")
	if whole.status != http.StatusCreated || whole.header.Get("Upload-Offset") != "8" {
		t.Errorf("%d %v %s", whole.status, whole.header, whole.body)
	}
	d.begins(ana, 8, about()).is(d, 429, app.Full)
	if a := d.piece(ana, at, 5, "ter"); a.status != http.StatusNoContent {
		t.Errorf("%d %s", a.status, a.body)
	}
	d.begins(ana, 8, about()).is(d, 429, app.Full)
	if n := in.uploading(); n != 0 || len(in.kept()) != 2 {
		t.Errorf("%d uploads and %d deposits, want 0 and 2", n, len(in.kept()))
	}

	// An operator deposits for another user, of whom too many wait; then an empty file.
	d.begins(olga, 8, about("submitter=ana")).is(d, 429, app.Full)
	empty := d.begins(olga, 0, about("submitter=ben"))
	if empty.status != http.StatusCreated || len(in.kept()) != 3 {
		t.Errorf("%d %s", empty.status, empty.body)
	}
	d.stands(olga, empty.header.Get("Location"), 0, 0)
	for what, want := range map[string]int{"resumable.begin done": 6, "resumable.finish done": 3, "resumable.cancel done": 1, "resumable.begin refused full": 4,
		"resumable.append refused forbidden": 1, "resumable.append refused not_found": 0, "resumable.finish refused invalid": 1, "resumable.append done": 0} {
		if n := d.noted(what); n != want {
			t.Errorf("%q was audited %d times, want %d", what, n, want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(in.cfg.DropDir, "aside")); err != nil || len(left) != 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// TestResumableBegunOnce: who gets no answer to the begin of an upload begins it again under
// the same key, and finds what has come; it is never another upload, or another deposit.
// Shows: P1
func TestResumableBegunOnce(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=1h", "waiting_limit=2")
	d := in.door()
	const ana, olga, key, bytes = "ana depositor/test", "olga depositor/test operator/test", "Idempotency-Key: my letter", "Content-Type: application/offset+octet-stream"
	about := tusMetadata("profile=test", "filename=letter.txt")
	begins := func(caller, body string, headers ...string) answer {
		t.Helper()
		return d.tus(caller, "POST", resumables, body, append([]string{about, key, "Upload-Length: 8"}, headers...)...)
	}
	at := begins(ana, "").header.Get("Location")
	same := func(offset string, a answer) {
		t.Helper()
		if a.status != http.StatusCreated || a.header.Get("Location") != at || at == "" || a.header.Get("Upload-Offset") != offset {
			t.Errorf("%d %v %s, want %s", a.status, a.header, a.body, at)
		}
	}
	same("", begins(ana, ""))
	same("0", begins(ana, "a letter", bytes))
	d.piece(ana, at, 0, "a let")
	same("5", begins(ana, "a letter", bytes)) // with its first bytes once more
	same("", begins(ana, ""))
	d.stands(ana, at, 5, 8)
	for _, other := range [][]string{{"Upload-Length: 9"}, {tusMetadata("profile=test", "filename=other.txt")}, {reprDigest("a letter")}} {
		begins(ana, "", other...).is(d, 422, app.KeyReused)
	}
	d.send(ana, "POST", "/v1/uploads?profile=test&name=letter.txt", strings.NewReader("a letter"), bytes, key).is(d, 422, app.KeyReused)
	if other := begins(olga, ""); other.status != http.StatusCreated || other.header.Get("Location") == at {
		t.Errorf("another user has the same: %d %v", other.status, other.header)
	}
	d.begins(ana, 8, about)
	d.begins(ana, 8, about).is(d, 429, app.Full)
	same("", begins(ana, "")) // it needs no room
	if n := in.uploading(); n != 3 {
		t.Errorf("%d uploads, want 3", n)
	}
	made := d.piece(ana, at, 5, "ter").header.Get("Location")
	if made != "/v1/uploads/"+strings.TrimPrefix(at, resumables+"/") {
		t.Errorf("%s became %s", at, made)
	}
	same("", begins(ana, ""))
	same("8", begins(ana, "a letter", bytes))
	d.stands(ana, at, 8, 8)
	d.tus(ana, "DELETE", at, "") // as it is forgotten a day later
	if a := begins(ana, "").is(d, 409, app.Refused); !strings.Contains(a.Detail, "has become the deposit") {
		t.Error(a.Detail)
	}
	if n := len(in.kept()); n != 1 {
		t.Errorf("%d deposits of one file", n)
	}
	for what, want := range map[string]int{"resumable.finish done": 1} {
		if n := d.noted(what); n != want {
			t.Errorf("%q was audited %d times, want %d", what, n, want)
		}
	}
}

// TestResumableOfClients: what clients of tus say of a file by themselves neither hinders the
// deposit nor says anything of it.
func TestResumableOfClients(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=1h")
	d := in.door()
	const ana = "ana depositor/test"
	for _, c := range [][]string{
		{"filename=letter.txt", "filetype=text/plain"},                                                            // tus-js-client
		{"relativePath=null", "name=letter.txt", "type=text/plain", "filetype=text/plain", "filename=letter.txt"}, // Uppy
		{"relativePath=letters/letter.txt", "name=letter.txt", "type=", "filetype=", "filename=letter.txt"},       // Uppy, of a folder and without a media type
		{"name=letter.txt", "size=8", "lastModified=1795719455327", "type=text/plain", "contentType=text/plain"},  // ngx-uploadx
	} {
		a := d.tus(ana, "POST", resumables, "a letter", tusMetadata(append(c, "profile=test")...), "Upload-Length: 8", "Content-Type: application/offset+octet-stream")
		if a.status != http.StatusCreated || a.header.Get("Upload-Offset") != "8" {
			t.Errorf("%q: %d %s", c, a.status, a.body)
		}
	}
	folder, err := in.app.Open.Drop(false)
	in.must(err)
	n := 0
	for deposit, err := range folder.All(in.ctx()) {
		in.must(err)
		if n++; deposit.FileName != "letter.txt" || deposit.Type != "" {
			t.Errorf("%+v", deposit)
		}
	}
	if n != 4 {
		t.Errorf("%d deposits, want 4", n)
	}
}

// TestResumableCutOff: a request that ends in the middle of a piece, or another request for
// the same upload, loses nothing of what has come.
func TestResumableCutOff(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "transfer_interval=1h")
	d := in.door()
	const ana = "ana depositor/test"
	at := d.begins(ana, 1<<20, tusMetadata("profile=test", "filename=large.bin")).header.Get("Location")
	file := strings.Repeat("0123456789abcdef", 1<<16)
	body, rest := io.Pipe()
	r, err := http.NewRequestWithContext(in.ctx(), http.MethodPatch, d.url+at, body)
	in.must(err)
	r.ContentLength = 1 << 20
	first := make(chan int, 1)
	go func() {
		defer body.Close()
		first <- d.do(r, ana, "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", "Upload-Offset: 0").status
	}()
	_, err = io.WriteString(rest, file[:1<<19])
	in.must(err)
	folder, err := in.app.Open.Drop(false)
	in.must(err)
	id := at[strings.LastIndexByte(at, '/')+1:]
	waitFor(t, "the piece to be written", func() bool {
		u, err := folder.Resumable("ana", id)
		in.must(err)
		return u.Offset == 1<<19
	})
	// The client asks anew, while the service still waits for the rest.
	d.stands(ana, at, 1<<19, 1<<20)
	if status := <-first; status != http.StatusBadRequest {
		t.Errorf("the request before ended with %d", status)
	}
	a := d.piece(ana, at, 1<<19, file[1<<19:])
	if a.status != http.StatusNoContent {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var sent drops.Shown
	d.ask(ana, "GET", a.header.Get("Location"), "").into(d, &sent)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(file))); sent.SHA256 != want || sent.Size != 1<<20 {
		t.Errorf("%d bytes of %s, want %s", sent.Size, sent.SHA256, want)
	}
}

// resumes: a process dies while a file comes in pieces. The client goes on where it was cut
// off, and its file is there once; one that it has cancelled is not.
func resumes(o *crashInstallation, point string) {
	c := resumesUntilDead(o, point)
	o.finishUploads(c)
	o.emptied()
	o.made(c.name, c.deposits, point)
}

// resuming is a client whose file comes in pieces.
type resuming struct {
	name, point string
	deposits    int                         // of the file, that are to be there
	next        func(at string) (done bool) // takes the next step, at a service that answers there
}

// finishUploads lets clients go on until they are done.
func (o *crashInstallation) finishUploads(all ...resuming) {
	o.t.Helper()
	at := port(o.t)
	s := o.serve("--roles", "http", "--set", "listen_http="+at)
	for _, c := range all {
		waitFor(o.t, "the upload to end of a client whose service died at "+c.point, func() bool { return c.next(at) })
	}
	s.stop()
}

// made checks how many batches were made of files of a name.
func (o *crashInstallation) made(name string, want int, point string) {
	o.t.Helper()
	if n := o.count(`select count(*) from accession.batch where file_name = $1`, name); n != want {
		o.t.Errorf("%d batches of one file, want %d, after a death at %s", n, want, point)
	}
}

// resumesUntilDead lets a client send a file until the process dies.
func resumesUntilDead(o *crashInstallation, point string) resuming {
	o.n++
	const file = "a file in three pieces"
	user, at := "r"+o.number(), port(o.t)
	name, deposits := "resumed-"+o.number()+".txt", 1
	key := o.keyOf(user, "depositor", "--all")
	cancels := strings.HasPrefix(point, "drop/resume/cancel/") || strings.HasPrefix(point, "drop/resume/remove/")
	blocked := filepath.Join(o.dir, "drop", "resumable", "user-"+user)
	undone := strings.HasPrefix(point, "drop/resume/undo/")
	if undone {
		o.must(os.MkdirAll(filepath.Dir(blocked), 0o700))
		o.must(os.Symlink("nowhere", blocked)) // no directory, and none can be made
	}
	upload := "" // where it is
	// ask returns the status of the answer, 0 = there is none.
	ask := func(method, path, body string, headers ...string) (status int, header http.Header) {
		r, err := http.NewRequestWithContext(o.ctx(), method, "http://"+at+path, strings.NewReader(body))
		o.must(err)
		for _, h := range append([]string{"Tus-Resumable: 1.0.0", "Authorization: Bearer " + key, "Content-Type: application/offset+octet-stream"}, headers...) {
			key, value, _ := strings.Cut(h, ": ")
			r.Header.Set(key, value)
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return 0, nil
		}
		o.must(res.Body.Close())
		return res.StatusCode, res.Header
	}
	// next takes the next step, and says whether it was the last one.
	next := func() bool {
		if upload == "" {
			status, header := ask("POST", resumables, "", tusMetadata("profile=test", "filename="+name), fmt.Sprintf("Upload-Length: %d", len(file)), "Content-Type: none", "Idempotency-Key: "+name)
			if status == http.StatusCreated {
				upload = header.Get("Location")
			}
			return false
		}
		status, header := ask("HEAD", upload, "")
		offset, err := strconv.Atoi(header.Get("Upload-Offset"))
		switch {
		case cancels && status == http.StatusNotFound:
			return true
		case err != nil:
			return false
		case offset == len(file):
			return strings.HasPrefix(header.Get("Location"), "/v1/uploads/")
		case cancels && offset > 0:
			status, _ = ask("DELETE", upload, "")
			return status == http.StatusNoContent
		}
		ask("PATCH", upload, file[offset:min(len(file), offset+9)], fmt.Sprintf("Upload-Offset: %d", offset))
		return false
	}
	o.dies(point, func(_ *os.Process, dead <-chan struct{}) {
		late := time.After(reaching)
		for {
			select {
			case <-dead:
				return
			case <-late:
				return
			case <-time.After(5 * time.Millisecond):
				next()
			}
		}
	}, "serve", "--roles", "http", "--set", "listen_http="+at)
	if undone {
		o.must(os.Remove(blocked))
	}
	if cancels {
		deposits = 0
	}
	return resuming{name, point, deposits, func(another string) bool { at = another; return next() }}
}

// TestResumableKilledAtEachStep: a process dies right before and right after each step of
// taking a file in pieces.
// Shows: P1
func TestResumableKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, func(*crashInstallation) {})
	points, err := repocheck.Points(os.DirFS("../../.."))
	o.must(err)
	var way []string
	for _, p := range points {
		step := strings.TrimSuffix(strings.TrimSuffix(p.Name, "/after"), "/before")
		if strings.HasPrefix(step, "drop/resume") || step == "drop/accept/user" || step == "drop/accept/rename" || step == "drop/directory/sync" {
			way = append(way, p.Name)
		}
	}
	if len(way) < 34 {
		t.Errorf("only %d points", len(way))
	}
	var files []resuming
	for _, point := range thirdOf(t, way) {
		files = append(files, resumesUntilDead(o, point))
	}
	o.finishUploads(files...)
	if n := o.uploading(); n != 0 {
		t.Errorf("%d uploads are left, of clients that got no answer", n)
	}
	o.emptied()
	for _, f := range files {
		o.made(f.name, f.deposits, f.point)
	}
	o.sound()
}
