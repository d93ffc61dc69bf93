package follow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/follow"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
)

// A reader sees all that the envelope says, and the data as it was written.
func TestEvent(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	m := waiting(7, 1)
	m.Data = bytes.Replace(m.Data, []byte(`,"data":{`), []byte(`,"causationid":"job/jid0000000006/3","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","data":{"added_later":1,`), 1)
	before := time.Now().Add(-time.Minute)
	l.mustAppend(t, m)
	for e, err := range open(t, l.Options).Events(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Stored.Before(before) || e.Position.Created.Before(before) {
			t.Errorf("stored at %s, stream created at %s", e.Stored, e.Position.Created)
		}
		_, data, _ := bytes.Cut(bytes.TrimSuffix(m.Data, []byte("}")), []byte(`"data":`))
		want := follow.Event{ID: "job/jid0000000007/1", Type: "job.waiting", Subject: "job/jid0000000007", Version: 1,
			Time: time.UnixMilli(1_700_000_000_000).UTC(), Stored: e.Stored, Batch: "bid0000000002", Actor: "daemon/test",
			Command: "command of job/jid0000000007/1", Cause: "job/jid0000000006/3", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			Source: "/accession/test", Zxid: 1, Epoch: 1, Data: data, DataVersion: 1,
			Position: follow.Position{Stream: l.Stream, Created: e.Position.Created, Seq: 1, ID: "job/jid0000000007/1", Command: "command of job/jid0000000007/1"}}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		break
	}
}

// A log whose first events are in binary mode, and later ones in structured mode, is read
// as one; positions in the first part, as earlier builds stored them, stay valid.
func TestBothModes(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	newer := []codec.Message{waiting(1, 1), waiting(2, 1), waiting(1, 2)}
	for _, m := range newer {
		l.mustAppend(t, inBinaryMode(t, m))
	}
	l.mustAppend(t, waiting(2, 2), waiting(1, 3))
	var all []follow.Event
	for e, err := range open(t, l.Options).Events(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, e); len(all) == 5 {
			break
		}
	}
	other := newLog(t) // the same history, all of it in structured mode
	other.mustAppend(t, append(newer, waiting(2, 2), waiting(1, 3))...)
	n := 0
	for e, err := range open(t, other.Options).Events(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		want := all[n]
		e.Stored, e.Position.Created, e.Position.Stream = want.Stored, want.Position.Created, want.Position.Stream
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("event %d (-binary +structured):\n%s", n+1, diff)
		}
		if n++; n == 5 {
			break
		}
	}
	for _, command := range []string{all[1].Position.Command, "command%20of%20job/jid0000000002/1"} {
		o := l.Options
		o.After = all[1].Position
		o.After.Command = command
		if ids, _ := take(t, open(t, o), 3); ids[0] != all[2].ID {
			t.Errorf("after %s of %q: %v", o.After.ID, command, ids)
		}
	}
	o := l.Options
	o.After = all[1].Position
	o.After.Command = "another"
	if _, err := follow.Open(within(t), o); !errors.Is(err, follow.ErrStream) {
		t.Errorf("an event of another command is there: %v", err)
	}
}

