package jslog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.RunLog(t, func(t *testing.T) eventstore.Log { return open(t) })
	storetest.RunFiles(t, func(t *testing.T) eventstore.Log { return open(t) })
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	l := open(t)
	one := event(1, 1)
	if seqs := mustAppend(t, l, first(one)...); !slices.Equal(seqs, []uint64{1}) {
		t.Fatalf("places %v", seqs)
	}
	batch := []eventstore.Append{{Event: event(1, 2), ExpectSeq: 1}, {Event: event(2, 1)}, {Event: event(1, 3), ExpectSeq: 1}, {Event: event(2, 2)}}
	if seqs := mustAppend(t, l, batch...); !slices.Equal(seqs, []uint64{2, 3, 4, 5}) {
		t.Fatalf("places %v", seqs)
	}
	ctx := within(t, 10*time.Second)
	last, err := l.Last(ctx, one.Aggregate)
	if want := (eventstore.LastEvent{Version: 3, Seq: 4, CommandID: "command of job/jid0000000001/3"}); err != nil || last != want {
		t.Errorf("last %+v, %v", last, err)
	}
	if last, err := l.Last(ctx, domain.NewJobID(9).Aggregate()); err != nil || last != (eventstore.LastEvent{}) {
		t.Errorf("last of nothing %+v, %v", last, err)
	}
	for e, err := range l.Read(ctx, eventstore.ReadOptions{To: 1}) {
		if err != nil || e.Stored.IsZero() || e.Stored.Location() != time.UTC {
			t.Fatalf("stored %s, %v", e.Stored, err)
		}
		e.Stored = time.Time{}
		want := one
		want.Seq, want.Source = 1, "/accession/test"
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	all := []string{"1 job/jid0000000001/1", "2 job/jid0000000001/2", "3 job/jid0000000002/1", "4 job/jid0000000001/3", "5 job/jid0000000002/2"}
	two := domain.NewJobID(2).Aggregate()
	nine := domain.NewJobID(9).Aggregate()
	for name, tc := range map[string]struct {
		o    eventstore.ReadOptions
		want []string
	}{
		"all":           {eventstore.ReadOptions{}, all},
		"from":          {eventstore.ReadOptions{From: 4}, all[3:]},
		"from to":       {eventstore.ReadOptions{From: 2, To: 3}, all[1:3]},
		"to past end":   {eventstore.ReadOptions{From: 5, To: 50}, all[4:]},
		"from past end": {eventstore.ReadOptions{From: 6}, []string{}},
		"one":           {eventstore.ReadOptions{Aggregate: &two}, []string{all[2], all[4]}},
		"one from to":   {eventstore.ReadOptions{Aggregate: &two, From: 1, To: 4}, []string{all[2]}},
		"one past end":  {eventstore.ReadOptions{Aggregate: &two, From: 6}, []string{}},
		"unknown":       {eventstore.ReadOptions{Aggregate: &nine}, []string{}},
		"follow to":     {eventstore.ReadOptions{Follow: true, From: 2, To: 4}, all[1:4]},
	} {
		if diff := cmp.Diff(tc.want, ids(t, l, tc.o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	info, err := l.Info(ctx)
	if err != nil || info.First != 1 || info.Last != 5 || info.Created.IsZero() || !strings.HasPrefix(info.Name, "test-") {
		t.Errorf("info %+v, %v", info, err)
	}
}

func TestReadNothing(t *testing.T) {
	t.Parallel()
	l := open(t)
	if got := ids(t, l, eventstore.ReadOptions{}); len(got) != 0 {
		t.Errorf("an empty log gives %v", got)
	}
	if info, err := l.Info(within(t, 10*time.Second)); err != nil || info.First != 1 || info.Last != 0 {
		t.Errorf("info %+v, %v", info, err)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	l := open(t)
	mustAppend(t, l, first(event(1, 1))...)
	ctx, stop := context.WithCancel(within(t, 30*time.Second))
	defer stop()
	seen := make(chan string)
	ended := make(chan error, 1)
	go func() {
		for e, err := range l.Read(ctx, eventstore.ReadOptions{Follow: true}) {
			if err != nil {
				ended <- err
				return
			}
			seen <- e.ID()
		}
		ended <- nil
	}()
	for v := int64(1); v <= 50; v++ {
		if want, got := event(v, 1).ID(), <-seen; got != want {
			t.Fatalf("saw %s, want %s", got, want)
		}
		mustAppend(t, l, first(event(v+1, 1))...)
	}
	stop()
	for {
		select {
		case <-seen:
			continue
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the iteration ended with %v", err)
			}
		}
		return
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	l := open(t)
	mustAppend(t, l, first(event(1, 1), event(2, 1))...)
	large := event(5, 1)
	large.Data = &domain.JobWaiting{JobMove: domain.JobMove{Reason: &domain.Reason{Message: strings.Repeat("x", codec.MaxEventBytes)}}}
	var many, heavy []eventstore.Append
	for n := range int64(jslog.MaxBatch + 1) {
		many = append(many, eventstore.Append{Event: event(100+n, 1)})
		e := event(100+n, 1)
		e.Data = &domain.JobWaiting{JobMove: domain.JobMove{Reason: &domain.Reason{Message: strings.Repeat("x", 20_000)}}}
		heavy = append(heavy, eventstore.Append{Event: e})
	}
	for name, tc := range map[string]struct {
		events []eventstore.Append
		want   error
	}{
		"there already":            {first(event(1, 1)), eventstore.ErrConflict},
		"expects too late a place": {[]eventstore.Append{{Event: event(1, 2), ExpectSeq: 2}}, eventstore.ErrConflict},
		"one of a batch":           {append(first(event(3, 1), event(4, 1)), first(event(2, 1))...), eventstore.ErrConflict},
		"too large":                {first(event(3, 1), large), eventstore.ErrBroken},
		"too many":                 {many, eventstore.ErrBroken},
		"too heavy":                {heavy[:jslog.MaxBatch], eventstore.ErrBroken},
	} {
		if _, err := l.Append(within(t, 20*time.Second), tc.events); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if got := ids(t, l, eventstore.ReadOptions{}); len(got) != 2 {
		t.Errorf("something was written: %v", got)
	}
	if seqs := mustAppend(t, l); seqs != nil {
		t.Errorf("nothing appended gives %v", seqs)
	}
	if seqs := mustAppend(t, l, many[:jslog.MaxBatch]...); len(seqs) != jslog.MaxBatch || seqs[0] != 3 {
		t.Errorf("the largest batch gives %d places", len(seqs))
	}
}

// Many writers race for the same aggregates, alone and in batches: each version
// is written once.
// Shows: P2 P3 C7
func TestRacingWriters(t *testing.T) {
	t.Parallel()
	l := open(t)
	const writers, versions, aggregates = 8, 15, 4
	ctx := within(t, 60*time.Second)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for v := int64(1); v <= versions; {
				var list []eventstore.Append
				for n := range int64(aggregates) {
					if w%2 == 1 && n != v%aggregates {
						continue // writes alone
					}
					last, err := l.Last(ctx, domain.NewJobID(n+1).Aggregate())
					if err != nil {
						t.Error(err)
						return
					}
					if last.Version < versions {
						e := event(n+1, last.Version+1)
						e.CommandID = fmt.Sprint("writer ", w)
						list = append(list, eventstore.Append{Event: e, ExpectSeq: last.Seq})
					}
				}
				if len(list) == 0 {
					return
				}
				if _, err := l.Append(ctx, list); err != nil && !errors.Is(err, eventstore.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	at := map[domain.Aggregate]int64{}
	for e, err := range l.Read(ctx, eventstore.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		at[e.Aggregate]++
		if e.Version != at[e.Aggregate] {
			t.Fatalf("%s stands at the place of number %d", e.ID(), at[e.Aggregate])
		}
	}
	for n := range int64(aggregates) {
		if v := at[domain.NewJobID(n+1).Aggregate()]; v != versions {
			t.Errorf("job %d has %d events", n+1, v)
		}
	}
}

// A message that is no event ends the reading where it lies.
func TestReadNamesTheBrokenEvent(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	cfg := fresh(t, nc)
	l := openAt(t, nc, cfg)
	mustAppend(t, l, first(event(1, 1))...)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(within(t, 10*time.Second), cfg.Prefix+".job.jid0000000002", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err = range l.Read(within(t, 10*time.Second), eventstore.ReadOptions{}) {
		n++
	}
	if n != 2 || !errors.Is(err, eventstore.ErrBroken) || !strings.Contains(err.Error(), "sequence 2") {
		t.Errorf("after %d steps: %v", n, err)
	}
	if _, err := l.Last(within(t, 10*time.Second), domain.NewJobID(2).Aggregate()); !errors.Is(err, eventstore.ErrBroken) {
		t.Errorf("last: %v", err)
	}
}
