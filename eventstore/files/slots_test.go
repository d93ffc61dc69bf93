package files_test

import (
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/eventstore/memory"
)

// TestSlots: two sweepers end a slot at the same time, and one of them does: its history
// has each step once, and both learn how it stands.
func TestSlots(t *testing.T) {
	t.Parallel()
	clock := memory.NewManualClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	log := memory.NewLog(clock)
	handler := func() files.Slots {
		return (&files.Handler{Log: log, Clock: clock.Now, NewID: rand.Text}).Slots()
	}
	first, id := handler(), slot.NewID("goes", "121")
	now, err := first.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add := slot.Add{Dataset: "goes", Group: "121", Opens: now, Closes: domain.At(now.Add(time.Hour))}
	if r, err := first.Slot(t.Context(), id, add, eventstore.Meta{Actor: "user/ana"}); err != nil || r.Slot.State != domain.SlotPending {
		t.Fatalf("%+v, %v", r, err)
	}
	var refused *domain.Refused
	if _, err := handler().Slot(t.Context(), id, add, eventstore.Meta{Actor: "user/bo"}); !errors.As(err, &refused) || refused.Code != slot.CodeExists {
		t.Fatalf("added twice: %v", err)
	}
	clock.Advance(time.Hour)
	if now, err = first.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	rows := make(chan string, 8)
	for range 8 {
		work.Go(func() {
			r, err := handler().Slot(t.Context(), id, slot.End{Now: now, Files: 1}, eventstore.Meta{Actor: "daemon/sweeper"})
			if !errors.As(err, new(*domain.Refused)) && err != nil {
				t.Error(err)
			}
			for _, row := range r.Rows {
				rows <- row
			}
		})
	}
	work.Wait()
	if len(rows) != 2 || <-rows != "S2" || <-rows != "S3" {
		t.Errorf("%d more rows were written than S2 and S3", len(rows))
	}
	states, err := first.States(t.Context(), []slot.ID{id, slot.NewID("goes", "122")})
	if s := states[id]; err != nil || len(states) != 1 || s.State != domain.SlotDone || s.Version != 3 || !s.Since.Equal(clock.Now()) {
		t.Errorf("%+v, %v", states, err)
	}
}