// inBinaryMode returns a message as earlier builds wrote it.
func inBinaryMode(t *testing.T, m codec.Message) codec.Message {
	t.Helper()
	r, err := codec.Decode(m)
	if err == nil {
		m, err = binarymode.Encode(r, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// After a break everything that was not dealt with comes, once and in order,
// whatever the filter, and wherever the break was.
func TestResume(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	job := func(n int64) string { return domain.NewJobID(n).Aggregate().String() }
	for v := range int64(4) {
		l.mustAppend(t, waiting(1, v+1), waiting(2, v+1), held(3, v+1), waiting(4, v+1))
	}
	for name, tc := range map[string]struct {
		change func(*follow.Options)
		want   func(m codec.Message) bool
	}{
		"everything": {func(*follow.Options) {}, func(codec.Message) bool { return true }},
		"a type":     {func(o *follow.Options) { o.Types = []string{"job.waiting"} }, func(m codec.Message) bool { return m.Subject[:3] == "job" }},
		"a kind":     {func(o *follow.Options) { o.Types = []string{"batch.*"} }, func(m codec.Message) bool { return m.Subject[:3] == "bat" }},
		"two kinds":  {func(o *follow.Options) { o.Types = []string{"batch.held", "job.*"} }, func(codec.Message) bool { return true }},
		"a subject":  {func(o *follow.Options) { o.Subjects = []string{job(2)} }, func(m codec.Message) bool { return strings.HasSuffix(m.Subject, "2") }},
		"subjects": {func(o *follow.Options) { o.Subjects = []string{job(2), job(4), job(2)} },
			func(m codec.Message) bool { return m.Subject[:3] == "job" && !strings.HasSuffix(m.Subject, "1") }},
		"a subject's type": {func(o *follow.Options) {
			o.Subjects, o.Types = []string{job(2), "batch/bid0000000003"}, []string{"batch.held"}
		},
			func(m codec.Message) bool { return m.Subject[:3] == "bat" }},
		"a batch": {func(o *follow.Options) { o.Batch = "bid0000000001" },
			func(m codec.Message) bool { return bytes.Contains(m.Data, []byte(`"batchid":"bid0000000001"`)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for v := range int64(4) {
				for _, m := range []codec.Message{waiting(1, v+1), waiting(2, v+1), held(3, v+1), waiting(4, v+1)} {
					if tc.want(m) {
						want = append(want, codec.Identify(m).ID)
					}
				}
			}
			o := l.Options
			tc.change(&o)
			for cut := 1; cut < len(want); cut++ {
				before, at := take(t, open(t, o), cut)
				stored, err := json.Marshal(at)
				if err != nil {
					t.Fatal(err)
				}
				again := o
				if err := json.Unmarshal(stored, &again.After); err != nil {
					t.Fatal(err)
				}
				after, _ := take(t, open(t, again), len(want)-cut)
				if diff := cmp.Diff(want, append(before, after...)); diff != "" {
					t.Errorf("broken off after %d (-want +got):\n%s", cut, diff)
				}
			}
		})
	}
}

func held(n, v int64) codec.Message {
	return message(domain.EventBatchHeld, domain.NewBatchID(n).Aggregate(), v, n, &domain.BatchMoved{BatchMove: domain.BatchMove{From: domain.BatchPending, To: domain.BatchHeld}})
}

// A loop that is left goes on behind its last event when it is entered again.
func TestLeaveAndEnter(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.mustAppend(t, waiting(1, 1), waiting(1, 2), waiting(1, 3))
	f := open(t, l.Options)
	first, at := take(t, f, 1)
	if f.Position() != at {
		t.Errorf("the follower is at %+v, the event at %+v", f.Position(), at)
	}
	rest, _ := take(t, f, 2)
	if diff := cmp.Diff([]string{"job/jid0000000001/1", "job/jid0000000001/2", "job/jid0000000001/3"}, append(first, rest...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whoever begins with new events has a position to store at once, and misses
// nothing when it stops before the first.
func TestNew(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]int64{"empty log": 0, "old events": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			for v := range old {
				l.mustAppend(t, waiting(1, v+1))
			}
			o := l.Options
			o.New = true
			first := open(t, o)
			l.mustAppend(t, waiting(1, old+1), waiting(1, old+2))
			o.New, o.After = false, first.Position()
			for _, f := range []*follow.Follower{first, open(t, o)} {
				ids, _ := take(t, f, 2)
				want := []string{codec.Identify(waiting(1, old+1)).ID, codec.Identify(waiting(1, old+2)).ID}
				if diff := cmp.Diff(want, ids); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The loop waits for events that are not there yet, and ends with its context.
func TestWaits(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.mustAppend(t, waiting(1, 1))
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var got []string
	for e, err := range open(t, l.Options).Events(ctx) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
			break
		}
		if got = append(got, e.ID); len(got) == 3 {
			cancel()
			continue
		}
		l.mustAppend(t, waiting(1, int64(len(got))+1))
	}
	if len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

// A closed follower says so.
func TestClosed(t *testing.T) {
	t.Parallel()
	f := open(t, newLog(t).Options)
	f.Close()
	if _, err := fails(t, f); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

// What cannot be followed is refused at once, all faults together.
func TestOptions(t *testing.T) {
	t.Parallel()
	o := follow.Options{Stream: "a", After: follow.Position{Stream: "b", Seq: 1}, New: true, Types: []string{"job.danced", "job", "*"}, Subjects: []string{"jid0000000042"}}
	_, err := follow.Open(within(t), o)
	for _, want := range []string{"URL", "exclude each other", "stream b, not to a", `"job.danced"`, `"job"`, `"*"`, `"jid0000000042"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if _, err := follow.Open(within(t), follow.Options{URL: "nats://127.0.0.1:1"}); err == nil {
		t.Error("opened without a server")
	}
}
