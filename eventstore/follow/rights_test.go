package follow_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/eventstore/codec"
)

var owner = &server.User{Username: "owner", Password: "o"}

// reader may publish to these subjects only.
func reader(allowed []string) *server.User {
	return &server.User{Username: "reader", Password: "r", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: allowed}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}}}
}

// rightsOfPage returns the rights that docs/events.md names: those that this package
// needs, and those that the nats commands need besides, for a stream of any name.
func rightsOfPage(t *testing.T) (follow, commands []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Rights")
	section, _, _ = strings.Cut(section, "## All types")
	first, second, _ := strings.Cut(section, "need besides")
	find := func(text string) []string {
		return regexp.MustCompile(`\$JS\.[A-Z.]+\.ACCESSION(\.[>*])?`).FindAllString(text, -1)
	}
	follow, commands = find(first), find(second)
	if len(follow) < 5 || len(commands) < 3 {
		t.Fatalf("the page names the rights %q and %q", follow, commands)
	}
	for _, list := range [][]string{follow, commands} {
		for i, r := range list { // this stream has another name
			list[i] = strings.Replace(r, "ACCESSION", "*", 1)
		}
	}
	return follow, commands
}

// The rights that docs/events.md names for this package are enough to follow, and do not let write.
func TestPermissions(t *testing.T) {
	t.Parallel()
	rights, _ := rightsOfPage(t)
	s := startServer(t, t.TempDir(), -1, owner, reader(rights))
	l, err := openLog("nats://owner:o@" + s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	l.mustAppend(t, waiting(1, 1), waiting(1, 2), waiting(2, 1))

	violations := make(chan error, 100)
	note := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err })
	o := l.Options
	o.URL, o.NATS = "nats://"+s.Addr().String(), []nats.Option{nats.UserInfo("reader", "r"), note}
	_, o.After = take(t, open(t, o), 1)
	o.Subjects = []string{"job/jid0000000001", "job/jid0000000002"}
	if ids, _ := take(t, open(t, o), 2); len(ids) != 2 {
		t.Errorf("got %q", ids)
	}
	nc, err := nats.Connect(o.URL, o.NATS...)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := errors.Join(nc.Flush(), nc.Publish(l.Prefix+".job.jid0000000001", nil), nc.Flush()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-violations:
		if !strings.Contains(err.Error(), l.Prefix+".job") {
			t.Errorf("following is not allowed to do what it does: %v", err)
		}
	case <-within(t).Done():
		t.Error("a reader may write")
	}
}

// The nats commands of docs/events.md may do what they ask the server with the
// rights that stand there, and need all of those that they have besides.
func TestRightsOfCommands(t *testing.T) {
	t.Parallel()
	rights, besides := rightsOfPage(t)
	few := reader(rights)
	few.Username = "few"
	s := startServer(t, t.TempDir(), -1, owner, few, reader(slices.Concat(rights, besides)))
	l, err := openLog("nats://owner:o@" + s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	l.mustAppend(t, waiting(1, 1))
	connect := func(user string) (*nats.Conn, chan error) {
		violations := make(chan error, 100)
		nc, err := nats.Connect("nats://"+s.Addr().String(), nats.UserInfo(user, "r"),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc, violations
	}

	nc, violations := connect("reader")
	var asked []string
	ask := func(subject, data string) *nats.Msg {
		t.Helper()
		asked = append(asked, subject)
		answer := make(chan *nats.Msg, 1)
		inbox := nc.NewRespInbox()
		sub, err := nc.Subscribe(inbox, func(m *nats.Msg) { answer <- m })
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
		if err := nc.PublishRequest(subject, inbox, []byte(data)); err != nil {
			t.Fatal(err)
		}
		select {
		case m := <-answer:
			var refused struct {
				Error *struct{ Description string }
			}
			if err := json.Unmarshal(m.Data, &refused); err == nil && refused.Error != nil {
				t.Fatalf("%s: %s", subject, refused.Error.Description)
			}
			return m
		case err := <-violations:
			t.Fatalf("%s: %v", subject, err)
		case <-within(t).Done():
			t.Fatalf("%s: no answer", subject)
		}
		return nil
	}
	job := l.Prefix + ".job.jid0000000001"
	ask("$JS.API.STREAM.INFO."+l.Stream, "")
	ask("$JS.API.STREAM.MSG.GET."+l.Stream, `{"seq":1}`)
	ask("$JS.API.STREAM.MSG.GET."+l.Stream, `{"last_by_subj":"`+job+`"}`)
	ask("$JS.API.CONSUMER.CREATE."+l.Stream+".my-worker."+l.Prefix+".job.*", `{"stream_name":"`+l.Stream+
		`","config":{"name":"my-worker","durable_name":"my-worker","deliver_policy":"all","ack_policy":"explicit","filter_subject":"`+l.Prefix+`.job.*"}}`)
	ask("$JS.API.CONSUMER.INFO."+l.Stream+".my-worker", "")
	next := ask("$JS.API.CONSUMER.MSG.NEXT."+l.Stream+".my-worker", `{"batch":1}`)
	if codec.Identify(codec.Message{Header: next.Header, Data: next.Data}).ID != "job/jid0000000001/1" {
		t.Fatalf("the consumer gives %s: %s", next.Subject, next.Data)
	}
	ask(next.Reply, "+ACK")

	nc, violations = connect("few")
	for _, right := range besides {
		i := slices.IndexFunc(asked, func(subject string) bool { return server.SubjectsCollide(right, subject) })
		if i < 0 {
			t.Errorf("no command needs %s", right)
			continue
		}
		if err := errors.Join(nc.Publish(asked[i], nil), nc.Flush()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-violations:
			if !strings.Contains(err.Error(), asked[i]) {
				t.Errorf("%s: %v", asked[i], err)
			}
		case <-within(t).Done():
			t.Errorf("%s may be asked without %s", asked[i], right)
		}
	}
}
