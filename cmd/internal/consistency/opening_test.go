package consistency

import (
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// logOf is a log that holds events.
func logOf(t *testing.T, events ...domain.Recorded) *memory.Log {
	t.Helper()
	log := memory.NewLog(nil)
	for _, e := range events {
		last, err := log.Last(t.Context(), e.Aggregate)
		if err == nil {
			_, err = log.Append(t.Context(), []eventstore.Append{{Event: e, ExpectSeq: last.Seq}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// What waits in the outbox of an older copy comes into the log; what the log has from
// another command, or what has a gap before it, is named.
func TestOutboxOfAnOlderCopyIsSaved(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{}).Session()
	kit := storetest.NewKit(t, store)
	first, second := kit.Submit(), kit.Submit()
	kit.DoBatch(first, domain.NoteDelivery{Channel: "mail"}, storetest.Operator())
	var events []domain.Recorded
	for _, items := range kit.Outbox() {
		for _, it := range items {
			events = append(events, it.Events...)
		}
	}
	of := func(id domain.BatchID) []domain.Recorded {
		return slices.DeleteFunc(slices.Clone(events), func(r domain.Recorded) bool { return r.Aggregate.ID != string(id) })
	}
	other := of(second)[0]
	other.CommandID = "another"
	log := logOf(t, of(first)[0], other)
	lost, err := SaveOutbox(t.Context(), log, store)
	if err != nil || !slices.Equal(lost, []string{other.ID()}) {
		t.Errorf("%v; lost: %v", err, lost)
	}
	if last, err := log.Last(t.Context(), first.Aggregate()); err != nil || last.Version != 2 {
		t.Errorf("the log has version %d of %s, %v", last.Version, first, err)
	}
}
