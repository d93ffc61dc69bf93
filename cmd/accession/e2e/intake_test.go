package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// closedDoor is an installation whose service is asked in every way that takes deposits.
type closedDoor struct {
	*door
	ana, bob string // keys of depositors; bob may also ask queries
	url      string // of a payload
}

// deposits tries every way to deposit as a user, and returns the answers by their names.
func (c *closedDoor) deposits(key string) map[string]answer {
	c.in.t.Helper()
	article := field{"fname", "<doc_batch/>", "a.xml"}
	merritt := []field{{name: "profile", value: "test"}, {name: "type", value: "file"}, {"file", "x", "a.txt"}}
	all := map[string]answer{
		"submissions": c.ask(key, "POST", "/v1/submissions", fmt.Sprintf(`{"profile":"test","url":%q,"type":"file"}`, c.url)),
		"synchronous": c.ask(key, "POST", "/v1/submissions", fmt.Sprintf(`{"profile":"test","url":%q,"type":"file","synchronous":true}`, c.url)),
		"uploads":     c.ask(key, "POST", "/v1/uploads?profile=test&name=a.txt", "x"),
		"resumable":   c.begins(key, 8, tusMetadata("profile=test", "filename=a.txt", "type=file")),
	}
	for _, path := range []string{"/servlet/deposit", "/v2/deposits"} {
		all[path] = c.post(key, path, article)
	}
	for _, path := range []string{"/object/ingest", "/poster/submit"} {
		all[path] = c.post(key, path, merritt...)
	}
	return all
}

