package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// intakeDoor is a way by which files and lists of identifiers come in.
type intakeDoor struct {
	name  string
	paths []string // of routes that share the way: processes die on them in turn
	keyed bool     // requests have an idempotency key
	must  []string // operations that its way passes
	rows  string   // counts what became of a file of a name
	// asks are the headers and the body of the request for a file of a name.
	asks func(name string) (headers []string, body string)
}

const (
	batchesOfFile = `select count(*) from accession.batch where file_name = $1`
	queriesOfFile = `select count(*) from accession.query where file_name = $1`
)

// aForm returns a form with fields and a file.
func aForm(fields, file, content string) func(name string) (headers []string, body string) {
	return func(name string) ([]string, string) {
		var b strings.Builder
		for _, f := range strings.Fields(strings.ReplaceAll(fields, "NAME", name)) {
			field, value, _ := strings.Cut(f, "=")
			fmt.Fprintf(&b, "--part\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", field, value)
		}
		fmt.Fprintf(&b, "--part\r\nContent-Disposition: form-data; name=%q; filename=%q\r\n\r\n%s\r\n--part--\r\n", file, name, strings.ReplaceAll(content, "NAME", name))
		return []string{"Content-Type: multipart/form-data; boundary=part", "Prefer: wait=1"}, b.String()
	}
}

// aPiece returns the begin of an upload in pieces with the whole file.
func aPiece(name string) ([]string, string) {
	body := "the file " + name
	return []string{"Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", fmt.Sprintf("Upload-Length: %d", len(body)), tusMetadata("profile=test", "filename="+name, "type=file")}, body
}

// plain returns a request whose body is the file.
func plain(content string, headers ...string) func(name string) ([]string, string) {
	return func(name string) ([]string, string) {
		return slices.Clone(headers), strings.ReplaceAll(content, "NAME", name)
	}
}

var intakeDoors = []intakeDoor{
	{name: "Crossref's form", paths: []string{"/servlet/deposit"}, rows: batchesOfFile, must: []string{"drop/accept/rename", "record/form/keep"},
		asks: aForm("operation=doMDUpload", "fname", `<doc_batch xmlns="http://www.crossref.org/schema/5.3.1"><head><doc_batch_id>NAME</doc_batch_id></head></doc_batch>`)},
	{name: "Crossref's form for queries", paths: []string{"/servlet/deposit"}, rows: queriesOfFile, must: []string{"zklive/deliver/multi", "record/form/keep"},
		asks: aForm("operation=doQueryUpload", "fname", "local:NAME\n")},
	{name: "Crossref's form for queries, in its older words", paths: []string{"/servlet/deposit"}, rows: queriesOfFile, must: []string{"zklive/deliver/multi", "record/form/keep"},
		asks: aForm("operation=doDOIQueryUpload", "fname", "local:NAME\n")},
	{name: "Crossref's form that waits", paths: []string{"/v2/deposits"}, rows: batchesOfFile, must: []string{"drop/spool/write", "zklive/deliver/multi", "record/form/keep"},
		asks: aForm("", "mdFile", `<doc_batch xmlns="http://www.crossref.org/schema/5.3.1"/>`)},
	{name: "Merritt's forms", paths: []string{"/object/ingest", "/poster/submit", "/object/update", "/poster/update"}, rows: batchesOfFile, must: []string{"drop/accept/rename"},
		asks: aForm("profile=test type=file localIdentifier=NAME", "file", "the file NAME")},
	{name: "an upload in pieces", paths: []string{resumables}, rows: batchesOfFile, must: []string{"drop/resume/append", "drop/accept/rename"}, asks: aPiece},
	{name: "an upload in pieces under a key", paths: []string{resumables}, keyed: true, rows: batchesOfFile, must: []string{"record/upload/keep", "drop/resume/append", "drop/accept/rename"}, asks: aPiece},
	{name: "an upload", paths: []string{"/v1/uploads?profile=test&type=file&name=NAME"}, rows: batchesOfFile, must: []string{"drop/accept/rename"}, asks: plain("the file NAME")},
	{name: "an upload under a key", paths: []string{"/v1/uploads?profile=test&type=file&name=NAME"}, keyed: true, rows: batchesOfFile, must: []string{"record/upload/keep", "drop/accept/rename"}, asks: plain("the file NAME")},
	{name: "an upload that runs at once", paths: []string{"/v1/uploads/synchronous?profile=test&type=file&name=NAME"}, rows: batchesOfFile, must: []string{"drop/spool/write", "zklive/deliver/multi"}, asks: plain("the file NAME", "Prefer: wait=1")},
	{name: "an upload under a key that runs at once", paths: []string{"/v1/uploads/synchronous?profile=test&type=file&name=NAME"}, keyed: true, rows: batchesOfFile, must: []string{"drop/spool/write", "zklive/deliver/multi", "record/command/keep"}, asks: plain("the file NAME", "Prefer: wait=1")},
	{name: "a query", paths: []string{"/v1/queries?name=NAME"}, rows: queriesOfFile, must: []string{"zklive/deliver/multi"}, asks: plain("local:NAME\n")},
	{name: "a query under a key", paths: []string{"/v1/queries?name=NAME"}, keyed: true, rows: queriesOfFile, must: []string{"record/query-command/keep", "zklive/deliver/multi"}, asks: plain("local:NAME\n")},
}

// bringing is one request to a door.
type bringing struct {
	door              intakeDoor
	path, name, point string
	answered          bool
}

// refusal is an answer that says that nothing was taken.
type refusal string

func (r refusal) Error() string { return string(r) }

