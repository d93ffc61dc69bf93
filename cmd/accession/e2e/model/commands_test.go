package model_test

import (
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// fitting is the command with which a daemon goes on from a state.
var fitting = map[string]string{"pending": "accept", "estimating": "estimate", "provisioning": "provision", "downloading": "download",
	"processing": "process", "recording": "record", "notify": "complete", "completed": "clean"}

var (
	// What an operator may do to a job or a batch in a state.
	help = map[string][]string{"failed": {"requeue", "requeue", "delete"}, "held": {"release", "release", "delete"}, "pending": {"hold", "reprioritise"}}
	end  = map[string][]string{"failed": {"update", "update", "delete"}, "held": {"release", "release", "delete"}, "completed": {"clean"}}

	daemonJob   = []string{"accept", "estimate", "provision", "download", "process", "record", "complete", "fail", "hold", "wait", "identify", "clean", "fail"}
	operatorJob = []string{"requeue", "hold", "release", "reprioritise", "delete", "requeue", "cancel"}

	daemonBatch   = []string{"list", "hold", "start", "start badly", "finish"}
	operatorBatch = []string{"release", "update", "delete", "clean", "update"}
)

// jobCommand makes the program's command of the model's.
func jobCommand(name string, priority int) domain.JobCommand {
	why := storetest.Broken()
	waits := domain.Reason{Class: domain.ClassWait, Code: "no_space", Message: "there is no space"}
	switch name {
	case "accept":
		return domain.AcceptJob{}
	case "estimate":
		return domain.EstimateJob{Files: 1, Bytes: 10, Priority: priority}
	case "provision":
		return domain.ProvisionJob{}
	case "download":
		return domain.DownloadJob{Files: 1, Bytes: 11, Priority: priority}
	case "process":
		return domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/fk4", Version: 1, ManifestKey: "k", Files: 1, Bytes: 11}}
	case "record":
		return domain.RecordJob{}
	case "complete":
		return domain.CompleteJob{Callback: "none"}
	case "fail":
		return domain.FailJob{Reason: why}
	case "cancel":
		return domain.CancelJob{Reason: domain.Reason{Class: domain.ClassCancelled, Code: domain.CodeCancelled, Message: "withdrawn"}}
	case "hold":
		return domain.HoldJob{Reason: waits}
	case "release":
		return domain.ReleaseJob{}
	case "requeue":
		return domain.RequeueJob{}
	case "delete":
		return domain.DeleteJob{}
	case "clean":
		return domain.CleanJob{}
	case "identify":
		return domain.IdentifyJob{Identifiers: domain.Identifiers{Primary: "ark:/99999/fk4", LocalID: []string{"x"}}, Minted: true}
	case "wait":
		return domain.WaitJob{Reason: waits}
	default:
		return domain.ReprioritiseJob{Priority: priority}
	}
}

func (r *run) priority() int {
	return oneOf(r, "priority", []int{5, 5, 0, 1, 10, 99, 100, -1})
}

// workJob goes on with a job under a claim, or does something that is out of place.
func (r *run) workJob() {
	h, ok := anyOf(r, "claim", ofJobs(r.held))
	if !ok {
		r.nextJob()
		return
	}
	name, fits := fitting[h.job.State]
	switch {
	case h.job.Cleaned || !fits:
		name = "let go"
	case name == "accept" && r.want.Held[h.job.Batch.Collection]:
		name = "hold"
	case r.dice("fail", 10) == 0:
		name = "fail"
	}
	if !r.sane() {
		name = oneOf(r, "command", append(daemonJob, "let go"))
	}
	if name == "let go" {
		r.release(h)
		return
	}
	priority := r.priority()
	if r.sane() {
		priority = 5
	}
	o, by := r.order(h)
	if fits && !by.Keep && r.yes("hand over") {
		o.Next = domain.JobState(nextState[name])
	}
	res, err := r.processes[h.by].handler.Job(r.Context(), domain.JobID(h.job.ID), jobCommand(name, priority), o)
	r.tell(res.Events)
	want := r.want.Do(h.job, name, priority, by)
	r.say(want, err, "%d: %s %s (priority %d, keep %t, go on %s)", h.by, name, h.job.ID, priority, by.Keep, o.Next)
	r.checkJob(h.job)
	r.settle(h)
	r.handedOver(h, o, want, res.Claim)
}

// nextState is where a command leads.
var nextState = map[string]string{"accept": "estimating", "estimate": "provisioning", "provision": "downloading", "download": "processing",
	"process": "recording", "record": "notify", "complete": "completed"}

// handedOver compares whether the job was claimed again in the same write.
func (r *run) handedOver(h *held, o eventstore.Meta, done model.Answer, c *eventstore.Claim) {
	waiting := r.want.WaitingJobs(h.job.State)
	asked := o.Next != "" && done == model.Done
	switch {
	case c == nil && asked && r.servers.exact() && len(waiting) > 0 && waiting[0] == h.job:
		r.Fatalf("%s was not handed over", h.job.ID)
	case c != nil && (!asked || !r.mayTake(h.by, h.job.ID, idsOfJobs(waiting))):
		r.Fatalf("%s was handed over, and these wait: %v", h.job.ID, idsOfJobs(waiting))
	}
	if c != nil {
		h.job.HandOver(c.ID)
		r.keep(&held{claim: c, by: h.by, job: h.job})
		r.checkAttempts(c, h.job)
		r.did("%d: goes on with %s", h.by, h.job.ID)
	}
}

func ofJobs(all []*held) (jobs []*held) {
	for _, h := range all {
		if h.job != nil {
			jobs = append(jobs, h)
		}
	}
	return jobs
}

func ofBatches(all []*held) (batches []*held) {
	for _, h := range all {
		if h.batch != nil {
			batches = append(batches, h)
		}
	}
	return batches
}

// operateJob is an operator's command.
func (r *run) operateJob() {
	n, p := r.process()
	j, ok := anyOf(r, "job", r.want.Jobs)
	if !ok || j.Batch.State == "deleted" {
		return
	}
	name := oneOf(r, "command", operatorJob)
	if fits := help[j.State]; r.sane() && len(fits) > 0 {
		name = oneOf(r, "help", fits)
	}
	priority := r.priority()
	res, err := p.handler.Job(r.Context(), domain.JobID(j.ID), jobCommand(name, priority), storetest.Operator())
	r.tell(res.Events)
	r.say(r.want.Do(j, name, priority, model.By{}), err, "%d: operator: %s %s (priority %d)", n, name, j.ID, priority)
	r.checkJob(j)
}

// workBatch goes on with a batch under a claim.
func (r *run) workBatch() {
	h, ok := anyOf(r, "claim", ofBatches(r.held))
	if !ok {
		r.nextBatch()
		return
	}
	b := h.batch
	name := oneOf(r, "command", append(daemonBatch, "let go"))
	if r.sane() {
		switch {
		case b.State == "pending" && b.Rows == 0:
			name = "list"
		case b.State == "pending" && b.Next == b.Rows:
			name = "start"
		case b.State == "reporting" || b.State == "update-reporting":
			name = "finish"
		}
	}
	if b.Next < b.Rows && r.sane() {
		r.make(h)
		return
	}
	if name == "let go" || b.State != "pending" && name != "finish" && r.sane() {
		r.release(h)
		return
	}
	o, by := r.order(h)
	r.doBatch(h.by, b, name, o, by)
	r.settle(h)
}

// make makes one or more of the jobs of a batch that are not there yet.
func (r *run) make(h *held) {
	b, l := h.batch, r.listed[h.batch]
	var cmds []domain.CreateJob
	var ids []string
	var priorities []int
	more := r.dice("jobs", 3)
	for row := b.Next; row < b.Rows && row <= b.Next+more; row++ {
		p := r.priority()
		if r.sane() {
			p = 5
		}
		cmd := storetest.Create(domain.BatchID(b.ID), row, p)
		cmd.Configuration.ProfileName = b.Collection
		cmds, ids, priorities = append(cmds, cmd), append(ids, string(l.FirstJID.Plus(row))), append(priorities, p)
	}
	events, err := r.processes[h.by].handler.CreateJobs(r.Context(), l.FirstJID, b.Next, cmds, storetest.Under(h.claim, true))
	r.tell(events)
	want := r.want.Make(b, ids, priorities, model.By{Claim: h.claim.ID, Keep: true})
	r.say(want, err, "%d: make jobs of %s: %s with priorities %v", h.by, b.ID, strings.Join(ids, " "), priorities)
	r.checkBatch(b)
	r.settle(h)
}

// doBatch does one command to a batch.
func (r *run) doBatch(n int, b *model.Batch, name string, o eventstore.Meta, by model.By) {
	p, rows := r.processes[n], 0
	why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeCollectionHeld, Message: "on hold"}
	var cmd domain.BatchCommand
	switch name {
	case "list":
		rows = 1 + r.dice("rows", 3)
		first, err := p.store.ReserveJobIDs(r.Context(), rows)
		if err != nil {
			r.Fatal(err)
		}
		l := domain.Listing{Rows: rows, FirstJID: first, ManifestURL: "http://files.test/copy", ManifestSHA256: "00"}
		if b.Rows == 0 {
			r.listed[b] = l
		}
		cmd = domain.ListBatch{Listing: l}
	case "hold":
		cmd = domain.HoldBatch{Reason: why}
	case "start":
		cmd = domain.StartBatch{}
	case "start badly":
		bad := storetest.Broken()
		cmd = domain.StartBatch{Problem: &bad}
	case "release":
		cmd = domain.ReleaseBatch{}
	case "report":
		cmd = domain.BeginReport{}
	case "finish":
		cmd = domain.FinishReport{Report: r.reportOf(b)}
	case "update":
		cmd = domain.RequestUpdate{}
	case "delete":
		cmd = domain.DeleteBatch{}
	default:
		cmd = domain.CleanBatch{}
	}
	res, err := p.handler.Batch(r.Context(), domain.BatchID(b.ID), cmd, o)
	r.tell(res.Events)
	r.say(r.want.DoBatch(b, name, rows, by), err, "%d: %s %s%s", n, name, b.ID, map[bool]string{true: fmt.Sprintf(" with %d rows", rows)}[rows > 0])
	r.checkBatch(b)
}

