package forms

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// gate takes forms into a drop folder. There are no servers behind it, and the deposits that
// wait in the queue are those of rings.
type gate struct {
	t     *testing.T
	drop  *drop.Folder
	at    string // where it is
	app   app.Resources
	rings *waiting

	app.LiveState
	app.Effects
	profiles *profile.Set
}

// waiting is how many deposits and queries each user has in the deposit queues.
type waiting struct {
	eventstore.Rings
	of, queries map[string]int
}

func (w *waiting) Waiting(_ context.Context, queue, user string) ([]string, error) {
	if queue == fair.QueueQuery {
		return make([]string, w.queries[user]), nil
	}
	return make([]string, w.of[user]), nil
}

func (g *gate) Profiles() (*profile.Set, error) { return g.profiles, nil }

func (g *gate) Handler(context.Context) (*eventstore.Handler, error) {
	return &eventstore.Handler{Rings: g.rings}, nil
}

// newGate returns a gate with the profiles test and rocks.
func newGate(t *testing.T) *gate {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/profiles/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"test", "rocks"} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), bytes.ReplaceAll(text, []byte(": demo\n"), []byte(": "+name+"\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := &gate{t: t, at: filepath.Join(t.TempDir(), "drop"), rings: &waiting{of: map[string]int{}, queries: map[string]int{}}}
	if g.profiles, err = profile.Load(dir); err != nil {
		t.Fatal(err)
	}
	if g.drop, err = drop.Open(g.at, "here"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.drop.Close(); err != nil {
			t.Error(err)
		}
	})
	g.app = app.Resources{LiveState: g, Effects: g, DepositQueues: func(context.Context) (eventstore.DepositQueues, error) { return openQueues{}, nil },
		Drop: func(bool) (*drop.Folder, error) { return g.drop, nil }, UploadLimit: 4 << 10, WaitingLimit: 10}
	return g
}

// openQueues are deposit queues of which nothing is set.
type openQueues struct{ eventstore.DepositQueues }

// QueueSettings implements eventstore.DepositQueues.
func (openQueues) QueueSettings(context.Context, string) (s eventstore.QueueSettings, err error) {
	return s, nil
}

// Authenticate knows ana and bob, who deposit, olga, who is an operator, and rob, who reads.
func (g *gate) Authenticate(_ context.Context, c people.Credential, _ string) (access.Caller, string, error) {
	in := func(role access.Role, scope access.Scope) []access.Right {
		return []access.Right{{Role: role, Scope: scope}}
	}
	known := map[string][]access.Right{"ana": in(access.Depositor, access.In("test")), "bob": in(access.Depositor, access.In("rocks")), "rob": in(access.Reader, access.Everywhere),
		"olga": append(in(access.Operator, access.In("test")), in(access.Depositor, access.In("test"))...)}
	if rights, ok := known[c.Name]; ok && c.Password == "correct horse battery" {
		return access.Caller{Name: c.Name, Rights: rights}, "password", nil
	}
	return access.Caller{}, "", &app.Error{Kind: app.Unauthenticated, Err: errors.New("not valid")}
}

// unread is a body of which nothing may be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

// patientRecorder records an answer, and has deadlines.
type patientRecorder struct{ *httptest.ResponseRecorder }

func (patientRecorder) SetReadDeadline(time.Time) error { return nil }

// send answers a request by the form that has its path.
func (g *gate) send(r *http.Request) (*httptest.ResponseRecorder, error) {
	g.t.Helper()
	w := httptest.NewRecorder()
	var c people.Credential
	c.Name, c.Password, _ = r.BasicAuth()
	for _, f := range Table() {
		if f.Path == r.URL.Path && f.Method == r.Method {
			return w, f.Answer(&Exchange{App: &app.App{Open: g.app}, People: g, From: "192.0.2.1", Header: c, W: patientRecorder{w}, R: r})
		}
	}
	g.t.Fatalf("no form has the path %s", r.URL.Path)
	return w, nil
}

// replay sends a recorded request.
func (g *gate) replay(name string) (*httptest.ResponseRecorder, error) {
	g.t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".http")
	if err != nil {
		g.t.Fatal(err)
	}
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		g.t.Fatal(err)
	}
	return g.send(r)
}

// part is a part of a form; with a file name it is a file.
type part struct{ name, value, file string }

