package domain

// BatchState is the status of a batch.
type BatchState string

// The states of a batch. BatchNone is the state before the first event and is never stored.
const (
	BatchNone            BatchState = ""
	BatchPending         BatchState = "pending"
	BatchHeld            BatchState = "held"
	BatchProcessing      BatchState = "processing"
	BatchReporting       BatchState = "reporting"
	BatchCompleted       BatchState = "completed"
	BatchFailed          BatchState = "failed"
	BatchUpdateReporting BatchState = "update-reporting"
	BatchDeleted         BatchState = "deleted"
)

// BatchStates lists every stored state, in the order of the workflow.
var BatchStates = []BatchState{
	BatchPending, BatchHeld, BatchProcessing, BatchReporting,
	BatchCompleted, BatchFailed, BatchUpdateReporting, BatchDeleted,
}

// AtRest reports whether nothing moves a batch in this state but an operator or
// the clean-up.
func (s BatchState) AtRest() bool {
	return s == BatchHeld || s == BatchCompleted || s == BatchFailed || s == BatchDeleted
}

// Daemon returns the name of the daemon that moves batches in this state on, "" = none
// does.
func (s BatchState) Daemon() string {
	if s == BatchPending || s == BatchReporting || s == BatchUpdateReporting {
		return "batch-" + string(s)
	}
	return ""
}

// BatchTransition is one row of the batch table.
type BatchTransition struct {
	Row      string
	From, To BatchState
	Event    EventType
	By       string // the daemon or person that makes it
	Guard    string // what must be true, in words
}

// BatchTransitions are all changes of a batch's state; nothing else is legal.
var BatchTransitions = []BatchTransition{
	{"B1", BatchNone, BatchPending, EventBatchSubmitted, "submission", ""},
	{"B2", BatchPending, BatchHeld, EventBatchHeld, DaemonBatchPending, "the collection is on hold and no job exists yet"},
	{"B3", BatchPending, BatchProcessing, EventBatchStarted, DaemonBatchPending, "all jobs exist, or the manifest is bad"},
	{"B4", BatchHeld, BatchPending, EventBatchReleased, "operator", "the collection is not on hold"},
	{"B5", BatchProcessing, BatchReporting, EventBatchReporting, "automatic", "no job is processing"},
	{"B6", BatchReporting, BatchCompleted, EventBatchCompleted, DaemonBatchReporting, "nothing processing, nothing failed, no manifest error"},
	{"B7", BatchReporting, BatchFailed, EventBatchFailed, DaemonBatchReporting, "a job failed, or a manifest error"},
	{"B8", BatchFailed, BatchUpdateReporting, EventBatchUpdateRequested, "operator", "no job is processing"},
	{"B9", BatchUpdateReporting, BatchCompleted, EventBatchCompleted, DaemonBatchUpdateReporting, "as B6, and at least one job completed"},
	{"B10", BatchUpdateReporting, BatchFailed, EventBatchFailed, DaemonBatchUpdateReporting, "otherwise"},
	{"B11", BatchFailed, BatchDeleted, EventBatchDeleted, "operator", "no job of it is locked"},
	{"B12", BatchHeld, BatchDeleted, EventBatchDeleted, "operator", ""},
	{"B13", BatchCompleted, BatchDeleted, EventBatchCleaned, DaemonJanitor, "the retention time is over"},
	{"B14", BatchFailed, BatchDeleted, EventBatchCleaned, DaemonJanitor, "no job is processing; the retention time of failed batches is over"},
}

// SubmissionType says what a depositor sent.
type SubmissionType string

// The types of submission.
const (
	TypeFile                   SubmissionType = "file"
	TypeContainer              SubmissionType = "container"
	TypeObjectManifest         SubmissionType = "object_manifest"
	TypeBatchManifest          SubmissionType = "batch_manifest"
	TypeContainerBatchManifest SubmissionType = "container_batch_manifest"
	TypeFileBatchManifest      SubmissionType = "file_batch_manifest"
	TypeMetadata               SubmissionType = "metadata" // an XML file with many records
)

// SubmissionTypes lists every type.
var SubmissionTypes = []SubmissionType{
	TypeFile, TypeContainer, TypeObjectManifest, TypeBatchManifest, TypeContainerBatchManifest, TypeFileBatchManifest, TypeMetadata,
}

// Batch reports whether each row of the payload becomes a job of its own.
func (t SubmissionType) Batch() bool {
	return t == TypeBatchManifest || t == TypeContainerBatchManifest || t == TypeFileBatchManifest
}

