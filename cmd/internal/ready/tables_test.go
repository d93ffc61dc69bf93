package ready_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/ready"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/eligible"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestTablesOf: PostgreSQL finds the files that wait, and what is around each; and the slots
// whose window has begun or is over, with the files that have arrived.
func TestTablesOf(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	now := domain.At(f.clock.Now())
	f.slot(slot.Add{Dataset: "nights", Group: "one", Opens: now, Closes: domain.At(now.Add(time.Hour))})
	first, same, companion := f.arrive("a.fits", "SIMPLE  ="), f.arrive("b.fits", "SIMPLE  ="), f.arrive("a.xml", "<a/>")
	f.do(companion, domain.ReadyFile{})
	gone := spec("c.fits")
	f.do(gone.Hash(), domain.DiscoverFile{Spec: gone})

	db := projtest.DB(t)
	info, err := f.log.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := projections.New(projections.Config{DB: db, Stream: projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last},
		Source: func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
			return f.log.Read(ctx, eventstore.ReadOptions{From: from})
		}})
	if err == nil {
		err = p.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	tables := ready.TablesOf{DB: db}
	waiting, err := tables.Waiting(t.Context(), "", 10)
	if err != nil || len(waiting) != 2 || waiting[0].Version != 2 || waiting[0].Dataset != "nights" || waiting[0].Group != "one" {
		t.Fatalf("%+v, %v", waiting, err)
	}
	rules := setting.Rules{Companions: []setting.Companion{{Of: "*.fits", Needs: "{stem}.xml"}}, MinFiles: 3, Stack: 1}
	want := map[domain.FileHash]string{first: "[stack_missing]", same: "duplicate_content"}
	for _, w := range waiting {
		facts, err := tables.Around(t.Context(), rules, w)
		if err != nil || len(facts.Group) != 3 {
			t.Fatalf("%+v, %v", facts, err)
		}
		facts.Now = now
		v := eligible.Decide(rules, facts)
		got := fmt.Sprint(codes(v.Waits))
		if v.Skip != nil {
			got = string(v.Skip.Code)
		}
		if got != want[w.Hash] {
			t.Errorf("%s: %s, want %s", w.Path, got, want[w.Hash])
		}
	}
	if next, err := tables.Waiting(t.Context(), waiting[1].Hash, 10); err != nil || len(next) > 0 {
		t.Errorf("after the last: %+v, %v", next, err)
	}
	for at, files := range map[time.Duration]int64{0: 0, time.Hour: 3} {
		due, err := query.SlotsToMove(t.Context(), db, domain.At(now.Add(at)), "", 10)
		if err != nil || len(due) != 1 || due[0].Files != files {
			t.Errorf("after %s: %+v, %v", at, due, err)
		}
	}
	if due, err := query.SlotsToMove(t.Context(), db, domain.At(now.Add(-time.Second)), "", 10); err != nil || len(due) > 0 {
		t.Errorf("before its window: %+v, %v", due, err)
	}
}

func codes(waits []eligible.Wait) (all []domain.Code) {
	for _, w := range waits {
		all = append(all, w.Code)
	}
	return all
}
