package domain

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventType names what happened, such as job.accepted.
type EventType string

// Last reports whether an event of the type is normally the last of its batch or job.
func (t EventType) Last() bool {
	return t == EventJobCleaned || t == EventJobDeleted || t == EventBatchDeleted || t == EventBatchCleaned
}

// The event types of batches, jobs and settings; those of files are in
// file_event.go.
const (
	EventBatchSubmitted       EventType = "batch.submitted"
	EventBatchGrabbed         EventType = "batch.grabbed"
	EventBatchFreed           EventType = "batch.freed"
	EventBatchHeld            EventType = "batch.held"
	EventBatchListed          EventType = "batch.listed"
	EventBatchStarted         EventType = "batch.started"
	EventBatchReleased        EventType = "batch.released"
	EventBatchReporting       EventType = "batch.reporting"
	EventBatchCompleted       EventType = "batch.completed"
	EventBatchFailed          EventType = "batch.failed"
	EventBatchUpdateRequested EventType = "batch.update_requested"
	EventBatchDeleted         EventType = "batch.deleted"
	EventBatchCleaned         EventType = "batch.cleaned"
	EventBatchReported        EventType = "batch.reported"

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

	EventSettingChanged EventType = "setting.changed"
)

// EventDef is one row of the registry of event types.
type EventDef struct {
	Type EventType
	Kind Kind
	// New returns an empty value of the type's data, to decode into.
	New func() EventData
	Doc string
}

// Registry holds every event type in its newest version (v1), in the order of
// the documentation.
var Registry = slices.Concat([]EventDef{
	{EventBatchSubmitted, KindBatch, func() EventData { return &BatchSubmitted{} }, "A deposit was accepted."},
	{EventBatchHeld, KindBatch, newBatchMoved, "The batch is held because its collection is on hold."},
	{EventBatchListed, KindBatch, func() EventData { return &BatchListed{} }, "The manifest was read, and the number of jobs is known."},
	{EventBatchStarted, KindBatch, newBatchMoved, "All jobs exist, or the manifest is invalid."},
	{EventBatchReleased, KindBatch, newBatchMoved, "An operator released the batch."},
	{EventBatchReporting, KindBatch, newBatchMoved, "No job of the batch is being processed any more."},
	{EventBatchCompleted, KindBatch, newBatchReport, "The report was made; everything succeeded."},
	{EventBatchFailed, KindBatch, newBatchReport, "The report was made; something failed."},
	{EventBatchUpdateRequested, KindBatch, newBatchMoved, "An operator requested an update report."},
	{EventBatchDeleted, KindBatch, newBatchMoved, "An operator deleted the batch."},
	{EventBatchCleaned, KindBatch, newBatchMoved, "The completed or failed batch was cleaned up after its retention time."},
	{EventBatchReported, KindBatch, func() EventData { return &BatchReported{} }, "A message about the batch was delivered, or could not be delivered."},

	{EventJobCreated, KindJob, func() EventData { return &JobCreated{} }, "The job was created from its batch."},
	{EventJobHeld, KindJob, newJobMoved, "The job is held."},
	{EventJobReleased, KindJob, newJobMoved, "An operator released the job."},
	{EventJobAccepted, KindJob, func() EventData { return &JobAccepted{} }, "The payload of the job is valid."},
	{EventJobEstimated, KindJob, func() EventData { return &JobEstimated{} }, "The sizes of the job's files were requested from their servers."},
	{EventJobProvisioned, KindJob, newJobMoved, "Working space was promised."},
	{EventJobDownloaded, KindJob, func() EventData { return &JobDownloaded{} }, "Every file is in the working directory."},
	{EventJobProcessed, KindJob, func() EventData { return &JobProcessed{} }, "The object is stored."},
	{EventJobRecorded, KindJob, newJobMoved, "The object is in the inventory."},
	{EventJobCompleted, KindJob, func() EventData { return &JobDone{} }, "The job is done."},
	{EventJobFailed, KindJob, func() EventData { return &JobFailure{} }, "The job failed in the state it came from."},
	{EventJobRequeued, KindJob, newJobMoved, "An operator requeued the failed job."},
	{EventJobCleaned, KindJob, newJobMoved, "The working directory was removed, and the job has left its queue."},
	{EventJobDeleted, KindJob, func() EventData { return &JobDeletion{} }, "The job was deleted."},
	{EventJobIdentified, KindJob, func() EventData { return &JobIdentified{} }, "The object has its identifier."},
	{EventJobWaiting, KindJob, func() EventData { return &JobWaiting{} }, "The job waits, and the reason for it has changed."},
	{EventJobReprioritised, KindJob, newJobMoved, "The job's priority was changed."},

	{EventSettingChanged, KindSetting, func() EventData { return &SettingChanged{} }, "A setting was changed: a hold or a pause was set or lifted, or another value was set or unset."},
}, fileRegistry, mendRegistry, []EventDef{
	{EventBatchGrabbed, KindBatch, func() EventData { return &BatchGrabbed{} }, "The batch has left its deposit queue for the first claim, and runs from now on."},
	{EventBatchFreed, KindBatch, func() EventData { return &BatchFreed{} }, "The batch has given up its place among the running ones of its user, and goes on outside the deposit queue."},
}, queryRegistry)

