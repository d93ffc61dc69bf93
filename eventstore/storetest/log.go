package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var logTests = map[string]func(t *testing.T, l eventstore.Log){
	"empty":         testLogEmpty,
	"append":        testLogAppend,
	"expectation":   testLogExpectation,
	"atomic":        testLogAtomic,
	"race":          testLogRace,
	"read":          testLogRead,
	"aggregate":     testLogAggregate,
	"follow":        testLogFollow,
	"every type":    testLogEveryType,
	"big batch":     testLogBigBatch,
	"stopped early": testLogStops,
}

// Waiting returns an event of a job, n being its number.
func Waiting(job domain.JobID, n int64) domain.Recorded {
	return domain.Recorded{
		Event: domain.Event{Type: domain.EventJobWaiting, Aggregate: job.Aggregate(), Version: n,
			Data: &domain.JobWaiting{JobMove: domain.JobMove{From: domain.JobPending, To: domain.JobPending, Priority: 5,
				Reason: &domain.Reason{Class: domain.ClassWait, Code: "test", Message: fmt.Sprintf("number %d", n)}}}},
		Time: domain.At(time.Date(2024, 5, 1, 12, 0, 0, 7_000_000, time.UTC)), BatchID: domain.NewBatchID(1), Actor: "daemon/test",
		CommandID: fmt.Sprintf("c-%s-%d", job, n), CausationID: "job/jid0000000001/1",
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Zxid: 100 + n, Epoch: 1,
	}
}

// logKit appends to and reads a log.
type logKit struct {
	testing.TB
	log eventstore.Log
}

func (k logKit) append(events ...eventstore.Append) []uint64 {
	k.Helper()
	seqs, err := k.log.Append(k.Context(), events)
	if err != nil || len(seqs) != len(events) {
		k.Fatalf("%d sequences for %d events: %v", len(seqs), len(events), err)
	}
	return seqs
}

func (k logKit) conflict(events ...eventstore.Append) {
	k.Helper()
	if seqs, err := k.log.Append(k.Context(), events); !errors.Is(err, eventstore.ErrConflict) {
		k.Fatalf("sequences %v, %v, want a conflict", seqs, err)
	}
}

func (k logKit) read(o eventstore.ReadOptions) (events []domain.Recorded) {
	k.Helper()
	for r, err := range k.log.Read(k.Context(), o) {
		if err != nil {
			k.Fatal(err)
		}
		events = append(events, r)
	}
	return events
}

func (k logKit) last(job domain.JobID) eventstore.LastEvent {
	k.Helper()
	l, err := k.log.Last(k.Context(), job.Aggregate())
	if err != nil {
		k.Fatal(err)
	}
	return l
}

// fill appends n events to each of some jobs, by turns, and returns their sequences.
func (k logKit) fill(jobs, n int) []uint64 {
	k.Helper()
	var seqs []uint64
	last := make([]uint64, jobs+1)
	for v := 1; v <= n; v++ {
		for j := 1; j <= jobs; j++ {
			p := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(int64(j)), int64(v)), ExpectSeq: last[j]})
			last[j] = p[0]
			seqs = append(seqs, p[0])
		}
	}
	return seqs
}

func testLogEmpty(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	if events := k.read(eventstore.ReadOptions{}); len(events) != 0 {
		t.Errorf("an empty log has %d events", len(events))
	}
	if last := k.last(domain.NewJobID(1)); last != (eventstore.LastEvent{}) {
		t.Errorf("last event of a stranger: %+v", last)
	}
	info, err := l.Info(t.Context())
	if err != nil || info.Last != 0 || info.Name == "" || info.Created.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
}

// testLogAppend: what was appended is read as it was, with its sequence.
func testLogAppend(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	first := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(1), 1)})
	second := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(1), 2), ExpectSeq: first[0]}, eventstore.Append{Event: Waiting(domain.NewJobID(1), 3)}, eventstore.Append{Event: Waiting(domain.NewJobID(2), 1)})
	seqs := slices.Concat(first, second)
	events := k.read(eventstore.ReadOptions{})
	if len(events) != 4 {
		t.Fatalf("%d events, want 4", len(events))
	}
	for i, want := range []domain.Recorded{Waiting(domain.NewJobID(1), 1), Waiting(domain.NewJobID(1), 2), Waiting(domain.NewJobID(1), 3), Waiting(domain.NewJobID(2), 1)} {
		got := events[i]
		if got.Seq != seqs[i] || got.Seq == 0 || got.Stored.IsZero() || i > 0 && got.Seq <= seqs[i-1] {
			t.Errorf("event %d has sequence %d, stored %v; said %v", i, got.Seq, got.Stored, seqs)
		}
		got.Seq, got.Stored, got.Source = 0, time.Time{}, ""
		if text(got) != text(want) {
			t.Errorf("appended %s\nread     %s", text(want), text(got))
		}
	}
	if last := k.last(domain.NewJobID(1)); last != (eventstore.LastEvent{Version: 3, Seq: seqs[2], CommandID: Waiting(domain.NewJobID(1), 3).CommandID}) {
		t.Errorf("last of the first job: %+v", last)
	}
	info, err := l.Info(t.Context())
	if err != nil || info.Last != seqs[3] || info.First > seqs[0] || info.Now.Before(events[3].Stored) {
		t.Errorf("%+v, %v", info, err)
	}
}

