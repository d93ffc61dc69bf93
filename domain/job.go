package domain

import (
	"fmt"
	"slices"
	"strconv"
)

// JobState is the status of a job.
type JobState string

// The states of a job. JobNone is the state before the first event; JobDeleted after
// the last. Neither has a queue.
const (
	JobNone         JobState = ""
	JobPending      JobState = "pending"
	JobHeld         JobState = "held"
	JobEstimating   JobState = "estimating"
	JobProvisioning JobState = "provisioning"
	JobDownloading  JobState = "downloading"
	JobProcessing   JobState = "processing"
	JobRecording    JobState = "recording"
	JobNotify       JobState = "notify"
	JobFailed       JobState = "failed"
	JobCompleted    JobState = "completed"
	JobDeleted      JobState = "deleted"
)

// JobStates lists every state that has a queue, in the order of the workflow.
var JobStates = []JobState{
	JobPending, JobHeld, JobEstimating, JobProvisioning, JobDownloading,
	JobProcessing, JobRecording, JobNotify, JobFailed, JobCompleted,
}

// Worked reports whether a daemon works on jobs in this state.
func (s JobState) Worked() bool {
	return slices.Contains(JobStates, s) && s != JobHeld && s != JobFailed && s != JobCompleted
}

// Daemon returns the name of the daemon that works on jobs in this state, "" = none does.
func (s JobState) Daemon() string {
	if !s.Worked() {
		return ""
	}
	return "job-" + string(s)
}

// Sub is a sub-state of a batch: the directory below /batches/BID/states in which it keeps
// references to some of its jobs. SubNone means that it keeps none.
type Sub string

// The sub-states in which a batch keeps references to its jobs.
const (
	SubNone       Sub = ""
	SubProcessing Sub = "batch-processing"
	SubFailed     Sub = "batch-failed"
	SubCompleted  Sub = "batch-completed"
)

// Subs lists the sub-states.
var Subs = []Sub{SubProcessing, SubFailed, SubCompleted}

// Sub returns the sub-state of its batch for a job in this state.
func (s JobState) Sub() Sub {
	switch s {
	case JobNone, JobDeleted:
		return SubNone
	case JobCompleted:
		return SubCompleted
	case JobFailed:
		return SubFailed
	default:
		return SubProcessing
	}
}

// JobTransition is one row of the job table.
type JobTransition struct {
	Row      string
	From, To JobState
	Event    EventType
	By       string
	Guard    string
	// LastSuccessful is what last_successful_status becomes, "" = keep; for a
	// requeue (Retry) it is what must be there.
	LastSuccessful JobState
	// Retry says that retry_count is incremented.
	Retry bool
}

// JobTransitions are all changes of a job's state; nothing else is legal. J20
// takes a completed job out of its queue and keeps its state.
var JobTransitions = append([]JobTransition{
	{"J1", JobNone, JobPending, EventJobCreated, DaemonBatchPending, "", "", false},
	{"J2", JobPending, JobHeld, EventJobHeld, DaemonJobPending + " or operator", "the collection is on hold, or an operator asks", "", false},
	{"J3", JobHeld, JobPending, EventJobReleased, "operator", "the collection is not on hold", "", false},
	{"J4", JobPending, JobEstimating, EventJobAccepted, DaemonJobPending, "the collection is not on hold", "", false},
	{"J5", JobPending, JobFailed, EventJobFailed, DaemonJobPending, "the manifest or its row is bad", "", false},
	{"J6", JobEstimating, JobProvisioning, EventJobEstimated, DaemonJobEstimating, "", JobEstimating, false},
	{"J7", JobProvisioning, JobDownloading, EventJobProvisioned, DaemonJobProvisioning, "there is space", JobProvisioning, false},
	{"J8", JobDownloading, JobProcessing, EventJobDownloaded, DaemonJobDownloading, "", JobDownloading, false},
	{"J9", JobDownloading, JobFailed, EventJobFailed, DaemonJobDownloading, "a download failed for good, or a digest differs", "", false},
	{"J10", JobProcessing, JobRecording, EventJobProcessed, DaemonJobProcessing, "", JobProcessing, false},
	{"J11", JobProcessing, JobFailed, EventJobFailed, DaemonJobProcessing, "minting, storage or an own step failed, or identifiers differ", "", false},
	{"J12", JobRecording, JobNotify, EventJobRecorded, DaemonJobRecording, "", JobRecording, false},
	{"J13", JobRecording, JobFailed, EventJobFailed, DaemonJobRecording, "the inventory could not be written", "", false},
	{"J14", JobNotify, JobCompleted, EventJobCompleted, DaemonJobNotify, "", JobNotify, false},
	{"J15", JobNotify, JobFailed, EventJobFailed, DaemonJobNotify, "the callback failed", "", false},
	{"J16", JobFailed, JobDownloading, EventJobRequeued, "operator", "the batch is processing or failed", JobProvisioning, true},
	{"J17", JobFailed, JobProcessing, EventJobRequeued, "operator", "the batch is processing or failed", JobDownloading, true},
	{"J18", JobFailed, JobRecording, EventJobRequeued, "operator", "the batch is processing or failed", JobProcessing, true},
	{"J19", JobFailed, JobNotify, EventJobRequeued, "operator", "the batch is processing or failed", JobRecording, true},
	{"J20", JobCompleted, JobCompleted, EventJobCleaned, DaemonJanitor, "", "", false},
	{"J21", JobFailed, JobDeleted, EventJobDeleted, "operator", "not locked; the batch is processing or failed", "", false},
	{"J22", JobHeld, JobDeleted, EventJobDeleted, "operator", "the batch is processing or failed", "", false},
	{"J25", JobFailed, JobPending, EventJobRequeued, "operator", "its payload is not faulty; the batch is processing or failed", JobNone, true},
	{"J25", JobFailed, JobPending, EventJobRequeued, "operator", "its payload is not faulty; the batch is processing or failed", JobEstimating, true},
}, fromManyStates()...)

