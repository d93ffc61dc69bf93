package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
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
	body, err := json.Marshal(CallbackBody{Batch: j.Configuration.BatchID, Job: j.ID, State: string(domain.JobCompleted),
		Primary: o.Primary, LocalID: j.Identifiers.LocalID, Version: o.Version, Files: o.Files, Bytes: o.Bytes, Name: jobName(j)})
	if err != nil {
		return err
	}
	c, err := s.client(p)
	if err != nil {
		return err
	}
	return s.attempts(ctx, t.Log, p, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Callback.URL, bytes.NewReader(body))
		if err != nil {
			return systemProblem(CodeProfileBroken, "profile %s: its callback URL cannot be used", p.Name)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return &fetch.Error{Code: fetch.CodeHTTPStatus, Class: domain.ClassSystem, URL: fetch.Redact(p.Callback.URL), Status: resp.StatusCode,
				Message: "the receiver answered " + resp.Status, Temporary: resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests}
		}
		return err
	})
}