func newBatchMoved() EventData  { return &BatchMoved{} }
func newBatchReport() EventData { return &BatchReport{} }
func newJobMoved() EventData    { return &JobMoved{} }

var byType = func() map[EventType]EventDef {
	m := make(map[EventType]EventDef, len(Registry))
	for _, d := range Registry {
		m[d.Type] = d
	}
	return m
}()

// Lookup finds an event type in the registry.
func Lookup(t EventType) (EventDef, bool) { d, ok := byType[t]; return d, ok }

// EventData is the data of one event: a pointer to one of the structs below.
type EventData interface{ eventData() }

// Event is a fact about one aggregate.
type Event struct {
	Type      EventType
	Aggregate Aggregate
	Version   int64 // number among its aggregate's events, from 1
	Data      EventData
}

// Recorded is an event and where it was written: by whom and when, in which
// commit, and its sequence in the log.
type Recorded struct {
	Event
	Time        Time    // the writer's clock; informative
	BatchID     BatchID // the batch it belongs to, "" for a setting
	Actor       Actor
	CommandID   string // the command that caused it, the same on every retry
	CausationID string // id of the event that its writer reacted to, "" = none
	TraceParent string // W3C trace context, "" = none

	Zxid  int64 // ZooKeeper's commit number: the order over all aggregates
	Epoch int64 // counts how often the tree was restored, from 1

	Seq    uint64    // sequence in the log, 0 = not there yet
	Stored time.Time // when the log took it
	Source string    // installation that wrote it, as the log has it: /accession/NAME
}

// ID is the event's id: KIND/ID/VERSION, known before it is written and equal on
// every retry.
func (e Event) ID() string { return e.Aggregate.String() + "/" + strconv.FormatInt(e.Version, 10) }

// BatchMove is part of every batch event: the state before and after it, and
// why. From equals To when the state did not change.
type BatchMove struct {
	From       BatchState `json:"from"`
	To         BatchState `json:"to"`
	Reason     *Reason    `json:"reason,omitempty"`
	Collection string     `json:"collection,omitempty"` // of the profile when the event was written
	Profile    string     `json:"profile,omitempty"`
	// Ticket is that of the batch in a deposit queue from this event on; left out
	// where it stays.
	Ticket *Ticket `json:"ticket,omitempty"`
	// Ring is where the ring of the queue stands when a batch has left it.
	Ring *RingPosition `json:"ring,omitempty"`
}

// BatchMoved is the data of batch events that carry nothing else.
type BatchMoved struct{ BatchMove }

// BatchSubmitted is the data of batch.submitted.
type BatchSubmitted struct {
	BatchMove
	Submission Submission `json:"submission"`
}

// BatchGrabbed is the data of batch.grabbed.
type BatchGrabbed struct {
	BatchMove
	Rule      string `json:"rule"`      // required, preferred or round_robin
	Processor string `json:"processor"` // that grabbed it
	Size      int64  `json:"size"`      // bytes of the deposit, 0 = unknown
}

// BatchFreed is the data of batch.freed.
type BatchFreed struct {
	BatchMove
	Queue string `json:"queue"` // in which it ran
	User  string `json:"user"`  // whose place it was
}

// BatchListed is the data of batch.listed.
type BatchListed struct {
	BatchMove
	Listing Listing `json:"listing"`
	// Warnings say what of the manifest was not taken as it is written, and whether the
	// same was deposited before; missing in older events.
	Warnings []string `json:"warnings,omitempty"`
	// What became of the metadata records, missing for any other deposit.
	MetadataRecords *MetadataRecords `json:"records,omitempty"`
}

// BatchReport is the data of batch.completed and batch.failed.
type BatchReport struct {
	BatchMove
	Report Report `json:"report"`
}

