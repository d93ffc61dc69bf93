package zklive

import (
	"context"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func itemAt(bucket, seq int64, events int) eventstore.Item {
	return eventstore.Item{Offset: eventstore.Offset{Bucket: bucket, Seq: seq}, Events: make([]domain.Recorded, events)}
}

func (h *relayHints) seqs(after eventstore.Offset, limit int) (seqs []int64) {
	for _, item := range h.next(0, after, limit) {
		seqs = append(seqs, item.Offset.Seq)
	}
	return seqs
}

// TestRelayHints: hints are handed out in order and without a gap, however they come.
func TestRelayHints(t *testing.T) {
	t.Parallel()
	start := eventstore.Offset{Bucket: 1, Seq: 3}
	for name, c := range map[string]struct {
		come, want []int64
		limit      int
	}{
		"in order":     {[]int64{4, 5, 6}, []int64{4, 5, 6}, 9},
		"overtaken":    {[]int64{6, 4, 5}, []int64{4, 5, 6}, 9},
		"one lost":     {[]int64{4, 6, 7}, []int64{4}, 9},
		"first lost":   {[]int64{5, 6}, nil, 9},
		"twice":        {[]int64{4, 4, 5, 4}, []int64{4, 5}, 9},
		"sent already": {[]int64{2, 3, 4}, []int64{4}, 9},
		"too many":     {[]int64{4, 5, 6}, []int64{4, 5}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newRelayHints(1)
			h.keepDuring(t.Context(), 0)
			for _, seq := range c.come {
				h.put(0, itemAt(1, seq, 1))
			}
			for range 2 { // a relay that failed asks again
				if got := h.seqs(start, c.limit); !slices.Equal(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestHintsOfAnotherBucket: a bucket's end is not known here; the tree tells.
func TestHintsOfAnotherBucket(t *testing.T) {
	t.Parallel()
	h := newRelayHints(1)
	h.keepDuring(t.Context(), 0)
	h.put(0, itemAt(1, 4, 1))
	h.put(0, itemAt(2, 0, 1))
	if got := h.seqs(eventstore.Offset{Bucket: 1, Seq: 4}, 9); got != nil {
		t.Errorf("went on with %v in another bucket", got)
	}
	if got := h.seqs(eventstore.Offset{Bucket: 2, Seq: -1}, 9); !slices.Equal(got, []int64{0}) {
		t.Errorf("got %v", got)
	}
}

// TestHintsAreBounded: what is not fetched is not kept for ever, nor what is sent.
// Shows: P8
func TestHintsAreBounded(t *testing.T) {
	t.Parallel()
	h := newRelayHints(1)
	h.keepDuring(t.Context(), 0)
	for seq := range int64(1000) {
		h.put(0, itemAt(1, seq, 100))
	}
	if n := h.shards[0].events; n > maxHinted {
		t.Errorf("%d events are kept", n)
	}
	last := eventstore.Offset{Bucket: 1, Seq: 1000}
	h.next(0, last, 9)
	if s := h.shards[0]; s.events != 0 || len(s.items) != 0 {
		t.Errorf("%d events of %d items are kept after they were sent", s.events, len(s.items))
	}
}

// TestHintsEndWithTheLead: who does not lead keeps nothing, and who leads again
// begins anew.
func TestHintsEndWithTheLead(t *testing.T) {
	t.Parallel()
	h := newRelayHints(1)
	before := eventstore.Offset{Bucket: 1, Seq: -1}
	h.put(0, itemAt(1, 0, 1))
	lead, resign := context.WithCancel(t.Context())
	h.keepDuring(lead, 0)
	if got := h.seqs(before, 9); got != nil {
		t.Errorf("has %v from before the lead", got)
	}
	h.put(0, itemAt(1, 1, 1))
	resign()
	h.put(0, itemAt(1, 2, 1))
	h.keepDuring(t.Context(), 0)
	if got := h.seqs(eventstore.Offset{Bucket: 1, Seq: 0}, 9); got != nil {
		t.Errorf("has %v from an earlier lead", got)
	}
}

// TestHintWakes: who waits is woken by the item that comes next, and gives up soon
// when it does not come.
func TestHintWakes(t *testing.T) {
	t.Parallel()
	h := newRelayHints(1)
	after := eventstore.Offset{Bucket: 1, Seq: 0}
	if h.wait(t.Context(), 0, after) {
		t.Error("waits for hints without the lead")
	}
	h.keepDuring(t.Context(), 0)
	h.put(0, itemAt(1, 2, 1))
	if h.wait(t.Context(), 0, after) {
		t.Error("takes the one after the next for the next")
	}
	h.put(0, itemAt(1, 1, 1))
	if !h.wait(t.Context(), 0, after) {
		t.Error("does not see the next")
	}
}
