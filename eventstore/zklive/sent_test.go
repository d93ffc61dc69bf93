package zklive_test

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestSentEntriesOfADeadLeaderGo: what a leader has sent that is gone is removed by the next one,
// which finds the mark where it was.
// Shows: P8
func TestSentEntriesOfADeadLeaderGo(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	s := w.open(t, zklive.Config{Shards: 1})
	last, err := s.FillOutbox(t.Context(), 0, 50)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MoveMark(t.Context(), 0, eventstore.Mark{Offset: last}); err != nil {
		t.Fatal(err)
	}
	next := w.open(t, zklive.Config{Shards: 1, Grace: time.Millisecond})
	at, err := next.Mark(t.Context(), 0)
	if err == nil {
		err = next.MoveMark(t.Context(), 0, at)
	}
	for left := []eventstore.Offset{last}; err == nil && len(left) > 0; {
		left, err = next.Sent(t.Context(), 0)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestSentEntriesStay: events stay in the outbox after they were sent, for what the log and
// the tables may both lose, and the last 4,000 entries of a shard at most.
// Shows: P8 P12
func TestSentEntriesStay(t *testing.T) {
	t.Parallel()
	const most, more = 4000, 50
	w := newEnv(t)
	s := w.open(t, zklive.Config{Shards: 1})
	last, err := s.FillOutbox(t.Context(), 0, most+more)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MoveMark(t.Context(), 0, eventstore.Mark{Offset: last}); err != nil {
		t.Fatal(err)
	}
	for {
		kept, err := s.Sent(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept) > most {
			continue // the purger is not done yet
		}
		if len(kept) != most || kept[0].Seq != more || kept[most-1] != last {
			t.Errorf("%d entries are kept, the last was %+v: %+v", len(kept), last, kept)
		}
		return
	}
}