// BatchReported is the data of batch.reported: the delivery of one message. The
// receiver's address is no part of it.
type BatchReported struct {
	BatchMove
	Channel   string `json:"channel"` // mail
	About     string `json:"about"`   // queued or report
	Delivery  string `json:"delivery"`
	Delivered bool   `json:"delivered"`
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

// SettingChanged is the data of setting.changed.
type SettingChanged struct {
	Kind HoldKind `json:"kind"`
	Name string   `json:"name"`
	From string   `json:"from"` // open or held; of settings that stop nothing unset or set
	To   string   `json:"to"`
	Hold *Hold    `json:"hold,omitempty"`
	Why  string   `json:"why,omitempty"`
	// Previous and Value are the setting before and after the event, in the form of its
	// kind; left out where it was not set.
	Previous *SettingValue `json:"previous,omitempty"`
	Value    *SettingValue `json:"value,omitempty"`
}

func (*BatchMoved) eventData()     {}
func (*BatchSubmitted) eventData() {}
func (*BatchGrabbed) eventData()   {}
func (*BatchFreed) eventData()     {}
func (*BatchListed) eventData()    {}
func (*BatchReport) eventData()    {}
func (*BatchReported) eventData()  {}
func (*JobMoved) eventData()       {}
func (*JobCreated) eventData()     {}
func (*JobAccepted) eventData()    {}
func (*JobEstimated) eventData()   {}
func (*JobDownloaded) eventData()  {}
func (*JobProcessed) eventData()   {}
func (*JobIdentified) eventData()  {}
func (*JobDone) eventData()        {}
func (*JobFailure) eventData()     {}
func (*JobDeletion) eventData()    {}
func (*JobWaiting) eventData()     {}
func (*SettingChanged) eventData() {}

// MoveOfBatch returns the part that every batch event has.
func MoveOfBatch(d EventData) (BatchMove, bool) { return moveOf[BatchMove](d) }

// MoveOfJob returns the part that every job event has.
func MoveOfJob(d EventData) (JobMove, bool) { return moveOf[JobMove](d) }

func moveOf[M any](d EventData) (M, bool) {
	if has, ok := d.(interface{ move() *M }); ok {
		return *has.move(), true
	}
	return *new(M), false
}

func (m *BatchMove) move() *BatchMove { return m }
func (m *JobMove) move() *JobMove     { return m }

// The event types of files.
const (
	EventFileDiscovered        EventType = "file.discovered"
	EventFileDownloadStarted   EventType = "file.download_started"
	EventFileDownloaded        EventType = "file.downloaded"
	EventFileDownloadFailed    EventType = "file.download_failed"
	EventFileIgnored           EventType = "file.ignored"
	EventFileSkipped           EventType = "file.skipped"
	EventFileReady             EventType = "file.ready"
	EventFileProcessingStarted EventType = "file.processing_started"
	EventFileProcessed         EventType = "file.processed"
	EventFileProcessingFailed  EventType = "file.processing_failed"
	EventFileAbandoned         EventType = "file.abandoned"
	EventFileReopened          EventType = "file.reopened"
)

// fileRegistry is the files' part of [Registry].
var fileRegistry = []EventDef{
	{EventFileDiscovered, KindFile, func() EventData { return &FileFound{} }, "The file became known."},
	{EventFileDownloadStarted, KindFile, newFileStarted, "A worker began to download the file."},
	{EventFileDownloaded, KindFile, func() EventData { return &FileFetched{} }, "The file is in the working directory and valid."},
	{EventFileDownloadFailed, KindFile, newFileFailed, "A download failed, or the downloaded file is damaged."},
	{EventFileIgnored, KindFile, newFileMoved, "The download was given up after the last attempt."},
	{EventFileSkipped, KindFile, newFileMoved, "The file will not be processed."},
	{EventFileReady, KindFile, newFileMoved, "The file may be processed."},
	{EventFileProcessingStarted, KindFile, newFileStarted, "A worker began to process the file."},
	{EventFileProcessed, KindFile, func() EventData { return &FileDone{} }, "The file's result is stored."},
	{EventFileProcessingFailed, KindFile, newFileFailed, "Processing failed, or the stored result is corrupt."},
	{EventFileAbandoned, KindFile, newFileMoved, "Processing was given up after the last attempt."},
	{EventFileReopened, KindFile, newFileMoved, "An operator requeued the file."},
}

func newFileMoved() EventData   { return &FileMoved{} }
func newFileStarted() EventData { return &FileStarted{} }
func newFileFailed() EventData  { return &FileFailed{} }

// FileMove is part of every file event: the state before and after it, why, what
// the file is, and the counters as they are after it. When an attempt started is
// the time at which the log took the event that started it.
type FileMove struct {
	From               FileState `json:"from"`
	To                 FileState `json:"to"`
	Reason             *Reason   `json:"reason,omitempty"`
	JobID              JobID     `json:"job_id,omitempty"`
	Collection         string    `json:"collection,omitempty"`
	Profile            string    `json:"profile,omitempty"`
	Dataset            string    `json:"dataset,omitempty"`
	Group              string    `json:"group,omitempty"`
	Host               string    `json:"host,omitempty"`    // of its URL
	Modified           Time      `json:"modified,omitzero"` // at the source
	Path               string    `json:"path"`
	Size               int64     `json:"size"` // bytes, 0 = unknown
	DownloadAttempts   int       `json:"download_attempts"`
	ProcessingAttempts int       `json:"processing_attempts"`
}

// FileMoved is the data of file events that carry nothing else.
type FileMoved struct{ FileMove }

// FileFound is the data of file.discovered.
type FileFound struct {
	FileMove
	File FileSpec `json:"file"`
}

// FileStarted is the data of file.download_started and file.processing_started.
// The event's number is the fence of the attempt.
type FileStarted struct {
	FileMove
	Worker string `json:"worker"`
}

// FileFetched is the data of file.downloaded.
type FileFetched struct {
	FileMove
	SHA256 string `json:"sha256"`
	Fence  int64  `json:"fence,omitempty"` // of the attempt, 0 = there was none
}

// FileDone is the data of file.processed.
type FileDone struct {
	FileMove
	Output *FileOutput `json:"output,omitempty"`
	Fence  int64       `json:"fence"`
}

// FileFailed is the data of file.download_failed and file.processing_failed.
type FileFailed struct {
	FileMove
	Fence      int64  `json:"fence,omitempty"`      // of the attempt, 0 = a later check failed
	Quarantine string `json:"quarantine,omitempty"` // where the damaged file was put
	Uncounted  bool   `json:"uncounted,omitempty"`  // the attempt was given back: the fault was ours
}

func (*FileMoved) eventData()   {}
func (*FileFound) eventData()   {}
func (*FileStarted) eventData() {}
func (*FileFetched) eventData() {}
func (*FileDone) eventData()    {}
func (*FileFailed) eventData()  {}

// MoveOfFile returns the part that every file event has.
func MoveOfFile(d EventData) (FileMove, bool) { return moveOf[FileMove](d) }

func (m *FileMove) move() *FileMove { return m }

// The event types of maintenance: the live state or the log
// was not as the history says, and was repaired.
const (
	EventBatchRepaired   EventType = "batch.repaired"
	EventJobRepaired     EventType = "job.repaired"
	EventSettingRepaired EventType = "setting.repaired"
	EventSettingRestored EventType = "setting.restored"
)

// mendRegistry is the part of [Registry] about maintenance.
var mendRegistry = []EventDef{
	{EventBatchRepaired, KindBatch, func() EventData { return &BatchRepaired{} }, "The nodes of the batch in the live state were repaired."},
	{EventJobRepaired, KindJob, func() EventData { return &JobRepaired{} }, "The nodes of the job in the live state were repaired."},
	{EventSettingRepaired, KindSetting, func() EventData { return &SettingRepaired{} }, "The nodes of the setting, or nodes without an owner, were repaired."},
	{EventSettingRestored, KindSetting, func() EventData { return &SettingRestored{} }, "The live state was restored from the log, or the log from the tables."},
}

// Repaired is one thing that a repair corrected.
type Repaired struct {
	Code  Code   `json:"code"`            // what was wrong
	Where string `json:"where"`           // a node of the live state, or a working directory
	Found string `json:"found,omitempty"` // what was found, truncated
}

// The most that one event lists of a repair; the rest is counted.
const (
	maxRepaired = 50
	maxFound    = 256
)

// BatchRepaired is the data of batch.repaired. The state stays.
type BatchRepaired struct {
	BatchMove
	Repaired []Repaired `json:"mended"`
	More     int        `json:"more,omitempty"` // how many are not listed
}

// JobRepaired is the data of job.repaired. The state stays.
type JobRepaired struct {
	JobMove
	Repaired []Repaired `json:"mended"`
	More     int        `json:"more,omitempty"`
}

// SettingRepaired is the data of setting.repaired. What is set stays.
type SettingRepaired struct {
	Kind     HoldKind   `json:"kind"`
	Name     string     `json:"name"`
	Repaired []Repaired `json:"mended"`
	More     int        `json:"more,omitempty"`
}

// SettingRestored is the data of setting.restored.
type SettingRestored struct {
	Kind HoldKind `json:"kind"`
	Name string   `json:"name"`
	What string   `json:"what" jsonschema:"enum=zookeeper,enum=log"`
	// Epoch is the epoch that begins; Events is the number of events that the state was
	// restored from, or that were restored to the log.
	Epoch  int64 `json:"epoch"`
	Events int64 `json:"events"`
}

func (*BatchRepaired) eventData()   {}
func (*JobRepaired) eventData()     {}
func (*SettingRepaired) eventData() {}
func (*SettingRestored) eventData() {}

// TraceID returns the trace id of a W3C traceparent, "" = there is none in it.
func TraceID(parent string) string {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 {
		return ""
	}
	return parts[1]
}