// post sends a form as a user.
func (g *gate) post(user, path string, parts ...part) (*httptest.ResponseRecorder, error) {
	g.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	for _, p := range parts {
		create := func() (io.Writer, error) { return m.CreateFormField(p.name) }
		if p.file != "" {
			create = func() (io.Writer, error) { return m.CreateFormFile(p.name, p.file) }
		}
		w, err := create()
		if err == nil {
			_, err = io.WriteString(w, p.value)
		}
		if err != nil {
			g.t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		g.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, path, &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.SetBasicAuth(user, "correct horse battery")
	return g.send(r)
}

// dropped returns what is in the drop folder, where nothing else is left.
func (g *gate) dropped() (all []drop.Deposit) {
	g.t.Helper()
	for d, err := range g.drop.All(g.t.Context()) {
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, d)
	}
	if aside, err := filepath.Glob(filepath.Join(g.at, "aside", "*")); err != nil || len(aside) != 0 {
		g.t.Errorf("left: %v (%v)", aside, err)
	}
	return all
}

// TestRecordedFormsOfMerritt: each becomes the deposit that it asks for, and is answered as
// its client expects.
// Shows: P1
func TestRecordedFormsOfMerritt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]drop.Deposit{
		"object-ingest": {Type: domain.TypeContainerBatchManifest, Mode: "add", FileName: "harbour.checkm"},
		"object-ingest-file": {Type: domain.TypeFile, Mode: "add", FileName: "letter.txt", LocalIDs: []string{"letter-7", "harbour/7"},
			Creator: "Harbour Office", Title: "A letter", Date: "1923", Digest: "sha256:"},
		"object-update": {Type: domain.TypeFile, Mode: "update", FileName: "letter.txt", Primary: "ark:/99999/fk4letter", Digest: "md5:"},
		"object-ingest-library": {Type: domain.TypeObjectManifest, Mode: "add", FileName: "mrt-ingest20261127-13342-z3nh3m", LocalIDs: []string{"harbour-8"},
			Creator: "Harbour Office", Title: "Tides", Date: "1923"},
		"object-ingest-container": {Type: domain.TypeContainer, Mode: "add", FileName: "letters.zip"},
		"object-ingest-manifest":  {Type: domain.TypeObjectManifest, Mode: "add", FileName: "object.checkm"},
		"object-ingest-objects":   {Type: domain.TypeBatchManifest, Mode: "add", FileName: "objects.checkm"},
		"object-update-files":     {Type: domain.TypeFileBatchManifest, Mode: "update", FileName: "files.checkm"},
		"poster-submit":           {Type: domain.TypeContainerBatchManifest, Mode: "add", FileName: "harbour.checkm"},
		"poster-manifest":         {Type: domain.TypeObjectManifest, Mode: "add", FileName: "object.checkm", LocalIDs: []string{"harbour-8"}},
		"poster-batch-manifest":   {Type: domain.TypeBatchManifest, Mode: "add", FileName: "objects.checkm"},
		"poster-files":            {Type: domain.TypeFileBatchManifest, Mode: "add", FileName: "files.checkm"},
		"poster-container":        {Mode: "add", FileName: "letters.zip", LocalIDs: []string{"harbour-4", "harbour-5"}}, // its type is found out later
		"poster-objects":          {Type: domain.TypeBatchManifest, Mode: "add", FileName: "objects.checkm"},
		"poster-update":           {Type: domain.TypeFile, Mode: "update", FileName: "letter.txt", Title: "A letter", LocalIDs: []string{"letter-7"}},
		"poster-update-files":     {Type: domain.TypeFileBatchManifest, Mode: "update", FileName: "files.checkm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			w, err := g.replay(name)
			if err != nil {
				t.Fatal(err)
			}
			all := g.dropped()
			if len(all) != 1 {
				t.Fatalf("%v", all)
			}
			got := all[0]
			want.ID, want.Received, want.Size, want.SHA256 = got.ID, got.Received, got.Size, got.SHA256
			want.Submitter, want.User, want.Profile = "ana", "ana", "test"
			if kind, _, ok := strings.Cut(want.Digest, ":"); ok && strings.HasPrefix(got.Digest, kind+":") {
				want.Digest = got.Digest
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			content, err := os.ReadFile(g.drop.Path(got))
			recorded, rerr := os.ReadFile("testdata/" + name + ".http")
			if err := errors.Join(err, rerr); err != nil || len(content) == 0 || !bytes.Contains(recorded, append([]byte("\r\n\r\n"), content...)) {
				t.Errorf("%s (%v)", content, err)
			}
			if w.Code != http.StatusOK || w.Header().Get("Location") != "/v1/uploads/"+got.ID {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			answered(t, w, batchState{Namespace: batchNamespace, ID: got.ID, Status: "QUEUED", Agent: "ana", At: got.Received.Format(time.RFC3339), Update: want.Mode == "update"})
		})
	}
}