// RowWithBatch is the row that deletes a job with its batch, from any state, and RowCancel
// the one that ends a job which has neither completed nor failed.
const (
	RowWithBatch = "J23"
	RowCancel    = "J24"
)

func fromManyStates() []JobTransition {
	rows := make([]JobTransition, 0, 2*len(JobStates))
	for _, s := range JobStates {
		rows = append(rows, JobTransition{RowWithBatch, s, JobDeleted, EventJobDeleted, "with its batch", "not locked", "", false})
	}
	for _, s := range JobStates {
		if s.Sub() == SubProcessing {
			rows = append(rows, JobTransition{RowCancel, s, JobFailed, EventJobFailed, "operator, or " + DaemonJobProvisioning, "asked for, or it can never fit", "", false})
		}
	}
	return rows
}

// Priority limits: lower runs first; two digits are all a queue entry has.
const (
	PriorityFirst   = 0
	PriorityDefault = 5
	PriorityLast    = 99
)

// Configuration is what a job was asked to do: /jobs/JID/configuration.
type Configuration struct {
	BatchID         BatchID        `json:"batch_id"`
	ProfileName     string         `json:"profile_name"`
	Submitter       string         `json:"submitter"`
	PayloadURL      string         `json:"payload_url"`
	PayloadType     SubmissionType `json:"payload_type"`
	ResponseType    string         `json:"response_type"` // json, xml or html
	SubmissionMode  string         `json:"submission_mode"`
	WorkingDir      string         `json:"working_dir"`
	DigestAlgorithm string         `json:"digest_algorithm,omitempty"`
	DigestValue     string         `json:"digest_value,omitempty"`
	FileName        string         `json:"file_name,omitempty"`
	Size            int64          `json:"size,omitempty"`         // bytes, 0 = unknown
	FileModified    Time           `json:"file_modified,omitzero"` // at the source, as the row states it
	Row             int            `json:"row"`                    // row of the batch manifest, from 0
	RowFault        *Reason        `json:"row_fault,omitempty"`
	ObjectKey       string         `json:"object_key,omitempty"` // the first of the keys by which the deposit names its object
	ProfileVersion  string         `json:"profile_version,omitempty"`
	Host            string         `json:"host,omitempty"` // of PayloadURL
}

// Identifiers are /jobs/JID/identifiers.
type Identifiers struct {
	Primary string   `json:"primary"`
	LocalID []string `json:"local_id"`
	// ObjectKeys are the keys of the object, one for each of the names above that is
	// known; jobs of older programs have none.
	ObjectKeys []ObjectKey `json:"object_keys,omitempty"`
}

// Metadata is /jobs/JID/metadata, in the words of an electronic resource citation.
type Metadata struct {
	ErcWho   string `json:"erc_who"`
	ErcWhat  string `json:"erc_what"`
	ErcWhen  string `json:"erc_when"`
	ErcWhere string `json:"erc_where"`
}

// Job is the state of a job: what ZooKeeper holds, what folding its events
// gives, and what SQL shows.
type Job struct {
	ID             JobID
	Version        int64 // number of its last event, from 1
	State          JobState
	LastSuccessful JobState // "" = none yet
	RetryCount     int
	Priority       int
	SpaceNeeded    int64 // bytes, 0 = unknown
	Configuration  Configuration
	Identifiers    Identifiers
	Metadata       Metadata
	Reason         *Reason // why it failed or waits
	Cleaned        bool    // after J20: in no queue any more
	Modified       Time
	CommandID      string
}

// QueueEntry is the name below /jobs/states/STATE, "" if the job has none.
func (j Job) QueueEntry() string {
	if j.Cleaned || j.State == JobNone || j.State == JobDeleted {
		return ""
	}
	return EntryName(j.Priority, j.ID)
}

// Rests reports whether the job is held, or waits for working space.
func (j Job) Rests() bool {
	return j.State == JobHeld || j.Reason != nil && j.Reason.Class == ClassWait && j.Reason.Code == CodeSpaceShort
}

// Promised reports whether working space is promised to the job: from J7 or J16 on
// until it has written its files or failed. What is written shows as less free space.
func (j Job) Promised() bool { return j.State == JobDownloading }

// EntryName returns the name of a queue entry, such as 05-jid0000000042.
func EntryName(priority int, id JobID) string {
	if priority >= 0 && priority < 10 {
		return "0" + strconv.Itoa(priority) + "-" + string(id)
	}
	return fmt.Sprintf("%02d-%s", priority, id)
}

// ParseEntryName is the inverse of [EntryName].
func ParseEntryName(name string) (priority int, id JobID, err error) {
	if len(name) > 3 && name[2] == '-' && name[0] >= '0' && name[0] <= '9' && name[1] >= '0' && name[1] <= '9' {
		if id, err = ParseJobID(name[3:]); err == nil {
			return int(name[0]-'0')*10 + int(name[1]-'0'), id, nil
		}
	}
	return 0, "", fmt.Errorf("%q is not a queue entry: want two digits, a dash and a job id", name)
}

// JobRow finds the row that leads from one state to another. Where two do, it is not J23
// and not J24.
func JobRow(from, to JobState) (JobTransition, bool) {
	return rowWhere(JobTransitions, func(t JobTransition) bool { return t.From == from && t.To == to })
}
