// Package highwater has the marks by which an older copy of a server is found.
package highwater

import "github.com/accession-ingest/accession/domain"

// Mark is how far an installation was at one moment. Marks are made in
// rounds, and several servers keep the number of the last one: a server with an older
// copy of its data lacks rounds that the others know.
type Mark struct {
	Round  int64          `json:"round"` // 0 = none was made yet
	Epoch  int64          `json:"epoch"`
	LogSeq uint64         `json:"log_sequence"`       // the log had events up to here
	Batch  domain.BatchID `json:"batch_id,omitempty"` // the highest that was reserved, "" = none
	Job    domain.JobID   `json:"job_id,omitempty"`   // the same
}