// TestEveryTypeIsRecorded: every spelling of a type, and every form of Merritt's, is in a
// recorded request.
func TestEveryTypeIsRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.http")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	for kind := range merrittTypes {
		if !regexp.MustCompile(`(?i)name="type"\r\n([^\r\n]+\r\n)*\r\n` + kind + `\r\n`).Match(all) {
			t.Errorf("no recorded request has the type %s", kind)
		}
	}
	for _, f := range Table() {
		if strings.HasPrefix(f.Path, "/object/") || strings.HasPrefix(f.Path, "/poster/") {
			if !bytes.Contains(all, []byte(f.Method+" "+f.Path+" HTTP/1.1\r\n")) {
				t.Errorf("no recorded request is about %s", f.Path)
			}
		}
	}
}

// answered compares an answer, in whichever form it is.
func answered(t *testing.T, w *httptest.ResponseRecorder, want batchState) {
	t.Helper()
	var got batchState
	var err error
	switch kind := w.Header().Get("Content-Type"); kind {
	case "text/xml; charset=utf-8":
		var in struct {
			XMLName xml.Name
			ID      string `xml:"batchID"`
			Status  string `xml:"batchStatus"`
			Agent   string `xml:"userAgent"`
			At      string `xml:"submissionDate"`
			Update  bool   `xml:"updateFlag"`
		}
		err = xml.Unmarshal(w.Body.Bytes(), &in)
		if in.XMLName.Local == "batchState" {
			got = batchState{Namespace: in.XMLName.Space, ID: in.ID, Status: in.Status, Agent: in.Agent, At: in.At, Update: in.Update}
		}
	case "application/json":
		var in map[string]batchState
		err = json.Unmarshal(w.Body.Bytes(), &in)
		got = in["bat:batchState"]
	case "text/x-anvl; charset=utf-8":
		got.Namespace = batchNamespace
		_, err = fmt.Sscanf(w.Body.String(), "batchID: %s\nbatchStatus: %s\nuserAgent: %s\nsubmissionDate: %s\nupdateFlag: %t\n", &got.ID, &got.Status, &got.Agent, &got.At, &got.Update)
	default:
		t.Errorf("the answer is %s", kind)
	}
	if err != nil || got != want {
		t.Errorf("%s\n%+v, want %+v (%v)", w.Body, got, want, err)
	}
}