// bring sends a request once and notes whether it was answered; an error that is no refusal is
// no answer. What an upload in pieces lacks then, since its begin was answered with less, is sent too.
func (o *crashInstallation) bring(at, key string, b *bringing) error {
	headers, body := b.door.asks(b.name)
	rights := "Authorization: Bearer " + key
	headers = append(headers, rights)
	if b.door.keyed {
		headers = append(headers, "Idempotency-Key: "+b.name)
	}
	header, err := o.send(at, http.MethodPost, b, body, headers...)
	if come, no := strconv.Atoi(header.Get("Upload-Offset")); err == nil && b.path == resumables && come < len(body) {
		if no != nil {
			return refusal(fmt.Sprintf("%s by %s: %v", b.name, b.door.name, no))
		}
		more := *b
		more.path = header.Get("Location")
		_, err = o.send(at, http.MethodPatch, &more, body[come:], rights, "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream", fmt.Sprintf("Upload-Offset: %d", come))
	}
	b.answered = b.answered || err == nil
	return err
}

// send sends one request to a door.
func (o *crashInstallation) send(at, method string, b *bringing, body string, headers ...string) (http.Header, error) {
	r, err := http.NewRequestWithContext(o.ctx(), method, "http://"+at+strings.ReplaceAll(b.path, "NAME", b.name), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		field, value, _ := strings.Cut(h, ": ")
		r.Header.Set(field, value)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if res.StatusCode >= http.StatusMultipleChoices {
		err = refusal(fmt.Sprintf("%s by %s: %s %s", b.name, b.door.name, res.Status, text))
	}
	return res.Header, err
}

// way returns the points at which a process may die while it takes something by a door: each that
// it passes right after an operation. Right before one it leaves what one leaves that dies after the
// one before.
func (o *crashInstallation) way(door intakeDoor, key string) (points []string) {
	o.t.Helper()
	for i, path := range door.paths {
		all := o.passed(func(at string) {
			b := bringing{door: door, path: path, name: o.next()}
			o.must(o.bring(at, key, &b))
		})
		for _, must := range door.must {
			if !slices.Contains(all, must+"/after") {
				o.t.Errorf("the way of %s does not pass %s: %s", door.name, must, strings.Join(all, " "))
			}
		}
		if i > 0 && !slices.Equal(all, points) {
			o.t.Errorf("%s passes %v, and %s %v", path, all, door.paths[0], points)
		}
		points = all
	}
	all := points
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool {
		operation, before := strings.CutSuffix(p, "/before")
		return before && slices.Contains(all, operation+"/after")
	})
}

// next returns the name of another file.
func (o *crashInstallation) next() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n++
	return "brought-" + o.number() + ".txt"
}

// TestIntakeKilledAtEachStep: by every way in, a process dies at each step of taking a file or a
// list. What was answered is there once; what was not is not there, or once; and under its key,
// sent again, it is there once.
// Shows: P1 P19
func TestIntakeKilledAtEachStep(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, func(o *crashInstallation) {
		o.set("queue_synchronous=1000") // nothing is served before the end
		o.editProfile("fetch:", takesArticles+"fetch:")
	})
	key, at := o.keyOf("ana", "depositor", "--all"), port(t)
	s := o.serve("--roles", "http", "--set", "listen_http="+at)
	listens(at, nil)
	for _, door := range intakeDoors { // what the first ones make is there for those that follow
		b := bringing{door: door, path: door.paths[0], name: o.next()}
		o.must(o.bring(at, key, &b))
	}
	s.stop()
	var tries []bringing
	for _, door := range intakeDoors {
		way := o.way(door, key)
		t.Logf("%s: %s", door.name, strings.Join(way, " "))
		for i, point := range way {
			tries = append(tries, bringing{door: door, path: door.paths[i%len(door.paths)], point: point})
		}
	}
	if len(tries) < 100 {
		t.Errorf("only %d points", len(tries))
	}
	tries = thirdOf(t, tries)
	// Each process takes one after the other until it dies.
	var all sync.WaitGroup
	var mu sync.Mutex
	var sent []bringing
	next := make(chan bringing)
	for range 4 {
		all.Go(func() {
			for b := range next {
				at := port(t)
				o.dies(b.point, func(p *os.Process, dead <-chan struct{}) {
					listens(at, dead)
					for {
						b.name, b.answered = o.next(), false
						err := o.bring(at, key, &b)
						mu.Lock()
						sent = append(sent, b)
						mu.Unlock()
						if errors.As(err, new(refusal)) {
							t.Errorf("before a death at %s: %v", b.point, err)
							_ = p.Kill()
						}
						if err != nil {
							return
						}
					}
				}, "serve", "--roles", "http", "--set", "listen_http="+at)
			}
		})
	}
	for _, b := range tries {
		next <- b
	}
	close(next)
	all.Wait()

	at = port(t)
	s = o.serve("--roles", "http", "--set", "listen_http="+at)
	listens(at, nil)
	unanswered := 0
	for i := range sent {
		if !sent[i].answered {
			unanswered++
		}
		for range 2 {
			if sent[i].door.keyed {
				o.must(o.bring(at, key, &sent[i]))
			}
		}
	}
	s.stop()
	o.emptied()
	for _, b := range sent {
		if n := o.count(b.door.rows, b.name); n > 1 || n == 0 && b.answered {
			t.Errorf("%d of %s, which came by %s (%s) and was answered: %v, after a death at %s", n, b.name, b.door.name, path.Base(b.path), b.answered, b.point)
		}
	}
	if unanswered < len(tries)*3/4 {
		t.Errorf("of %d processes that died only %d have left something unanswered", len(tries), unanswered)
	}
	o.sound()
}
