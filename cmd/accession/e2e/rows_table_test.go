package e2e

// What each row of the workflow leaves behind, written down by hand from its
// documentation. Where a row starts and ends, and its event, are in the tables of
// the rules; here is what they do not say: nodes, counters, who.

// batchEffect is what a row of the batch table does.
type batchEffect struct {
	by     string // who may take it, with spaces
	status string // node and table
	// report: the node status-report and a row of batch_report are written; of this
	// kind.
	report string
	keeps  bool // the reason of the state before stays
	gone   bool // all nodes of the batch are removed
}

var batchEffects = map[string]batchEffect{
	"B1":  {by: "user/test", status: "pending"},
	"B2":  {by: "daemon/batch-pending", status: "held"},
	"B3":  {by: "daemon/batch-pending", status: "processing"},
	"B4":  {by: "user/test", status: "pending"},
	"B5":  {by: "user/test daemon/batch-pending daemon/job-notify daemon/job-downloading daemon/janitor", status: "reporting"},
	"B6":  {by: "daemon/batch-reporting", status: "completed", report: "first"},
	"B7":  {by: "daemon/batch-reporting", status: "failed", report: "first"},
	"B8":  {by: "user/test", status: "update-reporting", keeps: true},
	"B9":  {by: "daemon/batch-update-reporting", status: "completed", report: "update"},
	"B10": {by: "daemon/batch-update-reporting", status: "failed", report: "update"},
	"B11": {by: "user/test", status: "deleted", gone: true},
	"B12": {by: "user/test", status: "deleted", gone: true},
	"B13": {by: "user/test daemon/janitor", status: "deleted", gone: true},
}

// jobEffect is what a row of the job table does. lock and the entry of the state
// before are gone after each.
type jobEffect struct {
	by      string
	status  string // node, table, and the queue that it has its entry in
	last    string // last_successful_status becomes this, "" = it stays
	again   bool   // retry_count goes up by one
	sub     string // where the batch refers to it
	count   string // column of accession.batch that counts it
	retry   string // of its attempts: opens one, resumes it, or how the last ends
	size    bool   // space_needed becomes what its files need
	cleaned bool   // it has no entry in a queue any more
	gone    bool   // all its nodes and the reference are removed
}

const (
	subProcessing, subFailed, subCompleted      = "batch-processing", "batch-failed", "batch-completed"
	isProcessing, isHeld, isFailed              = "jobs_processing", "jobs_held", "jobs_failed"
	isCompleted, isDeleted                      = "jobs_completed", "jobs_deleted"
	opens, resumes, succeeds, givesUp, isUndone = "open", "resumed", "succeeded", "given_up", "deleted"
)

