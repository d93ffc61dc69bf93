package domain_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// jobRow is how a row of the job workflow is taken, and what it requires. What it does is
// in [model.JobRows].
type jobRow struct {
	row     string
	from    domain.JobState
	event   domain.EventType
	cmd     domain.JobCommand
	last    domain.JobState // last_successful_status before a requeue
	require domain.Require
}

func (r jobRow) to() domain.JobState { return domain.JobState(model.JobRows[r.row].Status) }

func (r jobRow) sub() domain.Sub { return domain.Sub(model.JobRows[r.row].Sub) }

// after returns what the row leaves behind of a job: the last successful state, and the
// number of retries.
func (r jobRow) after(j domain.Job) (last domain.JobState, retries int) {
	does := model.JobRows[r.row]
	if does.Again {
		j.RetryCount++
	}
	return cmp.Or(domain.JobState(does.Last), j.LastSuccessful), j.RetryCount
}

var (
	none     = domain.Require{}
	holds    = domain.Require{Holds: true}
	operator = domain.Require{Batch: true, Unlocked: true}
	inBatch  = domain.Facts{Collection: "maps", Batch: domain.BatchProcessing}
)

var jobRows = append([]jobRow{
	{"J1", "", "job.created", domain.CreateJob{Priority: 10, Configuration: domain.Configuration{BatchID: theBatch}}, "", none},
	{"J2", "pending", "job.held", domain.HoldJob{Reason: waits}, "", none},
	{"J3", "held", "job.released", domain.ReleaseJob{}, "", domain.Require{Holds: true, Unlocked: true}},
	{"J4", "pending", "job.accepted", domain.AcceptJob{}, "", holds},
	{"J5", "pending", "job.failed", domain.FailJob{Reason: broken}, "", none},
	{"J6", "estimating", "job.estimated", domain.EstimateJob{Priority: 10, Bytes: 4}, "", none},
	{"J7", "provisioning", "job.provisioned", domain.ProvisionJob{}, "", none},
	{"J8", "downloading", "job.downloaded", domain.DownloadJob{Priority: 10, Bytes: 4}, "", none},
	{"J9", "downloading", "job.failed", domain.FailJob{Reason: broken}, "", none},
	{"J10", "processing", "job.processed", domain.ProcessJob{}, "", none},
	{"J11", "processing", "job.failed", domain.FailJob{Reason: broken}, "", none},
	{"J12", "recording", "job.recorded", domain.RecordJob{}, "", none},
	{"J13", "recording", "job.failed", domain.FailJob{Reason: broken}, "", none},
	{"J14", "notify", "job.completed", domain.CompleteJob{Callback: "none"}, "", none},
	{"J15", "notify", "job.failed", domain.FailJob{Reason: broken}, "", none},
	{"J16", "failed", "job.requeued", domain.RequeueJob{}, "provisioning", operator},
	{"J17", "failed", "job.requeued", domain.RequeueJob{}, "downloading", operator},
	{"J18", "failed", "job.requeued", domain.RequeueJob{}, "processing", operator},
	{"J19", "failed", "job.requeued", domain.RequeueJob{}, "recording", operator},
	{"J20", "completed", "job.cleaned", domain.CleanJob{}, "", none},
	{"J21", "failed", "job.deleted", domain.DeleteJob{}, "", operator},
	{"J22", "held", "job.deleted", domain.DeleteJob{}, "", operator},
	{"J25", "failed", "job.requeued", domain.RequeueJob{}, "", operator},
	{"J25", "failed", "job.requeued", domain.RequeueJob{}, "estimating", operator},
}, rowsFromMany()...)

func rowsFromMany() (rows []jobRow) {
	for _, s := range domain.JobStates {
		rows = append(rows, jobRow{"J23", s, "job.deleted", domain.DeleteJobWithBatch{}, "", domain.Require{Unlocked: true}})
	}
	for _, s := range []domain.JobState{"pending", "held", "estimating", "provisioning", "downloading", "processing", "recording", "notify"} {
		rows = append(rows, jobRow{"J24", s, "job.failed", domain.CancelJob{Reason: broken}, "", none})
	}
	return rows
}

// before returns the job that the row starts from, and facts under which it goes.
func (r jobRow) before() (domain.Job, domain.Facts) {
	j, f := jobIn(r.from), inBatch
	switch r.row {
	case "J16", "J17", "J18", "J19", "J25":
		j.LastSuccessful = r.last
	case "J23":
		f.Batch = domain.BatchDeleted
	}
	return j, f
}

