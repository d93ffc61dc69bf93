package daemon

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
)

// Daemon is one row of the table of daemons.
type Daemon struct {
	Name string
	// Batch or Job is the state from which it claims; the janitor takes completed jobs.
	Batch domain.BatchState
	Job   domain.JobState
	// Workers is the default number of its workers in a process.
	Workers int
	// Rows are the rows of the transition tables that it ends in.
	Rows []string
	// Fails is the row of a failure, "" = work in this state cannot fail; if it cannot
	// be done it is set aside with an alarm.
	Fails string
	// Then is the state in which a worker may keep the same job by hand-over, "" = the
	// job goes to its queue. Provisioning takes all jobs from its queue, in order.
	Then domain.JobState
	// Shared says that its steps wait for servers of others, so that one submitter or
	// server may hold only a share of its workers.
	Shared bool
	// AnyProfile says that its jobs do not wait if their profile is missing.
	AnyProfile bool

	batchStep func(*steps, context.Context, *BatchTask) Outcome
	jobStep   func(*steps, context.Context, *JobTask) Outcome
}

// Daemons is the table of daemons, in the order of the workflow.
var Daemons = []Daemon{
	{Name: domain.DaemonBatchPending, Batch: domain.BatchPending, Workers: 8, Shared: true,
		Rows: []string{"B2", "B3"}, batchStep: (*steps).batchPending},
	{Name: domain.DaemonBatchReporting, Batch: domain.BatchReporting, Workers: 2,
		Rows: []string{"B6", "B7"}, batchStep: (*steps).batchReporting},
	{Name: domain.DaemonBatchUpdateReporting, Batch: domain.BatchUpdateReporting, Workers: 1,
		Rows: []string{"B9", "B10"}, batchStep: (*steps).batchReporting},
	{Name: domain.DaemonJobPending, Job: domain.JobPending, Workers: 8, Shared: true,
		Rows: []string{"J2", "J4", "J5"}, Then: domain.JobEstimating, jobStep: (*steps).jobPending},
	{Name: domain.DaemonJobEstimating, Job: domain.JobEstimating, Workers: 8, Shared: true,
		Rows: []string{"J6"}, jobStep: (*steps).jobEstimating},
	{Name: domain.DaemonJobProvisioning, Job: domain.JobProvisioning, Workers: 1,
		Rows: []string{"J7", "J24"}, Then: domain.JobDownloading, jobStep: (*steps).jobProvisioning},
	{Name: domain.DaemonJobDownloading, Job: domain.JobDownloading, Workers: 8, Shared: true,
		Rows: []string{"J8", "J9"}, Fails: "J9", Then: domain.JobProcessing, jobStep: (*steps).jobDownloading},
	{Name: domain.DaemonJobProcessing, Job: domain.JobProcessing, Workers: 8, Shared: true,
		Rows: []string{"J10", "J11"}, Fails: "J11", Then: domain.JobRecording, jobStep: (*steps).jobProcessing},
	{Name: domain.DaemonJobRecording, Job: domain.JobRecording, Workers: 8, Shared: true,
		Rows: []string{"J12", "J13"}, Fails: "J13", Then: domain.JobNotify, jobStep: (*steps).jobRecording},
	{Name: domain.DaemonJobNotify, Job: domain.JobNotify, Workers: 8, Shared: true,
		Rows: []string{"J14", "J15"}, Fails: "J15", jobStep: (*steps).jobNotify},
	{Name: domain.DaemonJanitor, Job: domain.JobCompleted, Workers: 1,
		Rows: []string{"B5", "B13", "B14", "J20"}, AnyProfile: true, jobStep: (*steps).jobClean},
}

// takes returns the daemon that claims jobs in a state.
func takes(state domain.JobState) (Daemon, bool) {
	i := slices.IndexFunc(Daemons, func(d Daemon) bool { return d.Job == state && state != "" })
	if i < 0 {
		return Daemon{}, false
	}
	return Daemons[i], true
}