// TestFormsOfMerrittThatAreRefused: each by the field that is wrong, wherever that comes, and
// nothing of them is left.
func TestFormsOfMerrittThatAreRefused(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	file := part{"file", "a letter\n", "letter.txt"}
	is := func(name, value string) part { return part{name: name, value: value} }
	test, plain := is("profile", "test"), is("type", "file")
	const ingest, update = "/object/ingest", "/object/update"
	for name, c := range map[string]struct {
		user, path string
		parts      []part
		kind       app.Kind
		says       string
	}{
		"an unknown user":          {"eve", ingest, []part{file, test}, app.Unauthenticated, ""},
		"no right":                 {"rob", ingest, []part{test}, app.Forbidden, "in any collection"},
		"no right in it":           {"bob", ingest, []part{test, plain}, app.Forbidden, "in the collection test"},
		"no profile":               {"ana", ingest, []part{plain}, app.Invalid, "no field profile"},
		"an unknown profile":       {"ana", ingest, []part{is("profile", "sand")}, app.Forbidden, ""},
		"a field that there isn't": {"ana", ingest, []part{test, is("colour", "red")}, app.Invalid, `the field "colour" is not served`},
		"a note":                   {"ana", ingest, []part{test, is("note", "by hand")}, app.Invalid, `the field "note"`},
		"a mail address":           {"ana", ingest, []part{test, is("notification", "a@example.org")}, app.Invalid, `the field "notification"`},
		"a Dublin Core title":      {"ana", ingest, []part{test, is("DC.title", "A")}, app.Invalid, `the field "DC.title"`},
		"at once":                  {"ana", ingest, []part{test, is("synchronousMode", "true")}, app.Invalid, "the field synchronousMode"},
		"an unknown type":          {"ana", ingest, []part{test, is("type", "folder")}, app.Invalid, `the field type is "folder"`},
		"an unknown answer":        {"ana", ingest, []part{test, is("responseForm", "turtle")}, app.Invalid, `the field responseForm is "turtle"`},
		"a type twice":             {"ana", ingest, []part{test, plain, is("type", "container")}, app.Invalid, `the field "type" comes twice`},
		"a digest without a type":  {"ana", ingest, []part{test, is("digestValue", "00")}, app.Invalid, "digestType and digestValue only one"},
		"a type without a digest":  {"ana", ingest, []part{test, is("digestType", "md5")}, app.Invalid, "digestType and digestValue only one"},
		"an unknown digest":        {"ana", ingest, []part{test, is("digestType", "md2"), is("digestValue", "00")}, app.Invalid, `the digest algorithm "md2"`},
		"a short digest":           {"ana", ingest, []part{test, is("digestType", "md5"), is("digestValue", "00")}, app.Invalid, "digestValue"},
		"another file":             {"ana", ingest, []part{test, is("digestType", "sha-256"), is("digestValue", strings.Repeat("0", 64))}, app.Invalid, "has the SHA-256"},
		"another submitter":        {"ana", ingest, []part{test, is("submitter", "bob/Bob")}, app.Forbidden, "for another user"},
		"an update of nothing":     {"ana", update, []part{test, plain}, app.Invalid, "must name its object"},
		"one name of many":         {"ana", ingest, []part{test, is("type", "batch-manifest"), is("localIdentifier", "a")}, app.Invalid, "type and localIdentifier contradict"},
		"one ark of many":          {"ana", update, []part{test, is("type", "batchManifestFile"), is("primaryIdentifier", "ark:/99999/fk4a")}, app.Invalid, "type and primaryIdentifier contradict"},
		"a title of two lines":     {"ana", ingest, []part{test, is("title", "a\nb")}, app.Invalid, "the title"},
		"a name with a slash":      {"ana", ingest, []part{test, is("filename", "a/..")}, app.Invalid, ""},
		"a second file":            {"ana", ingest, []part{test, {"more", "b", "b.txt"}}, app.Invalid, `second file, "b.txt", in the field "more"`},
	} {
		for order, parts := range map[string][]part{"before": append(c.parts[:len(c.parts):len(c.parts)], file), "behind": append([]part{file}, c.parts...)} {
			if name == "a second file" && order == "before" {
				continue // it is a field then, of which the next case knows
			}
			w, err := g.post(c.user, c.path, parts...)
			fault, ok := errors.AsType[*app.Error](err)
			if !ok || fault.Kind != c.kind || !strings.Contains(err.Error(), c.says) || w.Body.Len() > 0 {
				t.Errorf("%s %s the file: %v %s", name, order, err, w.Body)
			}
		}
	}
	for name, parts := range map[string][]part{"no file": {test, plain}, "a text as file": {is("file", "x"), test}} {
		if _, err := g.post("ana", ingest, parts...); err == nil || !strings.Contains(err.Error(), "file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := g.post("ana", ingest, file, test, is("filename", "other.txt")); err == nil || !strings.Contains(err.Error(), `the field filename comes after the file, which is named "letter.txt"`) {
		t.Error(err)
	}
	if _, err := g.post("ana", ingest, test, part{"file", "a", ".."}); err == nil || !strings.Contains(err.Error(), "no name of a file") {
		t.Error(err)
	}
	if _, err := g.post("ana", ingest, part{"file", strings.Repeat("x", 5<<10), "a.txt"}, test); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
	if all := g.dropped(); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

// TestOperatorsDepositForOthers: and what they deposit counts for those.
func TestOperatorsDepositForOthers(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	file, test, whose := part{"file", "a", "a.txt"}, part{name: "profile", value: "test"}, part{name: "submitter", value: "ana/Ana"}
	g.rings.of["olga"] = 10
	for _, parts := range [][]part{{test, whose, file}, {file, test, whose}} {
		if _, err := g.post("olga", "/poster/submit", parts...); err != nil {
			t.Fatal(err)
		}
	}
	g.rings.of["ana"] = 8 // beside two in the drop folder
	for _, parts := range [][]part{{test, whose, file}, {file, test, whose}, {test, file}} {
		if _, err := g.post("olga", "/poster/submit", parts...); err == nil || !strings.Contains(err.Error(), "10 of your deposits wait") {
			t.Error(err)
		}
	}
	for _, d := range g.dropped() {
		if d.Submitter != "ana" {
			t.Errorf("%+v", d)
		}
	}
}

// TestFullBeforeTheBody: a depositor with too many waiting deposits is refused before a byte
// of the form is read, and may deposit as soon as one is done.
func TestFullBeforeTheBody(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	for _, path := range []string{"/object/ingest", "/object/update", "/poster/submit", "/poster/update"} {
		g.rings.of["ana"] = 10
		r := httptest.NewRequest(http.MethodPost, path, unread{t})
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.SetBasicAuth("ana", "correct horse battery")
		_, err := g.send(r)
		if fault, ok := errors.AsType[*app.Error](err); !ok || fault.Kind != app.Full || fault.RetryAfter == 0 || !strings.Contains(err.Error(), "10 of your deposits wait, and at most 10 may") {
			t.Errorf("%s: %v", path, err)
		}
	}
	g.rings.of["ana"] = 8
	for _, left := range []string{"1", "0"} {
		if w, err := g.replay("object-ingest"); err != nil || w.Header().Get("RateLimit") != `"waiting-deposits";r=`+left {
			t.Error(err, w.Header())
		}
	}
	if _, err := g.replay("object-ingest"); err == nil {
		t.Error("eight wait in the queue and two in the drop folder")
	}
}

// TestCrossrefFullBeforeTheBody: who is known by the header or the URL and has no room for what
// the URL asks for, or for anything that the body may, is refused before the body is read; who is
// known by fields of the body is refused before the file is.
func TestCrossrefFullBeforeTheBody(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	const inURL = "login_id=ana&login_passwd=correct+horse+battery"
	for _, c := range []struct {
		path              string
		known             bool // by the header
		deposits, queries int  // that wait
		what              string
		before            string // the fields of the body before its file
	}{
		{path: "/servlet/deposit", known: true, deposits: 10, queries: 10, what: "deposits"},
		{path: "/servlet/deposit?" + inURL, deposits: 10, queries: 10, what: "deposits"},
		{path: "/servlet/deposit?operation=doMDUpload", known: true, deposits: 10, what: "deposits"},
		{path: "/servlet/deposit?operation=doMDUpload&" + inURL, deposits: 10, what: "deposits"},
		{path: "/servlet/deposit?operation=doQueryUpload", known: true, queries: 10, what: "queries"},
		{path: "/servlet/deposit?operation=doDOIQueryUpload&" + inURL, queries: 10, what: "queries"},
		{path: "/v2/deposits", known: true, deposits: 10, what: "deposits"},
		{path: "/v2/deposits?" + inURL, deposits: 10, what: "deposits"},
		{path: "/servlet/deposit", known: true, deposits: 10, what: "deposits", before: "operation=doMDUpload profile=test"},
		{path: "/servlet/deposit", known: true, queries: 10, what: "queries", before: "operation=doQueryUpload"},
		{path: "/servlet/deposit", deposits: 10, what: "deposits", before: "usr=ana pwd=correct-horse-battery profile=test"},
		{path: "/servlet/deposit", queries: 10, what: "queries", before: "operation=doDOIQueryUpload usr=ana pwd=correct-horse-battery"},
		{path: "/v2/deposits", deposits: 10, what: "deposits", before: "login_id=ana login_passwd=correct-horse-battery profile=test"},
	} {
		g.rings.of["ana"], g.rings.queries["ana"] = c.deposits, c.queries
		var body strings.Builder
		for _, field := range strings.Fields(c.before) {
			name, value, _ := strings.Cut(field, "=")
			if name != "profile" {
				value = strings.ReplaceAll(value, "-", " ")
			}
			fmt.Fprintf(&body, "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, value)
		}
		if c.before != "" {
			body.WriteString("--b\r\nContent-Disposition: form-data; name=\"fname\"; filename=\"a.xml\"\r\n\r\n")
		}
		r := httptest.NewRequest(http.MethodPost, c.path, io.MultiReader(strings.NewReader(body.String()), unread{t}))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		if c.known {
			r.SetBasicAuth("ana", "correct horse battery")
		}
		_, err := g.send(r)
		if fault, ok := errors.AsType[*app.Error](err); !ok || fault.Kind != app.Full || fault.RetryAfter == 0 || !strings.Contains(err.Error(), "10 of your "+c.what+" wait, and at most 10 may") {
			t.Errorf("%s, %q: %v", c.path, c.before, err)
		}
	}
	// Who has room for one of two is asked for the body, whichever the URL leaves open.
	g.rings.of["ana"], g.rings.queries["ana"] = 10, 0
	list := part{"fname", "\n", "list.txt"}
	for _, path := range []string{"/servlet/deposit", "/servlet/deposit?operation=doQueryUpload"} {
		if _, err := g.post("ana", path, part{name: "operation", value: "doQueryUpload"}, list); err == nil || !strings.Contains(err.Error(), "identifier") {
			t.Errorf("a query of one of whom too many deposits wait: %v", err)
		}
	}
	// Who may not deposit is told that, also if too many wait.
	g.rings.of["rob"] = 10
	_, err := g.post("rob", "/v2/deposits", part{name: "profile", value: "test"}, part{"mdFile", "<doc_batch/>", "a.xml"})
	if fault, ok := errors.AsType[*app.Error](err); !ok || fault.Kind != app.Forbidden {
		t.Errorf("without the right: %v", err)
	}
}
