package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// fakeHistory has a log in memory and tables, or none.
type fakeHistory struct {
	LiveState
	EventLog
	Tables
	Effects
	log eventstore.Log
	db  query.DB
	rec *record.Records
}

func (w fakeHistory) Log(context.Context) (eventstore.Log, error) { return w.log, nil }
func (w fakeHistory) DB(context.Context) (query.DB, error) {
	if w.db == nil {
		return nil, errors.New("away")
	}
	return w.db, nil
}
func (w fakeHistory) Live(context.Context) (Live, error) {
	return memLive{memory.New(memory.Options{}).Session()}, nil
}
func (w fakeHistory) Records(context.Context) (*record.Records, error) { return w.rec, nil }

// stopped is a clock that the story moves.
type stopped struct {
	memory.Clock
	now time.Time
}

func (c *stopped) Now() time.Time { return c.now }

// logOf appends a story to a log.
func logOf(t testing.TB, s *projtest.Story) eventstore.Log {
	t.Helper()
	clock := &stopped{now: s.Log[0].Stored}
	log := memory.NewLog(clock)
	last := map[domain.Aggregate]uint64{}
	for _, r := range s.Log {
		clock.now = r.Stored
		seqs, err := log.Append(t.Context(), []eventstore.Append{{Event: r, ExpectSeq: last[r.Aggregate]}})
		if err != nil || seqs[0] != r.Seq {
			t.Fatalf("place %v, want %d: %v", seqs, r.Seq, err)
		}
		last[r.Aggregate] = seqs[0]
	}
	return log
}

