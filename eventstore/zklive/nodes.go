package zklive

import (
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// errorKey is the class and code of a reason, as kept in a status node.
type errorKey struct {
	Class   domain.Class `json:"class"`
	Code    domain.Code  `json:"code"`
	Attempt int          `json:"attempt,omitempty"`
	Worker  string       `json:"worker,omitempty"`
}

// common are the keys that this project adds to both kinds of status node.
type common struct {
	Message string    `json:"message,omitempty"`
	Error   *errorKey `json:"error,omitempty"`
	Version int64     `json:"version"`
	Command string    `json:"command"`
}

func (c *common) setReason(r *domain.Reason) {
	if r != nil {
		c.Message = r.Message
		c.Error = &errorKey{Class: r.Class, Code: r.Code, Attempt: r.Attempt, Worker: r.Worker}
	}
}

func (c common) reason() *domain.Reason {
	if c.Error == nil {
		return nil
	}
	return &domain.Reason{Class: c.Error.Class, Code: c.Error.Code, Message: c.Message,
		Attempt: c.Error.Attempt, Worker: c.Error.Worker}
}

// batchStatus is the data of /batches/BID/status.
type batchStatus struct {
	Status       domain.BatchState `json:"status"`
	LastModified domain.Time       `json:"last_modified"`
	common
}

// jobStatus is the data of /jobs/JID/status.
type jobStatus struct {
	Status               domain.JobState  `json:"status"`
	LastSuccessfulStatus *domain.JobState `json:"last_successful_status"`
	LastModificationDate domain.Time      `json:"last_modification_date"`
	RetryCount           int              `json:"retry_count"`
	Cleaned              bool             `json:"cleaned,omitempty"` // after J20
	common
}

// progress is the data of /batches/BID/progress.
type progress struct {
	domain.Listing
	NextRow int `json:"next_row"`
}

// claimCount is the data of /jobs/JID/claims: claims since the event `version`.
type claimCount struct {
	Version int64 `json:"version"`
	Claims  int   `json:"claims"`
}

// holder is the data of a lock and of a leader node.
type holder struct {
	Holder string `json:"holder"`
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("zklive: %T cannot be encoded: %v", v, err)) // all types here are plain data
	}
	return b
}

func batchStatusOf(b domain.Batch) batchStatus {
	s := batchStatus{Status: b.State, LastModified: b.Modified, common: common{Version: b.Version, Command: b.CommandID}}
	s.setReason(b.Reason)
	return s
}

func jobStatusOf(j domain.Job) jobStatus {
	s := jobStatus{Status: j.State, LastModificationDate: j.Modified, RetryCount: j.RetryCount,
		Cleaned: j.Cleaned, common: common{Version: j.Version, Command: j.CommandID}}
	if j.LastSuccessful != "" {
		last := j.LastSuccessful
		s.LastSuccessfulStatus = &last
	}
	s.setReason(j.Reason)
	return s
}

func (s jobStatus) apply(j *domain.Job) {
	j.State, j.Modified, j.RetryCount = s.Status, s.LastModificationDate, s.RetryCount
	j.Version, j.CommandID, j.Reason, j.Cleaned = s.Version, s.Command, s.reason(), s.Cleaned
	if s.LastSuccessfulStatus != nil {
		j.LastSuccessful = *s.LastSuccessfulStatus
	}
}

func (s batchStatus) apply(b *domain.Batch) {
	b.State, b.Modified, b.Version, b.CommandID, b.Reason = s.Status, s.LastModified, s.Version, s.Command, s.reason()
}
