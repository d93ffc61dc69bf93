package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/domain"
)

// CallbackBody is what a callback tells about a job whose object is stored and in
// the inventory.
type CallbackBody struct {
	Batch   domain.BatchID `json:"batch_id"`
	Job     domain.JobID   `json:"job_id"`
	State   string         `json:"state"` // completed
	Primary string         `json:"primary_id"`
	LocalID []string       `json:"local_id"`
	Version int            `json:"version"` // of the object
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Name    string         `json:"name"`
}

// callback makes the request, as often as the profile allows.
func (s *steps) callback(ctx context.Context, p Profile, t *JobTask, key string, o domain.StoredObject) error {
	j := t.Job
	body := CallbackBody{Batch: j.Configuration.BatchID, Job: j.ID, State: string(domain.JobCompleted),
		Primary: o.Primary, LocalID: j.Identifiers.LocalID, Version: o.Version, Files: o.Files, Bytes: o.Bytes, Name: jobName(j)}
	c, err := s.client(p)
	if err != nil {
		return err
	}
	return s.attempts(ctx, t.Log, p, func() error { return notify.Callback(ctx, c, p.Callback.URL, key, body) })
}
