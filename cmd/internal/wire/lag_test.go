package wire

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/projections/projtest"
)

// readLog is a log that can be read; one event may be broken.
type readLog struct {
	eventstore.Log
	events []domain.Recorded
	broken uint64
}

func (l readLog) Read(_ context.Context, o eventstore.ReadOptions) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		for _, r := range l.events[o.From-1 : o.To] {
			if r.Seq == l.broken {
				yield(domain.Recorded{}, &codec.DecodeError{Envelope: r})
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// TestLagIsTheAgeOfWhatIsMissing: how long ago the last event was applied does not
// matter; the first that is missing does, also when it cannot be read.
func TestLagIsTheAgeOfWhatIsMissing(t *testing.T) {
	t.Parallel()
	story, ctx := projtest.NewStory(t), t.Context()
	story.Classic()
	log := story.Log[:20]
	for i := range log { // one an hour
		log[i].Stored = time.Now().Add(time.Duration(i-100) * time.Hour)
	}
	db := projtest.DB(t)
	story.Log = log[:10]
	story.Project(db)
	for _, broken := range []uint64{0, 11} {
		events, age, err := lagOf(ctx, readLog{events: log, broken: broken}, db, 20)
		if err != nil || events != 10 || age < 90*time.Hour || age > 91*time.Hour-30*time.Minute {
			t.Errorf("broken %d: %d events, %v, %v", broken, events, age, err)
		}
	}
	if events, age, err := lagOf(ctx, readLog{events: log}, db, 10); err != nil || events != 0 || age != 0 {
		t.Errorf("nothing is missing: %d events, %v, %v", events, age, err)
	}
}
