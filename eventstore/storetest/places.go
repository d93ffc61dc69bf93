package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// testRingFreed: the place of a batch that is freed lets the next one run, also in another
// process, and once only; the batch itself goes on.
func testRingFreed(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	names := k.Deposits("ana1 ana2 ana3 ana4 ana5 ana6 ana7")
	var running []eventstore.Result[domain.Batch]
	for range fair.DefaultConcurrency {
		running = append(running, k.Grab())
	}
	other.grabsNothing("all of ana's may run already")
	free := domain.FreeBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeFreed, Message: "stuck"}}
	k.DoBatch(running[0].State.ID, free, Operator())
	if got := other.grabbed(names, 1); got != "ana6" {
		t.Errorf("grabbed %s", got)
	}
	var refused *domain.Refused
	if _, err := other.Handler.Batch(t.Context(), running[0].State.ID, free, Operator()); !errors.As(err, &refused) || refused.Code != domain.CodeNotRunning {
		t.Errorf("freed twice: %v", err)
	}
	k.EndGrabbed(running[0])
	k.grabsNothing("the place of one that was freed does not come back again")
	k.EndGrabbed(running[1])
	if got := k.grabbed(names, 1); got != "ana7" {
		t.Errorf("then %s", got)
	}
}

// testRingJobsRest: the place of a batch is freed when all of its open jobs are held or wait
// for space, and not before.
func testRingJobsRest(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	k.Deposits("ana1")
	res := k.Grab()
	id, first := res.State.ID, must[domain.JobID](k)(k.Store.ReserveJobIDs(t.Context(), 2))
	k.DoBatch(id, domain.ListBatch{Listing: domain.Listing{Rows: 2, FirstJID: first}}, Under(res.Claim, true))
	rows := make([]domain.CreateJob, 2)
	for i := range rows {
		rows[i] = domain.CreateJob{Configuration: domain.Configuration{BatchID: id, ProfileName: Profile, Row: i}, Priority: 5, Identifiers: domain.Identifiers{LocalID: []string{}}}
	}
	if _, err := k.Handler.CreateJobs(t.Context(), first, 0, rows, Under(res.Claim, true)); err != nil {
		t.Fatal(err)
	}
	look := func(likely domain.JobID) (domain.JobID, bool) {
		t.Helper()
		moving, freed, err := k.Handler.FreeResting(t.Context(), k.Batch(id).State, likely, Operator())
		if err != nil {
			t.Fatal(err)
		}
		return moving, freed
	}
	if moving, freed := look(""); moving != "" || freed {
		t.Errorf("freed before its jobs exist: %s %v", moving, freed)
	}
	k.DoBatch(id, domain.StartBatch{}, Under(res.Claim, false))
	k.DoJob(first, domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: "held"}}, Operator())
	if moving, freed := look(first); moving != first.Plus(1) || freed {
		t.Errorf("the second job goes on: %s %v", moving, freed)
	}
	for _, cmd := range []domain.JobCommand{domain.AcceptJob{}, domain.EstimateJob{Files: 1, Bytes: 9, Priority: 5}} {
		k.DoJob(first.Plus(1), cmd, Operator())
	}
	if moving, freed := look(first.Plus(1)); moving != first.Plus(1) || freed {
		t.Errorf("the second job goes on: %s %v", moving, freed)
	}
	k.DoJob(first.Plus(1), domain.WaitJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeSpaceShort, Message: "no space"}}, Operator())
	if moving, freed := look(first.Plus(1)); moving != "" || !freed {
		t.Errorf("both rest: %s %v", moving, freed)
	}
	if b := k.Batch(id).State; b.Ticket != nil || b.State != domain.BatchProcessing {
		t.Errorf("%+v", b)
	}
	if moving, freed := look(""); moving != "" || freed {
		t.Errorf("freed again: %s %v", moving, freed)
	}
}

// ending is a live state in which a job ends between the list of the open jobs and the look at
// them.
type ending struct {
	eventstore.Live
	end func()
}

func (e ending) BatchJobs(ctx context.Context, id domain.BatchID, of domain.Sub) ([]domain.JobID, error) {
	open, err := e.Live.BatchJobs(ctx, id, of)
	e.end()
	return open, err
}