// reportOf says of a batch what the model knows.
func (r *run) reportOf(b *model.Batch) domain.Report {
	var good, bad []domain.JobID
	for _, j := range r.want.Jobs {
		switch {
		case j.Batch == b && j.Sub() == "completed":
			good = append(good, domain.JobID(j.ID))
		case j.Batch == b && j.Sub() == "failed":
			bad = append(bad, domain.JobID(j.ID))
		}
	}
	return domain.NewReport(good, bad, nil, domain.Time{})
}

func (r *run) operateBatch() {
	n, _ := r.process()
	b, ok := anyOf(r, "batch", r.want.Batches)
	if !ok || b.State == "deleted" {
		return
	}
	name := oneOf(r, "command", operatorBatch)
	if fits := end[b.State]; r.sane() && len(fits) > 0 {
		name = oneOf(r, "end", fits)
	}
	r.doBatch(n, b, name, storetest.Operator(), model.By{})
}

// report is what the program does when the last job of a batch has ended.
func (r *run) report() {
	n, _ := r.process()
	for _, b := range r.want.Batches {
		if b.State == "processing" && (r.want.Count(b, "processing") == 0 || r.dice("early", 8) == 0) {
			r.doBatch(n, b, "report", storetest.Operator(), model.By{})
		}
	}
}

// remove finishes the deletion of deleted batches.
func (r *run) remove() {
	n, p := r.process()
	for _, b := range r.want.Batches {
		if b.State != "deleted" {
			continue
		}
		err := p.handler.FinishDeletion(r.Context(), domain.BatchID(b.ID), storetest.Operator(), func(domain.Job) error { return nil })
		r.say(r.want.Remove(b), err, "%d: remove %s", n, b.ID)
		r.checkBatch(b)
	}
}