var jobEffects = map[string]jobEffect{
	"J1":  {by: "daemon/batch-pending", status: "pending", sub: subProcessing, count: isProcessing},
	"J2":  {by: "daemon/job-pending user/test", status: "held", sub: subProcessing, count: isHeld},
	"J3":  {by: "user/test", status: "pending", sub: subProcessing, count: isProcessing},
	"J4":  {by: "daemon/job-pending", status: "estimating", sub: subProcessing, count: isProcessing},
	"J5":  {by: "daemon/job-pending", status: "failed", sub: subFailed, count: isFailed, retry: opens},
	"J6":  {by: "daemon/job-estimating", status: "provisioning", last: "estimating", sub: subProcessing, count: isProcessing, size: true},
	"J7":  {by: "daemon/job-provisioning", status: "downloading", last: "provisioning", sub: subProcessing, count: isProcessing},
	"J8":  {by: "daemon/job-downloading", status: "processing", last: "downloading", sub: subProcessing, count: isProcessing, size: true},
	"J9":  {by: "daemon/job-downloading", status: "failed", sub: subFailed, count: isFailed, retry: opens},
	"J10": {by: "daemon/job-processing", status: "recording", last: "processing", sub: subProcessing, count: isProcessing},
	"J11": {by: "daemon/job-processing", status: "failed", sub: subFailed, count: isFailed, retry: opens},
	"J12": {by: "daemon/job-recording", status: "notify", last: "recording", sub: subProcessing, count: isProcessing},
	"J13": {by: "daemon/job-recording", status: "failed", sub: subFailed, count: isFailed, retry: opens},
	"J14": {by: "daemon/job-notify", status: "completed", last: "notify", sub: subCompleted, count: isCompleted, retry: succeeds},
	"J15": {by: "daemon/job-notify", status: "failed", sub: subFailed, count: isFailed, retry: opens},
	"J16": {by: "user/test", status: "downloading", again: true, sub: subProcessing, count: isProcessing, retry: resumes},
	"J17": {by: "user/test", status: "processing", again: true, sub: subProcessing, count: isProcessing, retry: resumes},
	"J18": {by: "user/test", status: "recording", again: true, sub: subProcessing, count: isProcessing, retry: resumes},
	"J19": {by: "user/test", status: "notify", again: true, sub: subProcessing, count: isProcessing, retry: resumes},
	"J20": {by: "daemon/janitor", status: "completed", sub: subCompleted, count: isCompleted, cleaned: true},
	"J21": {by: "user/test", status: "deleted", count: isDeleted, retry: isUndone, gone: true},
	"J22": {by: "user/test", status: "deleted", count: isDeleted, gone: true},
	"J23": {by: "user/test", status: "deleted", count: isDeleted, retry: "abandoned", gone: true},
}

// fileEffect is what a row of the file table does. ZooKeeper knows nothing of it.
type fileEffect struct {
	by                   string
	status               string
	downloads, processes string // attempts: "+1", "0", or "" = they stay
	code                 string // of the reason, "" = none, "?" = the case says it
	retry                string
}

var fileEffects = map[string]fileEffect{
	"F1":  {by: "daemon/job-estimating", status: "DISCOVERED"},
	"F2":  {by: "daemon/job-downloading", status: "DOWNLOADING", downloads: "+1"},
	"F3":  {by: "daemon/job-downloading", status: "DOWNLOADED", code: "already_exists", retry: succeeds},
	"F4":  {by: "daemon/job-downloading", status: "DOWNLOADED", retry: succeeds},
	"F5":  {by: "daemon/job-downloading", status: "DOWNLOADING_FAILED", code: "http_status", retry: opens},
	"F6":  {by: "daemon/job-downloading", status: "DOWNLOADING", downloads: "+1", retry: resumes},
	"F7":  {by: "daemon/job-downloading", status: "IGNORE", code: "attempts_used_up", retry: givesUp},
	"F8":  {by: "daemon/job-downloading", status: "DOWNLOADING_FAILED", code: "working_files_missing", retry: opens},
	"F9":  {by: "user/test", status: "SKIPPED", code: "skipped_by_operator"},
	"F10": {by: "daemon/job-downloading", status: "READY"},
	"F11": {by: "daemon/job-processing", status: "PROCESSING", processes: "+1"},
	"F12": {by: "daemon/job-processing", status: "PROCESSED", retry: succeeds},
	"F13": {by: "daemon/job-processing", status: "PROCESSING_FAILED", code: "?", retry: opens},
	"F14": {by: "daemon/job-processing", status: "READY", retry: resumes},
	"F15": {by: "daemon/job-processing", status: "ABANDONED", code: "attempts_used_up", retry: givesUp},
	"F16": {by: "daemon/job-processing", status: "PROCESSING_FAILED", code: "storage_error", retry: opens},
	"O1":  {by: "user/test daemon/job-downloading", status: "DISCOVERED", downloads: "0", code: "?", retry: resumes},
	"O2":  {by: "user/test daemon/job-processing", status: "READY", processes: "0", code: "?", retry: resumes},
	"O3":  {by: "user/test", status: "DOWNLOADED", downloads: "0", code: "requested"},
}
