package model

// The rows of the workflow's tables, written down by hand from its documentation: the
// one oracle of the tests. The commands of this package's model follow them, and the
// test of every row compares what the program leaves behind with them.

// BatchRow is what a row of the batch table does.
type BatchRow struct {
	By     string // actors that may take it, separated by spaces
	Status string // of the node and the table
	Report string // status-report and a row of batch_report are written, of this kind
	Keeps  bool   // the reason of the state before stays
	Gone   bool   // all nodes of the batch are removed
}

// BatchRows has all rows of batches.
var BatchRows = map[string]BatchRow{
	"B1":  {By: "user/test", Status: "pending"},
	"B2":  {By: "daemon/batch-pending", Status: "held"},
	"B3":  {By: "daemon/batch-pending", Status: "processing"},
	"B4":  {By: "user/test", Status: "pending"},
	"B5":  {By: "user/test daemon/batch-pending daemon/job-notify daemon/job-downloading daemon/janitor", Status: "reporting"},
	"B6":  {By: "daemon/batch-reporting", Status: "completed", Report: "first"},
	"B7":  {By: "daemon/batch-reporting", Status: "failed", Report: "first"},
	"B8":  {By: "user/test", Status: "update-reporting", Keeps: true},
	"B9":  {By: "daemon/batch-update-reporting", Status: "completed", Report: "update"},
	"B10": {By: "daemon/batch-update-reporting", Status: "failed", Report: "update"},
	"B11": {By: "user/test", Status: "deleted", Gone: true},
	"B12": {By: "user/test", Status: "deleted", Gone: true},
	"B13": {By: "user/test daemon/janitor", Status: "deleted", Gone: true},
	"B14": {By: "daemon/janitor", Status: "deleted", Gone: true},
}

// JobRow is what a row of the job table does. The lock and the entry of the state before
// are gone after each.
type JobRow struct {
	Command string // of the model; "" = it has none
	From    string // states before, separated by spaces
	After   string // last successful states that a requeue asks for, "null" = none yet

	By      string // actors that may take it, separated by spaces
	Status  string // of the node and the table, and the queue that has its entry
	Last    string // last_successful_status becomes this; "" = it stays
	Again   bool   // retry_count goes up by one
	Sub     string // where the batch refers to it
	Count   string // column of accession.batch that counts it
	Retry   string // of its attempts: opens one, resumes it, or how the last ends
	Size    bool   // space_needed becomes what its files need
	Cleaned bool   // it has no entry in a queue any more
	Gone    bool   // all its nodes and the reference are removed
}

// References, counters and the fates of attempts.
const (
	subProcessing, subFailed, subCompleted = "batch-processing", "batch-failed", "batch-completed"
	isProcessing, isHeld, isFailed         = "jobs_processing", "jobs_held", "jobs_failed"
	isCompleted, isDeleted                 = "jobs_completed", "jobs_deleted"
	Opens                                  = "open"
	Resumes                                = "resumed"
	Succeeds                               = "succeeded"
	GivesUp                                = "given_up"
	Undone                                 = "deleted"
)

// JobRows has all rows of jobs.
var JobRows = map[string]JobRow{
	"J1":  {By: "daemon/batch-pending", Status: "pending", Sub: subProcessing, Count: isProcessing},
	"J2":  {Command: "hold", From: "pending", By: "daemon/job-pending user/test", Status: "held", Sub: subProcessing, Count: isHeld},
	"J3":  {Command: "release", From: "held", By: "user/test", Status: "pending", Sub: subProcessing, Count: isProcessing},
	"J4":  {Command: "accept", From: "pending", By: "daemon/job-pending", Status: "estimating", Sub: subProcessing, Count: isProcessing},
	"J5":  {Command: "fail", From: "pending", By: "daemon/job-pending", Status: "failed", Sub: subFailed, Count: isFailed, Retry: Opens},
	"J6":  {Command: "estimate", From: "estimating", By: "daemon/job-estimating", Status: "provisioning", Last: "estimating", Sub: subProcessing, Count: isProcessing, Size: true},
	"J7":  {Command: "provision", From: "provisioning", By: "daemon/job-provisioning", Status: "downloading", Last: "provisioning", Sub: subProcessing, Count: isProcessing},
	"J8":  {Command: "download", From: "downloading", By: "daemon/job-downloading", Status: "processing", Last: "downloading", Sub: subProcessing, Count: isProcessing, Size: true},
	"J9":  {Command: "fail", From: "downloading", By: "daemon/job-downloading", Status: "failed", Sub: subFailed, Count: isFailed, Retry: Opens},
	"J10": {Command: "process", From: "processing", By: "daemon/job-processing", Status: "recording", Last: "processing", Sub: subProcessing, Count: isProcessing},
	"J11": {Command: "fail", From: "processing", By: "daemon/job-processing", Status: "failed", Sub: subFailed, Count: isFailed, Retry: Opens},
	"J12": {Command: "record", From: "recording", By: "daemon/job-recording", Status: "notify", Last: "recording", Sub: subProcessing, Count: isProcessing},
	"J13": {Command: "fail", From: "recording", By: "daemon/job-recording", Status: "failed", Sub: subFailed, Count: isFailed, Retry: Opens},
	"J14": {Command: "complete", From: "notify", By: "daemon/job-notify", Status: "completed", Last: "notify", Sub: subCompleted, Count: isCompleted, Retry: Succeeds},
	"J15": {Command: "fail", From: "notify", By: "daemon/job-notify", Status: "failed", Sub: subFailed, Count: isFailed, Retry: Opens},
	"J16": {Command: "requeue", From: "failed", After: "provisioning", By: "user/test", Status: "downloading", Again: true, Sub: subProcessing, Count: isProcessing, Retry: Resumes},
	"J17": {Command: "requeue", From: "failed", After: "downloading", By: "user/test", Status: "processing", Again: true, Sub: subProcessing, Count: isProcessing, Retry: Resumes},
	"J18": {Command: "requeue", From: "failed", After: "processing", By: "user/test", Status: "recording", Again: true, Sub: subProcessing, Count: isProcessing, Retry: Resumes},
	"J19": {Command: "requeue", From: "failed", After: "recording", By: "user/test", Status: "notify", Again: true, Sub: subProcessing, Count: isProcessing, Retry: Resumes},
	"J20": {Command: "clean", From: "completed", By: "daemon/janitor", Status: "completed", Sub: subCompleted, Count: isCompleted, Cleaned: true},
	"J21": {Command: "delete", From: "failed", By: "user/test", Status: "deleted", Count: isDeleted, Retry: Undone, Gone: true},
	"J22": {Command: "delete", From: "held", By: "user/test", Status: "deleted", Count: isDeleted, Gone: true},
	"J24": {Command: "cancel", From: "pending held estimating provisioning downloading processing recording notify", By: "user/test daemon/job-provisioning",
		Status: "failed", Sub: subFailed, Count: isFailed, Retry: Opens},
	"J25": {Command: "requeue", From: "failed", After: "null estimating", By: "user/test", Status: "pending", Again: true, Sub: subProcessing, Count: isProcessing, Retry: Resumes},
	"J23": {By: "user/test", Status: "deleted", Count: isDeleted, Retry: "abandoned", Gone: true},
}