// of says that tables are of this log.
func of(t testing.TB, log eventstore.Log, db query.DB) {
	t.Helper()
	info, err := log.Info(t.Context())
	if err == nil {
		err = projections.Adopt(t.Context(), db, projections.StreamInfo{Name: info.Name, Created: info.Created})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSelectionsGiveWhatTheySay compares random selections with a plain search
// through everything: with an index that covers all, half or none of the log.
func TestSelectionsGiveWhatTheySay(t *testing.T) {
	t.Parallel()
	story := projtest.NewStory(t)
	story.Random(3, 600)
	for i, who := range []domain.Actor{"user/maria", "user/joan"} {
		for at := i; at < len(story.Log); at += 5 {
			story.Log[at].Actor = who
		}
	}
	log, db := logOf(t, story), projtest.DB(t)
	half := *story
	half.Log = story.Log[:300]
	half.Project(db)
	behind := projtest.DB(t)
	story.Project(behind)
	of(t, log, db)
	of(t, log, behind)
	rapid.Check(t, func(t *rapid.T) {
		s := Selection{}
		at := func(label string) time.Time {
			return story.Log[0].Stored.Add(time.Duration(rapid.IntRange(-2, 602).Draw(t, label)) * time.Second)
		}
		if rapid.Bool().Draw(t, "by place") {
			s.From, s.To = uint64(rapid.IntRange(0, 605).Draw(t, "from")), uint64(rapid.IntRange(0, 605).Draw(t, "to"))
		}
		if rapid.Bool().Draw(t, "by time") {
			s.Since, s.Until = at("since"), at("until")
		}
		one := story.Log[rapid.IntRange(0, len(story.Log)-1).Draw(t, "one")]
		switch rapid.IntRange(0, 4).Draw(t, "by") {
		case 0:
			s.Batch = one.BatchID
		case 1:
			if one.Aggregate.Kind == domain.KindJob {
				s.Job = domain.JobID(one.Aggregate.ID)
			}
		case 2:
			if one.Aggregate.Kind == domain.KindFile {
				s.File = domain.FileHash(one.Aggregate.ID)
			}
		case 3:
			s.Types = []string{"file.*", string(one.Type)}
		}
		by := func(domain.Actor) bool { return true }
		switch rapid.IntRange(0, 3).Draw(t, "by whom") {
		case 0:
			s.Actors = []string{"user/maria"}
			by = func(a domain.Actor) bool { return a == "user/maria" }
		case 1:
			s.Actors = []string{"user/*"}
			by = func(a domain.Actor) bool { return strings.HasPrefix(string(a), "user/") }
		case 2:
			s.Actors = []string{"daemon/*", "user/joan", "user/nobody"}
			by = func(a domain.Actor) bool { return a != "user/maria" }
		}
		var want []string
		for _, r := range story.Log {
			if (s.To == 0 || r.Seq <= s.To) && r.Seq >= s.From && (s.Since.IsZero() || !r.Stored.Before(s.Since)) &&
				(s.Until.IsZero() || r.Stored.Before(s.Until)) && s.Holds(r) && by(r.Actor) {
				want = append(want, fmt.Sprint(r.Seq))
			}
		}
		for name, tables := range map[string]query.DB{"no index": nil, "half an index": db, "an index": behind} {
			a := &App{Open: resources(fakeHistory{log: log, db: tables})}
			sel, err := a.Select(context.Background(), s)
			var e *Error
			if errors.As(err, &e) && e.Kind == Invalid && len(want) == 0 {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			var looked uint64
			for e, err := range sel.Events(context.Background(), func(n uint64) { looked = n }) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(e.Seq))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, %+v (-want +got):\n%s", name, s, diff)
			}
			if looked > sel.Sequences {
				t.Fatalf("%s, %+v: %d places of %d looked at", name, s, looked, sel.Sequences)
			}
		}
	})
}

// TestIndexSparesTheLog: for one small batch in a long log little is read.
func TestIndexSparesTheLog(t *testing.T) {
	t.Parallel()
	story := projtest.NewStory(t)
	story.Random(5, 2000)
	last := domain.NewBatchID(int64(len(story.Batches)))
	db := projtest.DB(t)
	story.Project(db)
	log := logOf(t, story)
	of(t, log, db)
	places := func(tables query.DB, s Selection) uint64 {
		sel, err := (&App{Open: resources(fakeHistory{log: log, db: tables})}).Select(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return sel.Sequences
	}
	all := uint64(len(story.Log))
	if n := places(nil, Selection{Batch: last}); n != all {
		t.Errorf("without an index %d places are read, not all %d", n, all)
	}
	if n := places(db, Selection{Batch: last}); n == 0 || n > all/10 {
		t.Errorf("with an index %d places of %d are read", n, all)
	}
	if n := places(db, Selection{Since: story.Log[all-11].Stored, Until: story.Log[all-1].Stored}); n != 10 {
		t.Errorf("of ten seconds %d places are read, want 10", n)
	}
}

// TestIndexOfAnotherLog: tables of a log that was replaced, or that has lost its end,
// leave nothing out.
func TestIndexOfAnotherLog(t *testing.T) {
	t.Parallel()
	old, story := projtest.NewStory(t), projtest.NewStory(t)
	old.Random(6, 20) // the others of its events were not of this batch
	story.Random(7, 600)
	log := logOf(t, story)
	want := 0
	var batch domain.BatchID // the last one that the old log lacks
	for _, r := range story.Log {
		if _, known := old.Batches[r.BatchID]; !known {
			batch = r.BatchID
		}
	}
	for _, r := range story.Log {
		if r.BatchID == batch {
			want++
		}
	}
	if want == 0 {
		t.Fatalf("batch %q has no events", batch)
	}
	set := func(db query.DB, columns string) {
		if _, err := db.Exec(t.Context(), "update accession.checkpoint set "+columns); err != nil {
			t.Fatal(err)
		}
	}
	for name, is := range map[string]func(query.DB){
		"its tail is lost": func(db query.DB) { set(db, "seq = 900") },
		"another name":     func(db query.DB) { set(db, "seq = 600, stream = 'other'") },
		"created again": func(db query.DB) {
			set(db, "seq = 600, stream_created = stream_created - interval '1 second'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := projtest.DB(t)
			old.Project(db)
			of(t, log, db)
			is(db)
			sel, err := (&App{Open: resources(fakeHistory{log: log, db: db})}).Select(t.Context(), Selection{Batch: batch})
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, err := range sel.Recorded(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				got++
			}
			if got != want {
				t.Errorf("%d events, want %d", got, want)
			}
		})
	}
}

func TestSelectionsAreChecked(t *testing.T) {
	t.Parallel()
	story := projtest.NewStory(t)
	story.Random(1, 10)
	a := &App{Open: resources(fakeHistory{log: logOf(t, story)})}
	for _, c := range []struct {
		s    Selection
		kind Kind
	}{
		{Selection{From: 5, To: 4}, Invalid},
		{Selection{Since: time.Unix(2, 0), Until: time.Unix(1, 0)}, Invalid},
		{Selection{Types: []string{"job.exploded"}}, Invalid},
		{Selection{Job: domain.NewJobID(99999)}, NotFound},
		{Selection{File: domain.HashFile("a", "b")}, NotFound},
	} {
		var e *Error
		if _, err := a.Select(t.Context(), c.s); !errors.As(err, &e) || e.Kind != c.kind || e.Hint == "" {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
}