// PayloadType returns the payload type of the jobs made from a submission of this type.
func (t SubmissionType) PayloadType() SubmissionType {
	switch t {
	case TypeBatchManifest:
		return TypeObjectManifest
	case TypeContainerBatchManifest:
		return TypeContainer
	case TypeFileBatchManifest, TypeMetadata:
		return TypeFile
	default:
		return t
	}
}

// Submission is what a depositor asked for: the data of /batches/BID/submission. The Erc
// fields are those of an Electronic Resource Citation: the title (what), creator (who),
// date (when) and identifier (where) of the object.
type Submission struct {
	ProfileName     string         `json:"profile_name"`
	Submitter       string         `json:"submitter"`
	PayloadURL      string         `json:"payload_url"`
	ErcWhat         string         `json:"erc_what"`
	ErcWho          string         `json:"erc_who"`
	ErcWhen         string         `json:"erc_when"`
	ErcWhere        string         `json:"erc_where"`
	Type            SubmissionType `json:"type"`            // "" = its content says it, when the batch is listed
	SubmissionMode  string         `json:"submission_mode"` // add or update
	DigestAlgorithm string         `json:"digest_algorithm,omitempty"`
	DigestValue     string         `json:"digest_value,omitempty"`
	FileName        string         `json:"file_name,omitempty"`
	Size            int64          `json:"size,omitempty"` // bytes, 0 = unknown

	SubmissionID   string   `json:"submission_id,omitempty"` // that the depositor was told before there was a batch
	Queue          string   `json:"queue,omitempty"`         // deposit queue that it came through, "" = none was used
	User           string   `json:"user,omitempty"`          // account that submitted, where Submitter is a name
	Received       Time     `json:"received,omitzero"`       // when the deposit was accepted
	Slot           string   `json:"slot,omitempty"`          // of an open directory
	Primary        string   `json:"primary,omitempty"`       // identifier that the depositor gave
	LocalIDs       []string `json:"local_ids,omitempty"`     // that the depositor gave
	ProfileVersion string   `json:"profile_version,omitempty"`
	KeySHA256      string   `json:"key_sha256,omitempty"` // of the idempotency key
}

// Listing says how many jobs a batch has, and their ids: the part of /batches/BID/progress
// that does not change. Before it is known a batch has no jobs; from then on it adds up.
type Listing struct {
	Rows           int    `json:"rows"`
	FirstJID       JobID  `json:"first_jid"`
	ManifestURL    string `json:"manifest_url,omitempty"` // the copy that was listed
	ManifestSHA256 string `json:"manifest_sha256,omitempty"`

	Type SubmissionType `json:"type,omitempty"` // by the content; left out where the submission says it
}

// MetadataRecords counts the records of a metadata deposit, and names the list that has the
// result of each.
type MetadataRecords struct {
	Success int    `json:"success"`
	Warning int    `json:"warning"`
	Failure int    `json:"failure"`
	URL     string `json:"url"`
	SHA256  string `json:"sha256"`
}

// Batch is the state of a batch: what ZooKeeper holds, what folding its events
// gives, and what SQL shows.
type Batch struct {
	ID         BatchID
	Version    int64 // number of its last event, from 1
	State      BatchState
	Submission Submission
	Listing    *Listing
	NextRow    int // row of the manifest whose job is made next; in ZooKeeper only, not in events
	Report     *Report
	Reason     *Reason // a manifest error (kept until the batch is reported), or why it waits
	Ticket     *Ticket // in a deposit queue, nil = none
	Modified   Time
	CommandID  string // the command that wrote Version
}

// Type returns what was sent: as the submission or else the listing says, "" = not known yet.
func (b Batch) Type() SubmissionType {
	if b.Listing != nil && b.Listing.Type != "" {
		return b.Listing.Type
	}
	return b.Submission.Type
}

// Cleaned reports whether the batch was deleted by the clean-up of ended batches (B13,
// B14), whose jobs go without events, and not by B11 or B12.
func (b Batch) Cleaned() bool {
	return b.State == BatchDeleted && b.Reason != nil && b.Reason.Code == CodeCleaned
}

// Parked reports whether an operator took the batch out of its deposit queue.
func (b Batch) Parked() bool {
	return b.State == BatchHeld && b.Reason != nil && b.Reason.Code == CodeParked
}

// AllJobsExist reports whether every listed row has its job.
func (b Batch) AllJobsExist() bool { return b.Listing != nil && b.NextRow >= b.Listing.Rows }

// BatchRow finds the row that an event takes from a state. The states before and after do
// not name a row: two may have the same.
func BatchRow(from BatchState, event EventType) (BatchTransition, bool) {
	return rowWhere(BatchTransitions, func(t BatchTransition) bool { return t.From == from && t.Event == event })
}