// JobStay is an event that leaves a job in its state.
type JobStay struct {
	By    string
	Event string
}

// JobStays has the events of a daemon that leave a job in its state.
var JobStays = map[string]JobStay{
	"identified": {"daemon/job-processing", "job.identified"},
	"waiting":    {"daemon/job-downloading daemon/job-processing", "job.waiting"},
}

// FileRow is what a row of the file table does. ZooKeeper knows nothing of it.
type FileRow struct {
	By                   string
	Status               string
	Downloads, Processes string // attempts: "+1", "0", or "" = they stay
	Back                 string // attempts of which one is given back if our store, disk or servers, or a stop, ended it
	Code                 string // of the reason; "" = none, "?" = the test says it
	Retry                string
}

// The attempts of a file.
const (
	Downloads = "downloads"
	Processes = "processes"
)

// FileRows has all rows of files.
var FileRows = map[string]FileRow{
	"F1":  {By: "daemon/job-estimating", Status: "DISCOVERED"},
	"F2":  {By: "daemon/job-downloading", Status: "DOWNLOADING", Downloads: "+1"},
	"F3":  {By: "daemon/job-downloading", Status: "DOWNLOADED", Code: "already_exists", Retry: Succeeds},
	"F4":  {By: "daemon/job-downloading", Status: "DOWNLOADED", Retry: Succeeds},
	"F5":  {By: "daemon/job-downloading", Status: "DOWNLOADING_FAILED", Back: Downloads, Code: "http_status", Retry: Opens},
	"F6":  {By: "daemon/job-downloading", Status: "DOWNLOADING", Downloads: "+1", Retry: Resumes},
	"F7":  {By: "daemon/job-downloading", Status: "IGNORE", Code: "attempts_used_up", Retry: GivesUp},
	"F8":  {By: "daemon/job-downloading", Status: "DOWNLOADING_FAILED", Code: "working_files_missing", Retry: Opens},
	"F9":  {By: "user/test", Status: "SKIPPED", Code: "skipped_by_operator"},
	"F10": {By: "daemon/job-downloading", Status: "READY"},
	"F11": {By: "daemon/job-processing", Status: "PROCESSING", Processes: "+1"},
	"F12": {By: "daemon/job-processing", Status: "PROCESSED", Retry: Succeeds},
	"F13": {By: "daemon/job-processing", Status: "PROCESSING_FAILED", Back: Processes, Code: "?", Retry: Opens},
	"F14": {By: "daemon/job-processing", Status: "READY", Retry: Resumes},
	"F15": {By: "daemon/job-processing", Status: "ABANDONED", Code: "attempts_used_up", Retry: GivesUp},
	"F16": {By: "daemon/job-processing", Status: "PROCESSING_FAILED", Code: "storage_error", Retry: Opens},
	"O1":  {By: "user/test daemon/job-downloading", Status: "DISCOVERED", Downloads: "0", Code: "?", Retry: Resumes},
	"O2":  {By: "user/test daemon/job-processing", Status: "READY", Processes: "0", Code: "?", Retry: Resumes},
	"O3":  {By: "user/test", Status: "DOWNLOADED", Downloads: "0", Code: "requested"},
}