func TestJobRows(t *testing.T) {
	t.Parallel()
	if len(jobRows) != len(domain.JobTransitions) {
		t.Fatalf("the table has %d rows, want %d", len(domain.JobTransitions), len(jobRows))
	}
	for _, r := range jobRows {
		t.Run(r.row+" from "+string(r.from), func(t *testing.T) {
			t.Parallel()
			j, f := r.before()
			dec, err := domain.DecideJob(j, r.cmd, f)
			if err != nil {
				t.Fatal(err)
			}
			if dec.Row != r.row || !reflect.DeepEqual(dec.Require, r.require) {
				t.Errorf("row %s requiring %+v, want %s requiring %+v", dec.Row, dec.Require, r.row, r.require)
			}
			if len(dec.Events) != 1 {
				t.Fatalf("%d events, want 1", len(dec.Events))
			}
			e := dec.Events[0]
			last, retries := r.after(j)
			m, _ := domain.MoveOfJob(e.Data)
			if e.Type != r.event || m.From != r.from || m.To != r.to() || e.Version != j.Version+1 ||
				m.LastSuccessful != last || m.RetryCount != retries || m.Priority != 10 {
				t.Errorf("%s %d: %+v", e.Type, e.Version, m)
			}
			if d, ok := e.Data.(*domain.JobDeletion); ok != (r.to() == domain.JobDeleted) || ok && *d.WithBatch != (r.row == domain.RowWithBatch) {
				t.Errorf("%s with %+v", e.Type, e.Data)
			}
			after, err := domain.EvolveJob(j, recorded(e))
			if err != nil {
				t.Fatal(err)
			}
			if after.State != r.to() || after.Version != j.Version+1 || after.CommandID != "now" || after.LastSuccessful != last ||
				after.RetryCount != retries || after.State.Sub() != r.sub() {
				t.Errorf("evolved to %+v", after)
			}
			if queued := after.QueueEntry() != ""; queued != (r.to() != domain.JobDeleted && r.row != "J20") {
				t.Errorf("queue entry %q", after.QueueEntry())
			}
		})
	}
}

// TestJobPairs asks every command in every state: what is no row is refused,
// with the state and what would be possible.
// Shows: P2
func TestJobPairs(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	possible := map[domain.JobState][]string{}
	var moves []domain.JobCommand
	for _, r := range jobRows {
		legal[fmt.Sprintf("%T %s", r.cmd, r.from)] = true
		if r.from != r.to() && r.row != domain.RowWithBatch && !slices.Contains(possible[r.from], string(r.to())) {
			possible[r.from] = append(possible[r.from], string(r.to()))
		}
		moves = append(moves, r.cmd)
	}
	stays := map[string][]domain.JobState{
		"domain.IdentifyJob":     {domain.JobProcessing},
		"domain.WaitJob":         {"pending", "estimating", "provisioning", "downloading", "processing", "recording", "notify"},
		"domain.ReprioritiseJob": domain.JobStates,
	}
	commands := slices.Concat(moves, []domain.JobCommand{domain.IdentifyJob{}, domain.WaitJob{Reason: waits}, domain.ReprioritiseJob{Priority: 1}})
	for _, s := range jobStates() {
		for _, cmd := range commands {
			key := fmt.Sprintf("%T %s", cmd, s)
			want := legal[key] || slices.Contains(stays[fmt.Sprintf("%T", cmd)], s)
			f := inBatch
			if _, ok := cmd.(domain.DeleteJobWithBatch); ok {
				f.Batch = domain.BatchDeleted
			}
			dec, err := domain.DecideJob(jobIn(s), cmd, f)
			if want {
				if err != nil {
					t.Errorf("%s: %v", key, err)
				}
				continue
			}
			r := refusal(t, err, domain.CodeIllegal)
			if len(dec.Events) != 0 || r.State != string(s) || r.Aggregate != theJob.Aggregate() || r.Command == "" {
				t.Errorf("%s: refused as %+v with %d events", key, r, len(dec.Events))
			}
			if fmt.Sprint(r.Possible) != fmt.Sprint(possible[s]) {
				t.Errorf("%s: possible %v, want %v", key, r.Possible, possible[s])
			}
		}
	}
}

// TestJobEvents offers every event type between every pair of states.
func TestJobEvents(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{}
	for _, r := range jobRows {
		legal[fmt.Sprintf("%s>%s %s", r.from, r.to(), r.event)] = true
	}
	stays := []domain.EventType{domain.EventJobIdentified, domain.EventJobWaiting, domain.EventJobReprioritised, domain.EventJobRepaired}
	for _, def := range domain.Registry {
		for _, from := range jobStates() {
			for _, to := range jobStates() {
				j := jobIn(from)
				var data domain.EventData = &domain.JobMoved{JobMove: domain.JobMove{From: from, To: to}}
				if def.Kind != domain.KindJob {
					data = def.New()
				}
				e := domain.Event{Type: def.Type, Aggregate: theJob.Aggregate(), Version: j.Version + 1, Data: data}
				want := legal[fmt.Sprintf("%s>%s %s", from, to, def.Type)] || from == to && slices.Contains(stays, def.Type)
				if _, err := domain.EvolveJob(j, recorded(e)); (err == nil) != want {
					t.Errorf("%s from %q to %q: %v", def.Type, from, to, err)
				}
			}
		}
	}
}

