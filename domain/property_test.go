package domain_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

var anyReason = rapid.Custom(func(t *rapid.T) domain.Reason {
	return domain.Reason{Class: rapid.SampledFrom([]domain.Class{domain.ClassContent, domain.ClassSystem, domain.ClassCancelled, domain.ClassWait}).Draw(t, "class"),
		Code: "code", Message: "a sentence"}
})

var anyFacts = rapid.Custom(func(t *rapid.T) domain.Facts {
	count := rapid.IntRange(0, 2)
	f := domain.Facts{Collection: "maps", Batch: rapid.SampledFrom(batchStates()).Draw(t, "batch"),
		Processing: count.Draw(t, "processing"), Failed: count.Draw(t, "failed"), Completed: count.Draw(t, "completed")}
	if rapid.Bool().Draw(t, "held") {
		f.CollectionHold = &onHold
	}
	return f
})

var anyBatchCommand = rapid.Custom(func(t *rapid.T) domain.BatchCommand {
	why := anyReason.Draw(t, "why")
	return rapid.SampledFrom([]domain.BatchCommand{
		domain.SubmitBatch{}, domain.HoldBatch{Reason: why}, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: theJob}},
		domain.StartBatch{}, domain.StartBatch{Problem: &why}, domain.ReleaseBatch{Reason: &why}, domain.BeginReport{}, report,
		domain.RequestUpdate{Reason: &why}, domain.DeleteBatch{Reason: &why}, domain.CleanBatch{}, domain.NoteDelivery{Channel: "mail"},
	}).Draw(t, "command")
})

var anyJobCommand = rapid.Custom(func(t *rapid.T) domain.JobCommand {
	why, priority := anyReason.Draw(t, "why"), rapid.IntRange(-1, 100).Draw(t, "priority")
	return rapid.SampledFrom([]domain.JobCommand{
		domain.CreateJob{Priority: priority}, domain.HoldJob{Reason: why}, domain.ReleaseJob{Reason: &why}, domain.AcceptJob{},
		domain.EstimateJob{Bytes: 7, Priority: priority}, domain.ProvisionJob{}, domain.DownloadJob{Bytes: 8, Priority: priority},
		domain.ProcessJob{}, domain.RecordJob{}, domain.CompleteJob{}, domain.FailJob{Reason: why}, domain.CancelJob{Reason: why}, domain.RequeueJob{Reason: &why},
		domain.CleanJob{}, domain.DeleteJob{Reason: &why}, domain.DeleteJobWithBatch{}, domain.WaitJob{Reason: why},
		domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/1/2"}}, domain.ReprioritiseJob{Priority: priority},
	}).Draw(t, "command")
})

// history is what every random walk checks: decisions never panic, are refused by
// value only, number their events without hole, and folding them from nothing
// gives the state.
type history[S, C any] struct {
	decide  func(S, C, domain.Facts) (domain.Decision, error)
	evolve  func(S, domain.Recorded) (S, error)
	version func(S) int64
}

func (h history[S, C]) walk(t *rapid.T, zero S, commands *rapid.Generator[C]) {
	now := zero
	var events []domain.Recorded
	for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
		cmd := commands.Draw(t, "cmd")
		before := fmt.Sprintf("%+v", now)
		dec, err := h.decide(now, cmd, anyFacts.Draw(t, "facts"))
		if after := fmt.Sprintf("%+v", now); after != before {
			t.Fatalf("%T changed the state that it was asked about: %s → %s", cmd, before, after)
		}
		if err != nil {
			var refused *domain.Refused
			if !errors.As(err, &refused) || len(dec.Events) > 0 {
				t.Fatalf("%T: %v with %d events", cmd, err, len(dec.Events))
			}
			continue
		}
		if len(dec.Events) == 0 {
			t.Fatalf("%T was accepted without an event", cmd)
		}
		for _, e := range dec.Events {
			r := recorded(e)
			r.CommandID = fmt.Sprint(i)
			if _, known := domain.Lookup(e.Type); !known || e.Version != int64(len(events))+1 {
				t.Fatalf("%T: %s has number %d after %d events", cmd, e.Type, e.Version, len(events))
			}
			if now, err = h.evolve(now, r); err != nil {
				t.Fatalf("%T: %v", cmd, err)
			}
			events = append(events, r)
		}
	}
	var folded S
	for i, e := range events {
		var err error
		if folded, err = h.evolve(folded, e); err != nil {
			t.Fatalf("event %d: %v", i+1, err)
		}
		for _, wrong := range []int{i, i - 1, i + 2} {
			if wrong >= 0 && wrong < len(events) {
				var unexpected *domain.Unexpected
				if _, err := h.evolve(folded, events[wrong]); !errors.As(err, &unexpected) {
					t.Fatalf("event %d after event %d: %v", wrong+1, i+1, err)
				}
			}
		}
	}
	if len(events) > 0 && !reflect.DeepEqual(folded, now) {
		t.Fatalf("folded %+v, decided %+v", folded, now)
	}
	if h.version(now) != int64(len(events)) {
		t.Fatalf("version %d after %d events", h.version(now), len(events))
	}
}

// Shows: P2
func TestBatchWalks(t *testing.T) {
	t.Parallel()
	h := history[domain.Batch, domain.BatchCommand]{
		// Rows are made as soon as they are listed: NextRow is no event's business.
		decide: func(b domain.Batch, c domain.BatchCommand, f domain.Facts) (domain.Decision, error) {
			if b.Listing != nil {
				b.NextRow = b.Listing.Rows
			}
			return domain.DecideBatch(b, c, f)
		},
		evolve: domain.EvolveBatch, version: func(b domain.Batch) int64 { return b.Version }}
	rapid.Check(t, func(t *rapid.T) { h.walk(t, domain.Batch{ID: theBatch}, anyBatchCommand) })
}

// Shows: P2
func TestJobWalks(t *testing.T) {
	t.Parallel()
	h := history[domain.Job, domain.JobCommand]{decide: domain.DecideJob, evolve: domain.EvolveJob,
		version: func(j domain.Job) int64 { return j.Version }}
	rapid.Check(t, func(t *rapid.T) { h.walk(t, domain.Job{ID: theJob}, anyJobCommand) })
}

// TestNoEventOfAnother: events of another aggregate, and data of another kind,
// are not taken.
func TestNoEventOfAnother(t *testing.T) {
	t.Parallel()
	moved := &domain.JobMoved{JobMove: domain.JobMove{From: domain.JobPending, To: domain.JobEstimating}}
	for name, e := range map[string]domain.Event{
		"other job":     {Type: domain.EventJobAccepted, Aggregate: theJob.Plus(1).Aggregate(), Version: 6, Data: moved},
		"other kind":    {Type: domain.EventJobAccepted, Aggregate: theBatch.Aggregate(), Version: 6, Data: moved},
		"other data":    {Type: domain.EventJobAccepted, Aggregate: theJob.Aggregate(), Version: 6, Data: &domain.SettingChanged{}},
		"no data":       {Type: domain.EventJobAccepted, Aggregate: theJob.Aggregate(), Version: 6},
		"other state":   {Type: domain.EventJobRecorded, Aggregate: theJob.Aggregate(), Version: 6, Data: &domain.JobMoved{JobMove: domain.JobMove{From: domain.JobRecording, To: domain.JobNotify}}},
		"a hole before": {Type: domain.EventJobAccepted, Aggregate: theJob.Aggregate(), Version: 7, Data: moved},
	} {
		var unexpected *domain.Unexpected
		if _, err := domain.EvolveJob(jobIn(domain.JobPending), recorded(e)); !errors.As(err, &unexpected) || unexpected.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
