package layout

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// errorKey is the class and code of a reason, as kept in a status node.
type errorKey struct {
	Class   domain.Class `json:"class"`
	Code    domain.Code  `json:"code"`
	Attempt int          `json:"attempt,omitempty"`
	Worker  string       `json:"worker,omitempty"`

	Host    string        `json:"host,omitempty"`
	WhoActs domain.Acting `json:"who_acts,omitempty"`
}

// Common are the keys that this project adds to both kinds of status node.
type Common struct {
	Message string    `json:"message,omitempty"`
	Error   *errorKey `json:"error,omitempty"`
	Version int64     `json:"version"`
	Command string    `json:"command"`
}

func common(version int64, command string, r *domain.Reason) Common {
	c := Common{Version: version, Command: command}
	if r != nil {
		c.Message = r.Message
		c.Error = &errorKey{Class: r.Class, Code: r.Code, Attempt: r.Attempt, Worker: r.Worker, Host: r.Host, WhoActs: r.WhoActs}
	}
	return c
}

func (c Common) reason() *domain.Reason {
	if c.Error == nil {
		return nil
	}
	return &domain.Reason{Class: c.Error.Class, Code: c.Error.Code, Message: c.Message,
		Attempt: c.Error.Attempt, Worker: c.Error.Worker, Host: c.Error.Host, WhoActs: c.Error.WhoActs}
}

// BatchStatus is the data of /batches/BID/status.
type BatchStatus struct {
	Status       domain.BatchState `json:"status"`
	LastModified domain.Time       `json:"last_modified"`
	Ticket       *domain.Ticket    `json:"ticket,omitempty"` // in a deposit queue
	Common
}

// BatchStatusOf returns the status data of a batch.
func BatchStatusOf(b domain.Batch) BatchStatus {
	return BatchStatus{Status: b.State, LastModified: b.Modified, Ticket: b.Ticket, Common: common(b.Version, b.CommandID, b.Reason)}
}

// Apply sets the fields of a batch that its status holds.
func (s BatchStatus) Apply(b *domain.Batch) {
	b.State, b.Modified, b.Version, b.CommandID, b.Reason = s.Status, s.LastModified, s.Version, s.Command, s.reason()
	b.Ticket = s.Ticket
}

// JobStatus is the data of /jobs/JID/status. In a compact tree that of a job that has
// left its queue also holds the data of the job's other nodes, which it then lacks.
type JobStatus struct {
	Status               domain.JobState  `json:"status"`
	LastSuccessfulStatus *domain.JobState `json:"last_successful_status"`
	LastModificationDate domain.Time      `json:"last_modification_date"`
	RetryCount           int              `json:"retry_count"`
	Cleaned              bool             `json:"cleaned,omitempty"` // after J20
	Common
	*JobParts
}

// JobParts are the data of a job's other nodes, under the names of these nodes.
type JobParts struct {
	Configuration domain.Configuration `json:"configuration"`
	Identifiers   domain.Identifiers   `json:"identifiers"`
	Metadata      domain.Metadata      `json:"metadata"`
	Priority      int                  `json:"priority"`
	SpaceNeeded   int64                `json:"space_needed"`
}

// JobStatusOf returns the status data of a job, without the parts that have nodes of
// their own.
func JobStatusOf(j *domain.Job) JobStatus {
	s := JobStatus{Status: j.State, LastModificationDate: j.Modified, RetryCount: j.RetryCount,
		Cleaned: j.Cleaned, Common: common(j.Version, j.CommandID, j.Reason)}
	if j.LastSuccessful != "" {
		s.LastSuccessfulStatus = &j.LastSuccessful
	}
	return s
}

// Apply sets the fields of a job that its status holds.
func (s JobStatus) Apply(j *domain.Job) {
	j.State, j.Modified, j.RetryCount = s.Status, s.LastModificationDate, s.RetryCount
	j.Version, j.CommandID, j.Reason, j.Cleaned = s.Version, s.Command, s.reason(), s.Cleaned
	if s.LastSuccessfulStatus != nil {
		j.LastSuccessful = *s.LastSuccessfulStatus
	}
	if s.Compact() {
		j.Configuration, j.Identifiers, j.Metadata = s.JobParts.Configuration, s.JobParts.Identifiers, s.JobParts.Metadata
		j.Priority, j.SpaceNeeded = s.JobParts.Priority, s.JobParts.SpaceNeeded
	}
}

// Compact reports whether the status holds all of its job, and its batch can be read.
func (s JobStatus) Compact() bool {
	return s.Cleaned && s.JobParts != nil && s.JobParts.Configuration.BatchID != ""
}

// compactStatusOf returns the status data of a job with its parts.
func compactStatusOf(j *domain.Job) JobStatus {
	s := JobStatusOf(j)
	s.JobParts = &JobParts{j.Configuration, j.Identifiers, j.Metadata, j.Priority, j.SpaceNeeded}
	return s
}

// Progress is the data of /batches/BID/progress.
type Progress struct {
	domain.Listing
	NextRow int `json:"next_row"`
}

// ClaimCount is the data of /jobs/JID/claims: claims since the event of that version.
type ClaimCount struct {
	Version int64 `json:"version"`
	Claims  int   `json:"claims"`
}

// Holder is the data of a lock and of a leader node.
type Holder struct {
	Holder string `json:"holder"`
}

// Permit is the data of a permit for a host or a submitter.
type Permit struct {
	Holder
	Host      string `json:"host,omitempty"`
	Submitter string `json:"submitter,omitempty"`
}

// FilePromise is the data of working space that is promised to a file.
type FilePromise struct {
	Holder
	Bytes   int64  `json:"bytes"`
	Profile string `json:"profile"`
}

// HoldOf returns the hold in the data of its node. One that cannot be read counts as set by
// [domain.ByUnknown] when its node was created.
func HoldOf(data []byte, created time.Time) *domain.Hold {
	var h domain.Hold
	if json.Unmarshal(data, &h) != nil || h.By == "" {
		h = domain.Hold{By: domain.ByUnknown, When: domain.At(created), Why: "the node of this hold cannot be read"}
	}
	return &h
}

// Encode returns the data of a node. It panics for what is not plain data.
func Encode(v any) []byte {
	if v == nil {
		return []byte{}
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("zklive: %T cannot be encoded: %v", v, err))
	}
	return b
}