func TestJobGuards(t *testing.T) {
	t.Parallel()
	onHoldToo := inBatch
	onHoldToo.CollectionHold = &onHold
	cleaned := jobIn(domain.JobCompleted)
	cleaned.Cleaned = true
	type guard struct {
		j     domain.Job
		cmd   domain.JobCommand
		facts domain.Facts
		code  domain.Code
	}
	guards := map[string]guard{
		"release on hold":      {jobIn(domain.JobHeld), domain.ReleaseJob{}, onHoldToo, domain.CodeCollectionHeld},
		"accept on hold":       {jobIn(domain.JobPending), domain.AcceptJob{}, onHoldToo, domain.CodeCollectionHeld},
		"clean twice":          {cleaned, domain.CleanJob{}, inBatch, "already_cleaned"},
		"reprioritise cleaned": {cleaned, domain.ReprioritiseJob{Priority: 1}, inBatch, domain.CodeIllegal},
		"delete without batch": {jobIn(domain.JobPending), domain.DeleteJobWithBatch{}, inBatch, "batch_not_deleted"},
		"create at 100":        {jobIn(domain.JobNone), domain.CreateJob{Priority: 100}, inBatch, "bad_priority"},
		"create at -1":         {jobIn(domain.JobNone), domain.CreateJob{Priority: -1}, inBatch, "bad_priority"},
		"estimate to 100":      {jobIn(domain.JobEstimating), domain.EstimateJob{Priority: 100}, inBatch, "bad_priority"},
		"download to 100":      {jobIn(domain.JobDownloading), domain.DownloadJob{Priority: 100}, inBatch, "bad_priority"},
		"reprioritise to 100":  {jobIn(domain.JobPending), domain.ReprioritiseJob{Priority: 100}, inBatch, "bad_priority"},
		"reprioritise to -1":   {jobIn(domain.JobPending), domain.ReprioritiseJob{Priority: -1}, inBatch, "bad_priority"},
	}
	unrecoverable := func(name string, last domain.JobState, fault *domain.Reason, why domain.Reason) {
		j := jobIn(domain.JobFailed)
		j.LastSuccessful, j.Configuration.RowFault, j.Reason = last, fault, &why
		guards["requeue "+name] = guard{j, domain.RequeueJob{}, inBatch, "not_recoverable"}
	}
	content := domain.Reason{Class: domain.ClassContent, Code: "c", Message: "m"}
	unrecoverable("after notify", domain.JobNotify, nil, broken)
	unrecoverable("a faulty row", domain.JobNone, &content, broken)
	unrecoverable("a bad manifest", domain.JobNone, nil, content)
	unrecoverable("a bad manifest, found after a requeue", domain.JobEstimating, nil, content)
	for _, s := range batchStates() {
		if s == domain.BatchProcessing || s == domain.BatchFailed {
			continue
		}
		f := domain.Facts{Batch: s}
		guards["requeue in batch "+string(s)] = guard{jobIn(domain.JobFailed), domain.RequeueJob{}, f, "batch_state"}
		guards["delete failed in batch "+string(s)] = guard{jobIn(domain.JobFailed), domain.DeleteJob{}, f, "batch_state"}
		guards["delete held in batch "+string(s)] = guard{jobIn(domain.JobHeld), domain.DeleteJob{}, f, "batch_state"}
	}
	for name, g := range guards {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := domain.DecideJob(g.j, g.cmd, g.facts)
			if r := refusal(t, err, g.code); r.Error() == "" || r.State != string(g.j.State) {
				t.Errorf("refused as %+v", r)
			}
		})
	}
	for _, p := range []int{0, 99} {
		if _, err := domain.DecideJob(jobIn(domain.JobPending), domain.ReprioritiseJob{Priority: p}, inBatch); err != nil {
			t.Errorf("priority %d: %v", p, err)
		}
	}
}

// TestWorkTravels: what a step found out travels in the move that ends it.
func TestWorkTravels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from domain.JobState
		cmd  domain.JobCommand
	}{
		{domain.JobEstimating, domain.EstimateJob{Files: 3, Bytes: 9, Priority: 20}},
		{domain.JobDownloading, domain.DownloadJob{Files: 3, Bytes: 9, Priority: 20}},
	} {
		dec, err := domain.DecideJob(jobIn(c.from), c.cmd, inBatch)
		if err != nil {
			t.Fatal(err)
		}
		after, err := domain.EvolveJob(jobIn(c.from), recorded(dec.Events[0]))
		if err != nil || after.Priority != 20 || after.SpaceNeeded != 9 || after.QueueEntry() != "20-jid0000000042" {
			t.Errorf("%T: %+v (%v)", c.cmd, after, err)
		}
	}
}

// What never fitted may fit now: it is no fault of the payload.
func TestRequeueOfWhatNeverFits(t *testing.T) {
	t.Parallel()
	j := jobIn(domain.JobFailed)
	j.LastSuccessful = domain.JobEstimating
	j.Reason = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeSpaceNever, Message: "m"}
	d, err := domain.DecideJob(j, domain.RequeueJob{}, inBatch)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := domain.MoveOfJob(d.Events[0].Data); !ok || m.To != domain.JobPending {
		t.Errorf("moved to %q", m.To)
	}
}
