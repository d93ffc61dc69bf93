package follow_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/eventstore/follow"
)

// A log that does not go on from the position is refused: when it is opened, when
// a loop is entered, and, if the stream went away, under a running loop.
func TestOtherLog(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(l *log) error
		want   string
		gone   bool // the stream that was followed does not exist any more
	}{
		"none": {(*log).destroy, "no such stream", true},
		"replaced": {func(l *log) error {
			return errors.Join(l.destroy(), l.create(l.Prefix), l.append(waiting(1, 1), waiting(1, 2)))
		}, "replaced", true},
		"other subjects": {func(l *log) error { return errors.Join(l.destroy(), l.create("other-"+l.Prefix)) }, "not the subjects below", true},
		"a hole":         {func(l *log) error { return l.deleteMsg(2) }, "1 are deleted", false},
		"begins late":    {func(l *log) error { return l.deleteMsg(1) }, "first event has number 2", false},
	} {
		for _, when := range []string{"opened", "entered", "running"} {
			if when == "running" && !tc.gone {
				continue // what is missing was read before
			}
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				l := newLog(t)
				l.mustAppend(t, waiting(1, 1), waiting(1, 2), waiting(1, 3))
				f := open(t, l.Options)
				o := l.Options
				var err error
				for e, end := range f.Events(within(t)) {
					if err = end; err != nil || e.Version < 3 {
						continue
					}
					o.After = e.Position
					if err := tc.change(l); err != nil {
						t.Fatal(err)
					}
					if when != "running" {
						break
					}
				}
				switch when {
				case "entered":
					_, err = fails(t, f)
				case "opened":
					_, err = follow.Open(within(t), o)
				}
				var told *follow.Error
				if !errors.Is(err, follow.ErrStream) || !errors.As(err, &told) || told.Position != o.After || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want one about the stream that says %q", err, tc.want)
				}
			})
		}
	}
}

func (l *log) deleteMsg(place uint64) error {
	s, err := l.js.Stream(context.Background(), l.Stream)
	if err != nil {
		return err
	}
	return s.DeleteMsg(context.Background(), place)
}

// A log that was restored into a new stream, each event at its old place, is gone
// on with: under a running loop, and when it is opened again.
func TestRestoredLog(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.mustAppend(t, waiting(1, 1), waiting(1, 2))
	first := time.Date(2026, 3, 1, 12, 0, 0, 123_000, time.UTC)
	var before, after follow.Position
	for e, err := range open(t, l.Options).Events(within(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Version == 2 {
			before = e.Position
			again, lost := waiting(1, 2), waiting(1, 3)
			lost.Header["accession-stored"] = []string{first.Format(time.RFC3339Nano)}
			if err := errors.Join(l.destroy(), l.create(l.Prefix), l.append(waiting(1, 1), again, lost)); err != nil {
				t.Fatal(err)
			}
		}
		if e.Version == 3 {
			if after = e.Position; !e.Stored.Equal(first) {
				t.Errorf("stored at %s, want %s", e.Stored, first)
			}
			break
		}
	}
	if after.Created.Equal(before.Created) {
		t.Error("the position tells of the stream before")
	}
	l.mustAppend(t, waiting(1, 4))
	for want, at := range map[string]follow.Position{"job/jid0000000001/3": before, "job/jid0000000001/4": after} {
		o := l.Options
		o.After = at
		if ids, _ := take(t, open(t, o), 1); ids[0] != want {
			t.Errorf("after %d comes %s, want %s", at.Seq, ids[0], want)
		}
	}
}

// A position that this stream never had: beyond its end, or at another event.
func TestForeignPosition(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.mustAppend(t, waiting(1, 1), waiting(1, 2))
	_, at := take(t, open(t, l.Options), 2)
	for want, change := range map[string]func(*follow.Position){
		"ends at 2 already":         func(p *follow.Position) { p.Seq = 3 },
		"event job/jid0000000001/2": func(p *follow.Position) { p.ID = "job/jid0000000009/1" },
		"of command command":        func(p *follow.Position) { p.Command = "other" },
	} {
		o := l.Options
		o.After = at
		change(&o.After)
		if _, err := follow.Open(within(t), o); !errors.Is(err, follow.ErrStream) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o.After, err, want)
		}
	}
}

// A number that is missing or comes twice ends the loop, and does so again.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		numbers []int64
		skip    int // events dealt with before
		want    string
	}{
		"hole":              {[]int64{1, 2, 4}, 0, "number 4 of job/jid0000000001 came where 3 was due"},
		"twice":             {[]int64{1, 2, 2}, 0, "number 2 of job/jid0000000001 came where 3 was due"},
		"no first":          {[]int64{2}, 0, "number 2 of job/jid0000000001 came where 1 was due"},
		"hole, resumed":     {[]int64{1, 2, 3, 5}, 1, "number 5 of job/jid0000000001 came where 4 was due"},
		"backward, resumed": {[]int64{1, 2, 3, 2}, 1, "number 2 of job/jid0000000001 came where 4 was due"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			for _, v := range tc.numbers {
				l.mustAppend(t, waiting(1, v))
			}
			o := l.Options
			if tc.skip > 0 {
				_, o.After = take(t, open(t, o), tc.skip)
			}
			f := open(t, o)
			for _, want := range []int{len(tc.numbers) - 1 - tc.skip, 0} {
				ids, err := fails(t, f)
				if !errors.Is(err, follow.ErrOrder) || !strings.Contains(err.Error(), tc.want) || len(ids) != want {
					t.Errorf("%v after %d events, want %q after %d", err, len(ids), tc.want, want)
				}
			}
		})
	}
}

// A type that this build does not know comes as it is; a newer version of a known
// one, and what is no event, end the loop at a position behind which it goes on.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	unknown, newer, broken := waiting(1, 2), waiting(1, 3), waiting(2, 1)
	unknown.Data = bytes.Replace(unknown.Data, []byte(".job.waiting.v1"), []byte(".job.danced.v3"), 1)
	newer.Data = bytes.Replace(newer.Data, []byte(".waiting.v1"), []byte(".waiting.v2"), 1)
	broken.Data = append(bytes.TrimSuffix(broken.Data, []byte("}}")), ":}}"...)
	l.mustAppend(t, waiting(1, 1), unknown, newer, broken, waiting(3, 1))

	var got []string
	o := l.Options
	for range 3 {
		for e, err := range open(t, o).Events(within(t)) {
			var told *follow.Error
			if errors.As(err, &told) && errors.Is(err, follow.ErrUnreadable) {
				got = append(got, "unreadable "+told.Position.ID)
				o.After = told.Position
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Type+" "+e.ID); e.Subject == "job/jid0000000003" {
				break
			}
			if e.Type == "job.danced" && (e.DataVersion != 3 || !strings.HasSuffix(string(unknown.Data), `"data":`+string(e.Data)+"}")) {
				t.Errorf("an unknown type was changed: v%d %s", e.DataVersion, e.Data)
			}
		}
	}
	want := []string{"job.waiting job/jid0000000001/1", "job.danced job/jid0000000001/2", "unreadable job/jid0000000001/3",
		"unreadable job/jid0000000002/1", "job.waiting job/jid0000000003/1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
