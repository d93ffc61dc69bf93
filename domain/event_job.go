package domain

// The event types of jobs.
const (
	EventJobCreated       EventType = "job.created"
	EventJobHeld          EventType = "job.held"
	EventJobReleased      EventType = "job.released"
	EventJobAccepted      EventType = "job.accepted"
	EventJobEstimated     EventType = "job.estimated"
	EventJobProvisioned   EventType = "job.provisioned"
	EventJobDownloaded    EventType = "job.downloaded"
	EventJobProcessed     EventType = "job.processed"
	EventJobRecorded      EventType = "job.recorded"
	EventJobCompleted     EventType = "job.completed"
	EventJobFailed        EventType = "job.failed"
	EventJobRequeued      EventType = "job.requeued"
	EventJobCleaned       EventType = "job.cleaned"
	EventJobDeleted       EventType = "job.deleted"
	EventJobIdentified    EventType = "job.identified"
	EventJobWaiting       EventType = "job.waiting"
	EventJobReprioritised EventType = "job.reprioritised"
)

// jobRegistry is the part of [Registry] about jobs.
var jobRegistry = []EventDef{
	{EventJobCreated, KindJob, data[JobCreated], "The job was created from its batch."},
	{EventJobHeld, KindJob, data[JobMoved], "The job is held."},
	{EventJobReleased, KindJob, data[JobMoved], "An operator released the job."},
	{EventJobAccepted, KindJob, data[JobAccepted], "The payload of the job is valid."},
	{EventJobEstimated, KindJob, data[JobEstimated], "The sizes of the job's files were requested from their servers."},
	{EventJobProvisioned, KindJob, data[JobMoved], "Working space was promised."},
	{EventJobDownloaded, KindJob, data[JobDownloaded], "Every file is in the working directory."},
	{EventJobProcessed, KindJob, data[JobProcessed], "The object is stored."},
	{EventJobRecorded, KindJob, data[JobMoved], "The object is in the inventory."},
	{EventJobCompleted, KindJob, data[JobDone], "The job is done."},
	{EventJobFailed, KindJob, data[JobFailure], "The job failed in the state it came from."},
	{EventJobRequeued, KindJob, data[JobMoved], "An operator requeued the failed job."},
	{EventJobCleaned, KindJob, data[JobMoved], "The working directory was removed, and the job has left its queue."},
	{EventJobDeleted, KindJob, data[JobDeletion], "The job was deleted."},
	{EventJobIdentified, KindJob, data[JobIdentified], "The object has its identifier."},
	{EventJobWaiting, KindJob, data[JobWaiting], "The job waits, and the reason for it has changed."},
	{EventJobReprioritised, KindJob, data[JobMoved], "The job's priority was changed."},
}

// JobMove is part of every job event: the state before and after it, why, and
// the counters as they are after it.
type JobMove struct {
	From           JobState `json:"from"`
	To             JobState `json:"to"`
	Reason         *Reason  `json:"reason,omitempty"`
	Collection     string   `json:"collection,omitempty"` // of the profile when the event was written
	Profile        string   `json:"profile,omitempty"`
	LastSuccessful JobState `json:"last_successful_status,omitempty"`
	RetryCount     int      `json:"retry_count"`
	Priority       int      `json:"priority"`
	SpaceNeeded    int64    `json:"space_needed"`
}

// JobMoved is the data of job events that carry nothing else.
type JobMoved struct{ JobMove }

// JobCreated is the data of job.created.
type JobCreated struct {
	JobMove
	Configuration Configuration `json:"configuration"`
	Identifiers   Identifiers   `json:"identifiers"`
	Metadata      Metadata      `json:"metadata"`
}

// JobAccepted is the data of job.accepted.
type JobAccepted struct {
	JobMove
	Warnings []string `json:"warnings,omitempty"` // as those of batch.listed, of the object's manifest
}

// JobEstimated is the data of job.estimated.
type JobEstimated struct {
	JobMove
	Files   int   `json:"files"`
	Unknown int   `json:"unknown"` // files whose size could not be found
	Bytes   int64 `json:"bytes"`   // sum of the known sizes
}

