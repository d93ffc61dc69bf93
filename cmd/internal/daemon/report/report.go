// Package report has the report of a batch: as it is kept in the object store, and in
// words, as it is mailed.
package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Body is the whole report of a batch, as it is kept in the object store and
// named by the batch's status-report. Listed = Completed + Failed + Deleted, or the
// jobs that are not among them are in Unexplained.
type Body struct {
	Batch     domain.BatchID `json:"batch_id"`
	Kind      string         `json:"kind"` // report or update-report
	Made      domain.Time    `json:"made"`
	Profile   string         `json:"profile_name"`
	Submitter string         `json:"submitter"`
	Problem   *domain.Reason `json:"problem"` // with the batch's manifest, null = none
	Listed    int            `json:"listed"`
	Completed int            `json:"completed"`
	Failed    int            `json:"failed"`
	Deleted   int            `json:"deleted"`
	Jobs      []Job          `json:"jobs"` // ordered by id: those three
	// Unexplained are jobs that the batch listed and that are neither there nor
	// deleted: each in its last state in the history, "" = none. Not empty only after a
	// fault.
	Unexplained []Job `json:"unexplained"`
	// Warnings say what of the batch's manifest was not taken as it is written.
	Warnings []string `json:"warnings,omitempty"`
	// MetadataRecords are those of a metadata deposit.
	MetadataRecords *MetadataRecords `json:"records,omitempty"`
}

// Job is one job of a report.
type Job struct {
	ID      domain.JobID    `json:"job_id"`
	Row     int             `json:"row"` // of the batch manifest, from 0
	State   domain.JobState `json:"state"`
	Name    string          `json:"name"`
	Title   string          `json:"title"`
	URL     string          `json:"payload_url"` // without its query
	Primary string          `json:"primary_id"`
	LocalID []string        `json:"local_id"`
	Version int             `json:"version,omitempty"` // of an object that was there before
	Reason  *domain.Reason  `json:"reason"`            // why it failed or was deleted, else null
	New     bool            `json:"newly_successful,omitempty"`
	// LeftOut names the files that an operator kept out of the stored object.
	LeftOut []string `json:"left_out,omitempty"`
	// Warnings say what of the object's manifest was not taken as it is written.
	Warnings []string `json:"warnings,omitempty"`
}

// JobOf returns a job as a report names it.
func JobOf(j domain.Job) Job {
	r := Job{ID: j.ID, Row: j.Configuration.Row, State: j.State, Name: JobName(j), Title: j.Metadata.ErcWhat,
		URL: fetch.Redact(j.Configuration.PayloadURL), Primary: j.Identifiers.Primary, LocalID: j.Identifiers.LocalID}
	if j.State == domain.JobFailed || j.State == domain.JobDeleted {
		r.Reason = j.Reason
	}
	return r
}

// JobName returns the name by which a person knows the job's payload. A row whose name is at
// fault has the one that the tables give it.
func JobName(j domain.Job) string {
	c := j.Configuration
	if c.FileName == "" && (c.PayloadURL == "" || c.RowFault != nil) {
		return cmp.Or(j.Metadata.ErcWhat, fmt.Sprintf("row %d", c.Row+1))
	}
	return cmp.Or(c.FileName, manifest.PayloadName(c.PayloadURL))
}

// Reader returns a function that reads an object of a store, for [Kept].
func Reader(objects *store.Store) func(ctx context.Context, key string) ([]byte, error) {
	return func(ctx context.Context, key string) ([]byte, error) { return payload.ReadAll(ctx, objects, key) }
}

// Kept returns a whole report, which read reads from the object store.
func Kept(ctx context.Context, read func(ctx context.Context, key string) ([]byte, error), r domain.Report) (Body, error) {
	var body Body
	key, ok := store.KeyOf(r.ReportURL)
	if !ok {
		return body, fmt.Errorf("it names no object: %q", r.ReportURL)
	}
	data, err := read(ctx, key)
	if err != nil {
		return body, err
	}
	if sha := SHA256(data); sha != r.ReportSHA256 {
		return body, fmt.Errorf("%s has the SHA-256 %s and had %s: restore it", key, sha, r.ReportSHA256)
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return body, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return body, nil
}

// SHA256 returns the digest of a report as its batch has it.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
