package eventstore

import (
	"slices"

	"github.com/accession-ingest/accession/domain"
)

// Overview is the live state at a glance.
type Overview struct {
	Workers []WorkerInfo
	Queues  map[domain.JobState]int // entries by state
	Outbox  OutboxDepth
	Epoch   int64

	// How many there are, and how many bytes of the server's heap they and the outbox
	// take, estimated.
	Batches, Jobs int
	Heap          int64
}

// WorkerInfo describes one live session.
type WorkerInfo struct {
	ID      string      `json:"id"`
	Host    string      `json:"host"`
	PID     int         `json:"pid"`
	Roles   []string    `json:"roles"`
	Daemons []string    `json:"daemons,omitempty"` // that have workers in the process
	Since   domain.Time `json:"since"`
	// Timeouts are in the configuration of a process that works on files or sweeps; nil =
	// of another, or of an older program.
	Timeouts *FileTimeouts `json:"timeouts,omitempty"`
}

// FileTimeouts are how long attempts at files may take.
type FileTimeouts struct {
	DownloadSeconds   float64 `json:"download_seconds"`
	ProcessingSeconds float64 `json:"processing_seconds"`
}

// Unserved returns the states whose daemon has no worker in any process: what enters
// them stands still.
func (o Overview) Unserved() (batches []domain.BatchState, jobs []domain.JobState) {
	served := func(daemon string) bool {
		return daemon == "" || slices.ContainsFunc(o.Workers, func(w WorkerInfo) bool { return slices.Contains(w.Daemons, daemon) })
	}
	for _, s := range domain.BatchStates {
		if !served(s.Daemon()) {
			batches = append(batches, s)
		}
	}
	for _, s := range domain.JobStates {
		if !served(s.Daemon()) {
			jobs = append(jobs, s)
		}
	}
	return batches, jobs
}
