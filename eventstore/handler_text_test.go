package eventstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// The live state holds the same text as its events, and an event that no log
// could take is refused before anything is written.
func TestHandlerSanitisesText(t *testing.T) {
	t.Parallel()
	kit := storetest.NewKit(t, memory.New(memory.Options{}).Session())
	id, err := kit.Store.ReserveBatchID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sub := storetest.Submission()
	sub.ErcWhat = strings.Repeat("x", codec.MaxEventBytes)
	order := storetest.Operator()
	if _, err := kit.Handler.Batch(t.Context(), id, domain.SubmitBatch{Submission: sub}, order); !errors.Is(err, eventstore.ErrBroken) {
		t.Fatalf("got %v", err)
	}
	if _, err := kit.Store.Batch(t.Context(), id); !errors.Is(err, eventstore.ErrNotFound) {
		t.Fatalf("something was written: %v", err)
	}
	sub.ErcWhat, order.CommandID = "a\x00\xff", "c\x00"
	kit.DoBatch(id, domain.SubmitBatch{Submission: sub}, order)
	kit.DoBatch(id, domain.SubmitBatch{Submission: sub}, order) // the same command again
	live := kit.Batch(id).State
	if live.Submission.ErcWhat != "a\ufffd\ufffd" || live.Version != 1 {
		t.Errorf("live: %q, version %d", live.Submission.ErcWhat, live.Version)
	}
	folded, err := domain.EvolveBatch(domain.Batch{}, kit.Events(id.Aggregate())[0])
	if diff := cmp.Diff(live, folded); err != nil || diff != "" {
		t.Errorf("%v (-live +log):\n%s", err, diff)
	}
}