// testRingJobEnds: the place of a batch whose last job ends while it is looked at is not
// freed: it comes back with the report. Nor is it freed when the report has begun meanwhile.
func testRingJobEnds(t *testing.T, env Env) {
	k := NewRingKit(t, env.Open(t))
	k.Deposits("ana1")
	res := k.Grab()
	id, first := res.State.ID, must[domain.JobID](k)(k.Store.ReserveJobIDs(t.Context(), 1))
	k.DoBatch(id, domain.ListBatch{Listing: domain.Listing{Rows: 1, FirstJID: first}}, Under(res.Claim, true))
	rows := []domain.CreateJob{{Configuration: domain.Configuration{BatchID: id, ProfileName: Profile}, Priority: 5, Identifiers: domain.Identifiers{LocalID: []string{}}}}
	if _, err := k.Handler.CreateJobs(t.Context(), first, 0, rows, Under(res.Claim, true)); err != nil {
		t.Fatal(err)
	}
	k.DoBatch(id, domain.StartBatch{}, Under(res.Claim, false))
	was := k.Batch(id).State
	h := *k.Handler
	h.Live = ending{k.Handler.Live, func() {
		k.DoJob(first, domain.FailJob{Reason: domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "it is bad"}}, Operator())
	}}
	if moving, freed, err := h.FreeResting(t.Context(), was, "", Operator()); err != nil || moving != "" || freed {
		t.Errorf("moving %q, freed %v: %v", moving, freed, err)
	}
	k.DoBatch(id, domain.BeginReport{}, Operator())
	why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeJobsRest, Message: "all of its open jobs rest"}
	var refused *domain.Refused
	if _, err := k.Handler.Batch(t.Context(), id, domain.FreeBatch{Reason: why}, Operator()); !errors.As(err, &refused) {
		t.Errorf("freed while it is reported: %v", err)
	}
	if b := k.Batch(id).State; b.Ticket == nil {
		t.Errorf("it has no place: %+v", b)
	}
}

// testRingView: another process sees who waits, in which order, and what runs.
func testRingView(t *testing.T, env Env) {
	k, other := NewRingKit(t, env.Open(t)), NewRingKit(t, env.Open(t))
	names := k.Deposits("zoe1 ana1 zoe2 ben1 zoe3")
	view := func() string {
		t.Helper()
		v, err := other.Store.Rings.View(t.Context(), fair.QueueMetadata)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, u := range v.Users {
			text := fmt.Sprintf("%s/%v", u.User, u.Slot > 0)
			for _, d := range u.Waiting {
				text += " " + names[domain.BatchID(d.ID)]
			}
			for _, id := range u.Running {
				text += " (" + names[domain.BatchID(id)] + ")"
			}
			all = append(all, text)
		}
		ring := v.Ring()
		return fmt.Sprintf("%s; %v, turn %d", strings.Join(all, ", "), ring.Users(), ring.Position().Turn)
	}
	if got, want := view(), "zoe/true zoe1 zoe2 zoe3, ana/true ana1, ben/true ben1; [zoe ana ben], turn 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	k.Grab()
	k.Grab()
	if got, want := view(), "zoe/true zoe2 zoe3 (zoe1), ben/true ben1, ana/false (ana1); [zoe ben], turn 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if ids, err := other.Store.Rings.Waiting(t.Context(), fair.QueueMetadata, "zoe"); err != nil || len(ids) != 2 || names[domain.BatchID(ids[0])] != "zoe2" || names[domain.BatchID(ids[1])] != "zoe3" {
		t.Errorf("of zoe %v (%v)", ids, err)
	}
	if ids, err := other.Store.Rings.Waiting(t.Context(), fair.QueueMetadata, "ana"); err != nil || len(ids) != 0 {
		t.Errorf("of ana %v (%v)", ids, err)
	}
	if v, err := other.Store.Rings.View(t.Context(), fair.QueueQuery); err != nil || len(v.Users) != 0 {
		t.Errorf("the other queue: %+v (%v)", v, err)
	}
}
