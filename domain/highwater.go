package domain

// HighWater is a mark of how far an installation was at one moment. Marks are made in
// rounds, and several servers keep the number of the last one: a server with an older
// copy of its data lacks rounds that the others know.
type HighWater struct {
	Round  int64   `json:"round"` // 0 = none was made yet
	Epoch  int64   `json:"epoch"`
	LogSeq uint64  `json:"log_sequence"`       // the log had events up to here
	Batch  BatchID `json:"batch_id,omitempty"` // the highest that was reserved, "" = none
	Job    JobID   `json:"job_id,omitempty"`   // the same
}