// newer sets a setting with a field that this program does not know, as a newer one would: what
// it knows counts as before, a check finds nothing wrong, and a change is refused, so that the
// field stays.
func (c *closedDoor) newer(node string) {
	c.in.t.Helper()
	conn, _, err := zk.Connect([]string{c.in.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	c.in.must(err)
	defer conn.Close()
	node = c.in.settings["zookeeper_root"] + node
	was, stat, err := conn.Get(node)
	c.in.must(err)
	with := strings.Replace(string(was), "{", `{"later":{"a":1},`, 1)
	_, err = conn.Set(node, []byte(with), stat.Version)
	c.in.must(err)
	config := strings.TrimSuffix(node, "/defaults")
	_, err = conn.Set(config, nil, -1) // as each change does, so that all processes read it
	c.in.must(err)
	c.in.says(0, words("verify"), "no differences")
	c.in.says(0, words("verify --repair --yes"), "no differences")
	for _, line := range []string{"intake open metadata --reason x", "queue defaults metadata --allocation 3 --reason x"} {
		c.in.says(3, words(line), "was set by a newer program")
	}
	if text := c.in.says(0, words("queue show metadata"), "closed until 18:00"); strings.Contains(text, "cannot be read") {
		c.in.t.Error(text)
	}
	for _, a := range c.deposits(c.ana) {
		a.is(c.door, 503, app.IntakeClosed)
	}
	now, stat, err := conn.Get(node)
	if c.in.must(err); string(now) != with {
		c.in.t.Errorf("%s is %s, want %s", node, now, with)
	}
	_, err = conn.Set(node, was, stat.Version)
	c.in.must(err)
	_, err = conn.Set(config, nil, -1)
	c.in.must(err)
}

// keyed requests one deposit or query of each kind under a key of its own, and returns their ids.
func (c *closedDoor) keyed() map[string]string {
	c.in.t.Helper()
	ids := map[string]string{}
	for name, a := range map[string]answer{
		"submissions": c.ask(c.ana, "POST", "/v1/submissions", fmt.Sprintf(`{"profile":"test","url":%q,"type":"file"}`, c.url), "Idempotency-Key: a submission"),
		"uploads":     c.send(c.ana, "POST", "/v1/uploads?profile=test&type=file&name=keyed.txt", strings.NewReader("x"), "Idempotency-Key: an upload"),
		"synchronous": c.send(c.ana, "POST", "/v1/uploads/synchronous?profile=test&type=file&name=at-once.txt", strings.NewReader("x"), "Idempotency-Key: at once"),
		"resumable":   c.begins(c.ana, 8, tusMetadata("profile=test", "filename=keyed.txt", "type=file"), "Idempotency-Key: in pieces"),
		"queries":     c.ask(c.bob, "POST", "/v1/queries", "ark:/99999/fk4x\n", "Idempotency-Key: a query"),
	} {
		var made struct{ ID string }
		if ids[name] = a.header.Get("Location"); ids[name] == "" {
			a.into(c.door, &made)
			ids[name] = made.ID
		}
		if a.status >= 300 {
			c.in.t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	return ids
}

// TestIntakeClosed: while administrators have closed the intake, in every process every way
// to deposit answers with their message, for one user or for all. What was accepted before
// goes on, and is answered as it was when it is requested again under its key; and it is open
// again after that.
// Shows: P1
func TestIntakeClosed(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0", "transfer_interval=50ms")
	in.editProfile("fetch:", takesArticles+"fetch:")
	list := filepath.Join(t.TempDir(), "list.txt")
	in.must(os.WriteFile(list, []byte("ark:/99999/fk4x\n"), 0o600))
	c := &closedDoor{url: goodServer(t) + "/a.txt", ana: in.keyOf("ana", "depositor", "--collection", "test"), bob: in.keyOf("bob", "depositor", "--collection", "test")}
	in.says(0, words("user grant bob reader --all"))
	olga, root := in.keyOf("olga", "operator", "--all"), in.keyOf("root", "admin", "--all")
	c.door = in.doorOf(in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...))
	in.says(0, words("drop stop --reason before"))
	before := in.droppedBy("ana", "before.txt", "accepted before", "test")
	begun := c.begins(c.ana, 3, tusMetadata("profile=test", "filename=begun.txt", "type=file")).header.Get("Location")
	var first app.Submitted
	again := fmt.Sprintf(`{"profile":"test","url":%q,"type":"file"}`, c.url)
	c.ask(c.ana, "POST", "/v1/submissions", again, "Idempotency-Key: one").into(c.door, &first)
	repeated := c.keyed()

	// An operator may not; a message and a reason are needed; a try changes nothing.
	const closing = `{"message":"closed until 18:00","reason":"upgrade"}`
	c.ask(olga, "POST", "/v1/intake/metadata/close", closing).is(c.door, 403, app.Forbidden)
	c.ask(root, "POST", "/v1/intake/metadata/close", `{"message":" ","reason":"x"}`).is(c.door, 400, app.Invalid)
	c.ask(root, "POST", "/v1/intake/metadata/close", `{"message":"x","reason":""}`).is(c.door, 400, app.Invalid)
	in.says(2, []string{"intake", "close", "--message", "two\nlines", "--reason", "x"}, "line break")
	in.says(2, words("intake close metadata --reason x"), "message")
	in.says(0, []string{"intake", "close", "--message", "closed until 18:00", "--reason", "upgrade", "--dry-run"}, "closed=")
	in.says(0, words("intake show"), "every intake is open")

	in.says(0, []string{"intake", "close", "--message", "closed until 18:00", "--reason", "upgrade"})
	waitFor(t, "the service to know it", func() bool {
		return c.ask(c.ana, "POST", "/v1/uploads?profile=nowhere&name=a.txt", "x").status != 503 && // who may not deposit is not told
			c.ask(c.ana, "POST", "/v1/submissions", again).status == 503
	})
	for name, a := range c.deposits(c.ana) {
		if a.is(c.door, 503, app.IntakeClosed); a.header.Get("Retry-After") != "300" || !strings.Contains(a.Detail, "closed until 18:00") || a.Exit != 12 {
			t.Errorf("%s: %v %s", name, a.header, a.body)
		}
	}
	waitFor(t, "the service to take no query", func() bool {
		a := c.ask(c.bob, "POST", "/v1/queries", "ark:/99999/fk4x\n")
		return a.status == 503 && a.Code == string(app.IntakeClosed)
	})
	for name, id := range c.keyed() {
		if id != repeated[name] || id == "" {
			t.Errorf("%s: %q, then %q while the intake is closed", name, repeated[name], id)
		}
	}
	upload := func(name, key string) answer {
		return c.send(c.ana, "POST", "/v1/uploads?profile=test&type=file&name="+name, strings.NewReader("x"), "Idempotency-Key: "+key)
	}
	upload("other.txt", "an upload").is(c.door, 422, app.KeyReused)
	upload("other.txt", "another upload").is(c.door, 503, app.IntakeClosed)
	c.post(c.bob, "/servlet/deposit", field{name: "operation", value: "doQueryUpload"}, field{"fname", "10.5555/x\n", "q.txt"}).is(c.door, 503, app.IntakeClosed)
	for _, line := range []string{"submit --profile test --submitter ana " + list, "submit --profile test --submitter ana --sync " + list, "submit --profile test --submitter ana --drop " + list, "query submit " + list} {
		in.says(12, words(line), "closed until 18:00", "try again in 5m")
	}
	in.says(0, words("status"), "the intake of metadata is closed: closed until 18:00", "accession intake open metadata")
	in.says(0, words("intake show"), "metadata", "query", "closed until 18:00", "upgrade")
	in.says(0, words("queue show metadata"), "intake closed", "closed until 18:00", "upgrade")
	var shown struct {
		Items []struct{ Queue, Message, Why string }
	}
	if c.ask(root, "GET", "/v1/intake", "").into(c.door, &shown); len(shown.Items) != 2 || shown.Items[0].Message != "closed until 18:00" || shown.Items[1].Why != "upgrade" {
		t.Errorf("%+v", shown)
	}
	in.says(3, []string{"intake", "close", "--message", "closed until 18:00", "--reason", "again"}, "is set so already")

	c.newer("/queues/metadata/config/defaults")

	// What was accepted goes on: in the drop folder, in pieces, and as a batch.
	in.says(0, words("drop start --reason now"))
	in.rest(in.transferred(before)[0])
	if a := c.piece(c.ana, begun, 0, "abc"); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	in.rest(first.Batch)

	// Open for all but one.
	in.says(0, []string{"intake", "close", "metadata", "--user", "bob", "--message", "call us", "--reason", "broken files"}, "what was accepted goes on")
	in.says(0, words("intake open --reason done"))
	waitFor(t, "the service to be open", func() bool { return c.ask(c.ana, "POST", "/v1/submissions", again).status == 202 })
	waitFor(t, "the service to refuse bob alone", func() bool {
		return strings.Contains(c.ask(c.bob, "POST", "/v1/submissions", again).Detail, "call us")
	})
	for name, a := range c.deposits(c.ana) {
		if a.Code == string(app.IntakeClosed) {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	for name, a := range c.deposits(c.bob) {
		if a.is(c.door, 503, app.IntakeClosed); !strings.Contains(a.Detail, "call us") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	in.says(0, words("status"), "closed for bob: call us", `accession intake open metadata --user "bob"`)
	in.says(12, words("submit --profile test --submitter bob "+list), "call us")
	c.ask(root, "POST", "/v1/intake/metadata/open", `{"user":"bob","reason":"mended"}`, "Idempotency-Key: open").into(c.door, &map[string]any{})
	in.says(0, words("intake show"), "every intake is open")
	in.says(0, words("submit --profile test --submitter bob "+list))
	waitFor(t, "the events to be in the tables", func() bool {
		return in.count(`select count(*) from report.queue_history where value ->> 'closed' = 'closed until 18:00' and why = 'upgrade'`) == 2 &&
			in.count(`select count(*) from report.queue_history where user_name = 'bob' and value is null and why = 'mended'`) == 1
	})
	in.agree()
}