// Shows: P3
func testLogExpectation(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	k.conflict(eventstore.Append{Event: Waiting(domain.NewJobID(1), 1), ExpectSeq: 1})
	first := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(1), 1)})[0]
	k.conflict(eventstore.Append{Event: Waiting(domain.NewJobID(1), 1)})
	k.conflict(eventstore.Append{Event: Waiting(domain.NewJobID(1), 2)})
	k.conflict(eventstore.Append{Event: Waiting(domain.NewJobID(1), 2), ExpectSeq: first + 1})
	// Another aggregate's events do not matter.
	k.append(eventstore.Append{Event: Waiting(domain.NewJobID(2), 1)})
	second := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(1), 2), ExpectSeq: first})[0]
	k.conflict(eventstore.Append{Event: Waiting(domain.NewJobID(1), 2), ExpectSeq: first}) // the same again
	if last := k.last(domain.NewJobID(1)); last.Seq != second || last.Version != 2 {
		t.Errorf("last: %+v", last)
	}
	if events := k.read(eventstore.ReadOptions{}); len(events) != 3 {
		t.Errorf("%d events, want 3", len(events))
	}
}

// testLogAtomic: one event that conflicts keeps all of its call out.
// Shows: P3
func testLogAtomic(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	seq := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(2), 1)})[0]
	for _, bad := range []int{0, 1, 2} {
		events := []eventstore.Append{{Event: Waiting(domain.NewJobID(1), 1)}, {Event: Waiting(domain.NewJobID(2), 2), ExpectSeq: seq}, {Event: Waiting(domain.NewJobID(3), 1)}}
		events[bad].ExpectSeq += 7
		k.conflict(events...)
	}
	if events := k.read(eventstore.ReadOptions{}); len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	k.append(eventstore.Append{Event: Waiting(domain.NewJobID(1), 1)}, eventstore.Append{Event: Waiting(domain.NewJobID(2), 2), ExpectSeq: seq}, eventstore.Append{Event: Waiting(domain.NewJobID(1), 2)})
	if last := k.last(domain.NewJobID(1)); last.Version != 2 {
		t.Errorf("last: %+v", last)
	}
}