// JobDownloaded is the data of job.downloaded.
type JobDownloaded struct {
	JobMove
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// JobProcessed is the data of job.processed: the stored object.
type JobProcessed struct {
	JobMove
	Object StoredObject `json:"object"`
}

// StoredObject names a version of an object in the object store.
type StoredObject struct {
	Primary        string `json:"primary"`
	Version        int    `json:"version"` // of the object, from 1
	ManifestKey    string `json:"manifest_key"`
	ManifestSHA256 string `json:"manifest_sha256"`
	Files          int    `json:"files"`
	Bytes          int64  `json:"bytes"`
}

// JobIdentified is the data of job.identified.
type JobIdentified struct {
	JobMove
	Identifiers Identifiers `json:"identifiers"`
	Minted      bool        `json:"minted"` // false: given by the depositor, or found by a local id
}

// JobWaiting is the data of job.waiting.
type JobWaiting struct {
	JobMove
	WaitsFor JobID `json:"waits_for,omitempty"` // the job of the same object that comes first; missing when it waits for something else
}

// JobDeletion is the data of job.deleted.
type JobDeletion struct {
	JobMove
	WithBatch *bool `json:"with_batch,omitempty"` // true: deleted together with its batch; missing in older events
}

// JobDone is the data of job.completed. It stands alone: a reader needs no other event
// to find and to describe the stored object.
type JobDone struct {
	JobMove
	Callback string        `json:"callback"` // none or delivered
	Deposit  *JobDeposit   `json:"deposit,omitempty"`
	Object   *StoredObject `json:"object,omitempty"`
}

// JobFailure is the data of job.failed. It stands alone: a reader needs no other event
// to tell the depositor what failed, and why.
type JobFailure struct {
	JobMove
	Deposit *JobDeposit   `json:"deposit,omitempty"`
	Object  *StoredObject `json:"object,omitempty"` // stored before the failure, as far as known
}

// JobDeposit is what was deposited as the job, as it is known when the job ends.
type JobDeposit struct {
	BatchID        BatchID        `json:"batch_id"`
	Submitter      string         `json:"submitter"`
	Primary        string         `json:"primary,omitempty"` // identifier of the object
	LocalID        []string       `json:"local_id,omitempty"`
	ErcWho         string         `json:"erc_who,omitempty"`
	ErcWhat        string         `json:"erc_what,omitempty"`
	ErcWhen        string         `json:"erc_when,omitempty"`
	ErcWhere       string         `json:"erc_where,omitempty"`
	PayloadURL     string         `json:"payload_url"` // without its query
	PayloadType    SubmissionType `json:"payload_type"`
	SubmissionMode string         `json:"submission_mode"` // add or update
	FileName       string         `json:"file_name,omitempty"`
	Row            int            `json:"row"` // row of the batch manifest, from 0
	ObjectKey      string         `json:"object_key,omitempty"`
	ProfileVersion string         `json:"profile_version,omitempty"`
	Host           string         `json:"host,omitempty"` // of the payload
}

// Deposit returns what the events at the end of a job say about it.
func (j Job) Deposit() *JobDeposit {
	c, m := j.Configuration, j.Metadata
	return &JobDeposit{BatchID: c.BatchID, Submitter: c.Submitter, Primary: j.Identifiers.Primary, LocalID: j.Identifiers.LocalID,
		ErcWho: m.ErcWho, ErcWhat: m.ErcWhat, ErcWhen: m.ErcWhen, ErcWhere: m.ErcWhere,
		PayloadURL: c.PayloadURL, PayloadType: c.PayloadType, SubmissionMode: c.SubmissionMode, FileName: c.FileName, Row: c.Row,
		ObjectKey: c.ObjectKey, ProfileVersion: c.ProfileVersion, Host: c.Host}
}

// MoveOfJob returns the part that every job event has.
func MoveOfJob(d EventData) (JobMove, bool) { return moveOf[JobMove](d) }

func (m *JobMove) move() *JobMove { return m }
func (*JobMove) eventData()       {}
