package domain_test

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// TestSynchronousDeposit: it has its place from its first event on, without a turn, and keeps
// it until it is held, reported or freed.
func TestSynchronousDeposit(t *testing.T) {
	t.Parallel()
	submit := domain.SubmitBatch{Submission: domain.Submission{ProfileName: "p", Submitter: "ana"}, Synchronous: true}
	none := domain.Batch{ID: domain.NewBatchID(7)}
	pool := &fair.Pool{Queue: fair.QueueMetadata, Config: fair.DefaultConfig()}
	waiting := &domain.Ticket{Queue: fair.QueueMetadata, User: "ana", Slot: 4}
	dec, err := domain.DecideBatch(none, submit, domain.Facts{Pool: pool, Ticket: waiting})
	if err != nil || dec.Row != "B1" || !dec.Require.Holds {
		t.Fatalf("%+v (%v)", dec, err)
	}
	b, err := domain.EvolveBatch(none, recorded(dec.Events[0]))
	if err != nil || b.Waits() || !b.Runs() || *b.Ticket != (domain.Ticket{Queue: fair.QueueMetadata, User: "ana", Synchronous: true}) || b.Submission.Queue != fair.QueueMetadata {
		t.Fatalf("%+v (%v)", b, err)
	}
	for name, c := range map[string]struct {
		cmd   domain.BatchCommand
		facts domain.Facts
		keeps bool
	}{
		"listed": {cmd: domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: domain.NewJobID(1)}}, keeps: true},
		"bad":    {cmd: domain.StartBatch{Problem: &broken}, keeps: true},
		"held":   {cmd: domain.HoldBatch{}, facts: domain.Facts{CollectionHold: &onHold}},
		"freed":  {cmd: domain.FreeBatch{Reason: waits}},
	} {
		dec, err := domain.DecideBatch(b, c.cmd, c.facts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if after, err := domain.EvolveBatch(b, recorded(dec.Events[0])); err != nil || after.Runs() != c.keeps || after.Waits() {
			t.Errorf("%s: %+v (%v)", name, after.Ticket, err)
		}
	}
	for _, cmd := range []domain.BatchCommand{domain.GrabBatch{Ticket: domain.Ticket{Queue: fair.QueueMetadata, User: "ana", Turn: 1}, Ring: domain.RingPosition{Turn: 1}}, domain.ParkBatch{}} {
		_, err := domain.DecideBatch(b, cmd, domain.Facts{})
		refusal(t, err, domain.CodeNotWaiting)
	}
	_, err = domain.DecideBatch(none, submit, domain.Facts{Ticket: waiting})
	refusal(t, err, domain.CodeNotServed) // there is no pool
	pool.Running = fair.DefaultSynchronous
	_, err = domain.DecideBatch(none, submit, domain.Facts{Pool: pool})
	refusal(t, err, domain.CodePoolFull)
	pool.Config.Suspended = true
	_, err = domain.DecideBatch(none, submit, domain.Facts{Pool: pool})
	refusal(t, err, domain.CodeNotServed)
}

// TestLimitOfSynchronousDeposits: only the queue of metadata has one.
func TestLimitOfSynchronousDeposits(t *testing.T) {
	t.Parallel()
	for n, faults := range map[int]bool{0: false, 7: false, -1: true} {
		for _, queue := range domain.DepositQueues {
			to, err := domain.NormaliseSetting(domain.SettingDepositQueue, queue, domain.SettingValue{DepositQueue: &domain.DepositQueue{Synchronous: &n}})
			if wrong := faults || queue == fair.QueueQuery; (err != nil) != wrong || !wrong && (to.DepositQueue == nil || *to.DepositQueue.Synchronous != n) {
				t.Errorf("%d of %s: %+v (%v)", n, queue, to.DepositQueue, err)
			}
		}
	}
}