// testLogRace: of writers that expect the same sequence one gets it.
func testLogRace(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	const writers, rounds = 4, 10
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for {
				last, err := l.Last(t.Context(), domain.NewJobID(1).Aggregate())
				if err != nil {
					t.Error(err)
					return
				}
				if last.Version >= rounds {
					return
				}
				_, err = l.Append(t.Context(), []eventstore.Append{{Event: Waiting(domain.NewJobID(1), last.Version+1), ExpectSeq: last.Seq}})
				if err != nil && !errors.Is(err, eventstore.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	events := k.read(eventstore.ReadOptions{})
	for i, e := range events {
		if e.Version != int64(i+1) {
			t.Errorf("event %d has version %d", i+1, e.Version)
		}
	}
	if len(events) != rounds {
		t.Errorf("%d events", len(events))
	}
}

func testLogRead(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	seqs := k.fill(2, 5)
	for _, c := range []struct {
		from, to uint64
		want     []uint64
	}{
		{0, 0, seqs}, {1, 0, seqs}, {seqs[3], 0, seqs[3:]}, {0, seqs[3], seqs[:4]}, {seqs[3], seqs[5], seqs[3:6]},
		{seqs[3], seqs[3], seqs[3:4]}, {seqs[9] + 1, 0, nil}, {seqs[8], seqs[9] + 50, seqs[8:]},
	} {
		var got []uint64
		for _, e := range k.read(eventstore.ReadOptions{From: c.from, To: c.to}) {
			got = append(got, e.Seq)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("from %d to %d: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func testLogAggregate(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	seqs := k.fill(3, 4)
	a, stranger := domain.NewJobID(2).Aggregate(), domain.NewJobID(22).Aggregate()
	for i, e := range k.read(eventstore.ReadOptions{Aggregate: &a}) {
		if e.Aggregate != a || e.Version != int64(i+1) {
			t.Errorf("event %d is %s", i, e.ID())
		}
	}
	if n := len(k.read(eventstore.ReadOptions{Aggregate: &a, From: seqs[4] + 1})); n != 2 {
		t.Errorf("%d events of the job from the middle on, want 2", n)
	}
	if n := len(k.read(eventstore.ReadOptions{Aggregate: &a, To: seqs[4]})); n != 2 {
		t.Errorf("%d events of the job up to the middle, want 2", n)
	}
	if n := len(k.read(eventstore.ReadOptions{Aggregate: &stranger})); n != 0 {
		t.Errorf("%d events of a stranger", n)
	}
}

// testLogFollow: a follower gets what is there and then what comes, until its
// context ends.
func testLogFollow(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	seqs := k.fill(1, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan uint64)
	ended := make(chan error, 1)
	go func() {
		for r, err := range l.Read(ctx, eventstore.ReadOptions{From: seqs[1], Follow: true}) {
			if err != nil {
				ended <- err
				return
			}
			got <- r.Seq
		}
		ended <- nil
	}()
	for _, want := range seqs[1:] {
		if seq := <-got; seq != want {
			t.Errorf("got %d, want %d", seq, want)
		}
	}
	last := seqs[2]
	for n := int64(4); n <= 6; n++ {
		next := k.append(eventstore.Append{Event: Waiting(domain.NewJobID(1), n), ExpectSeq: last})[0]
		if seq := <-got; seq != next {
			t.Errorf("got %d, want %d", seq, next)
		}
		last = next
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the context gives %v", err)
	}
}

// testLogEveryType: every registered type can be kept, settings included.
func testLogEveryType(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	ids := map[domain.Kind]domain.Aggregate{domain.KindBatch: domain.NewBatchID(1).Aggregate(), domain.KindJob: domain.NewJobID(1).Aggregate(),
		domain.KindFile: {Kind: domain.KindFile, ID: "ab12"}, domain.KindSetting: domain.SettingAggregate(domain.HoldCollection, "Maps_2.old"),
		domain.KindQuery: domain.NewQueryID(1).Aggregate(), domain.KindSlot: {Kind: domain.KindSlot, ID: "goes:121"}, domain.KindEntry: {Kind: domain.KindEntry, ID: "eid0000000001"}}
	version := map[domain.Kind]int64{}
	last := map[domain.Kind]uint64{}
	for _, d := range domain.Registry {
		version[d.Kind]++
		e := Waiting(domain.NewJobID(1), version[d.Kind])
		e.Type, e.Aggregate, e.Data = d.Type, ids[d.Kind], d.New()
		last[d.Kind] = k.append(eventstore.Append{Event: e, ExpectSeq: last[d.Kind]})[0]
	}
	events := k.read(eventstore.ReadOptions{})
	if len(events) != len(domain.Registry) {
		t.Fatalf("%d events, want %d", len(events), len(domain.Registry))
	}
	for i, d := range domain.Registry {
		if e := events[i]; e.Type != d.Type || e.Aggregate != ids[d.Kind] || text(e.Data) != text(d.New()) || fmt.Sprintf("%T", e.Data) != fmt.Sprintf("%T", d.New()) {
			t.Errorf("%s of %s was read as %s of %s: %s", d.Type, ids[d.Kind], e.Type, e.Aggregate, text(e.Data))
		}
	}
}

// testLogBigBatch: a thousand events go in one call.
func testLogBigBatch(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	var events []eventstore.Append
	for v := int64(1); v <= 10; v++ {
		for j := int64(1); j <= 100; j++ {
			events = append(events, eventstore.Append{Event: Waiting(domain.NewJobID(j), v)})
		}
	}
	seqs := k.append(events...)
	for i, e := range k.read(eventstore.ReadOptions{}) {
		if e.Seq != seqs[i] || e.ID() != events[i].Event.ID() {
			t.Fatalf("event %d is %s at %d, want %s at %d", i, e.ID(), e.Seq, events[i].Event.ID(), seqs[i])
		}
	}
}

func testLogStops(t *testing.T, l eventstore.Log) {
	k := logKit{t, l}
	k.fill(1, 5)
	for _, follow := range []bool{false, true} {
		n := 0
		for _, err := range l.Read(t.Context(), eventstore.ReadOptions{Follow: follow}) {
			if n++; n == 2 || err != nil {
				break
			}
		}
		if n != 2 {
			t.Errorf("read %d events, want 2", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, []eventstore.Append{{Event: Waiting(domain.NewJobID(2), 1)}}); err == nil {
		t.Error("appended after the context ended")
	}
}
