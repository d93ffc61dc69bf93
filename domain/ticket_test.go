package domain_test

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestFreedPlace: a batch that runs may give up its place in every state in which it has one,
// stays what it is otherwise, and does so once.
func TestFreedPlace(t *testing.T) {
	t.Parallel()
	cmd := domain.FreeBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeFreed, Message: "stuck"}}
	for _, s := range batchStates() {
		b := batchIn(s)
		_, err := domain.DecideBatch(b, cmd, domain.Facts{})
		refusal(t, err, domain.CodeNotRunning)
		if s != domain.BatchPending && s != domain.BatchProcessing && s != domain.BatchReporting {
			continue
		}
		b.Ticket = &domain.Ticket{Queue: "metadata", User: "ana", Slot: 3}
		_, err = domain.DecideBatch(b, cmd, domain.Facts{})
		refusal(t, err, domain.CodeNotRunning) // it waits
		b.Ticket.Turn, b.Reason = 8, &broken
		dec, err := domain.DecideBatch(b, cmd, domain.Facts{})
		if err != nil || len(dec.Events) != 1 || dec.Row != "" {
			t.Fatalf("%s: %+v (%v)", s, dec, err)
		}
		if d, ok := dec.Events[0].Data.(*domain.BatchFreed); !ok || d.Queue != "metadata" || d.User != "ana" || d.Reason.Message != "stuck" {
			t.Errorf("%s: %+v", s, dec.Events[0].Data)
		}
		after, err := domain.EvolveBatch(b, recorded(dec.Events[0]))
		if err != nil || after.Ticket != nil || after.State != s || after.Reason != b.Reason {
			t.Errorf("%s: %+v (%v)", s, after, err)
		}
		_, err = domain.DecideBatch(after, cmd, domain.Facts{})
		refusal(t, err, domain.CodeNotRunning)
	}
}

func TestRests(t *testing.T) {
	t.Parallel()
	failed := domain.Reason{Class: domain.ClassSystem, Code: domain.CodeSpaceShort}
	other := domain.Reason{Class: domain.ClassWait, Code: domain.CodeServerBusy}
	for _, s := range jobStates() {
		for _, why := range []*domain.Reason{nil, &waits, &failed, &other} {
			j := jobIn(s)
			j.Reason = why
			if want := s == domain.JobHeld || why == &waits; j.Rests() != want {
				t.Errorf("a job in %s for %v: %v, want %v", s, why, j.Rests(), want)
			}
		}
	}
}

// TestParkedIsUnparked: what an operator has parked is let in again by unparking only, and
// nothing else is.
func TestParkedIsUnparked(t *testing.T) {
	t.Parallel()
	parked, held := batchIn(domain.BatchHeld), batchIn(domain.BatchHeld)
	parked.Reason, held.Reason = &domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked}, domain.Held("maps", onHold)
	ticket := &domain.Ticket{Queue: "metadata", User: "ana", Slot: 3}
	for _, c := range []struct {
		b    domain.Batch
		cmd  domain.BatchCommand
		f    domain.Facts
		want domain.Code
	}{
		{parked, domain.UnparkBatch{}, domain.Facts{Ticket: ticket}, ""},
		{parked, domain.UnparkBatch{}, domain.Facts{Ticket: ticket, CollectionHold: &onHold}, domain.CodeCollectionHeld},
		{parked, domain.ReleaseBatch{}, domain.Facts{Ticket: ticket}, domain.CodeParked},
		{held, domain.ReleaseBatch{}, domain.Facts{Ticket: ticket}, ""},
		{held, domain.UnparkBatch{}, domain.Facts{Ticket: ticket}, domain.CodeNotParked},
		{batchIn(domain.BatchPending), domain.UnparkBatch{}, domain.Facts{}, domain.CodeIllegal},
	} {
		dec, err := domain.DecideBatch(c.b, c.cmd, c.f)
		if c.want != "" {
			refusal(t, err, c.want)
			continue
		}
		if err != nil || dec.Row != "B4" {
			t.Fatalf("%T: %+v (%v)", c.cmd, dec, err)
		}
		if after, err := domain.EvolveBatch(c.b, recorded(dec.Events[0])); err != nil || !after.Waits() {
			t.Errorf("%T: %+v (%v)", c.cmd, after, err)
		}
	}
}
