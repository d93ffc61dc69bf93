package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// AuditPass is how far the auditor is in reading all stored objects.
type AuditPass struct {
	Begun    domain.Time  `json:"begun"`
	Ended    *domain.Time `json:"ended,omitempty"` // nil = it is under way
	Last     domain.Time  `json:"last_complete"`   // end of the last complete pass, or the first start
	Position string       `json:"position"`        // the last object that was compared
	Objects  int64        `json:"objects"`
	Files    int64        `json:"files"`
	Bytes    int64        `json:"bytes"`
	Findings int64        `json:"findings"`
	Corrupt  int64        `json:"corrupt"`          // files that are corrupt, found by any pass
	Replicas int64        `json:"replicas_pending"` // copies of versions that are not in their stores yet
}

func passOf(a pgdb.RecordAudit) AuditPass {
	p := AuditPass{Begun: domain.At(a.BegunAt), Last: domain.At(a.LastAt), Position: a.Position, Objects: a.Objects, Files: a.Files, Bytes: a.Bytes, Findings: a.Findings}
	if a.EndedAt != nil {
		ended := domain.At(*a.EndedAt)
		p.Ended = &ended
	}
	return p
}

// LeadAudit makes this process the only one that audits, until release is called; false
// when another one is.
func (r *Records) LeadAudit(ctx context.Context) (release func(), leads bool, err error) {
	return r.leads.take(ctx, "accession audit")
}

// BeginAudit begins a pass when an interval has gone by since the last, or continues the
// one under way. due is false when it is not time yet.
func (r *Records) BeginAudit(ctx context.Context, interval time.Duration) (p AuditPass, due bool, err error) {
	if _, err := change("audit/first", func() (struct{}, error) { return struct{}{}, r.q.FirstAudit(ctx) }); err != nil {
		return p, false, wrap(err, "begin the", "audit")
	}
	row, err := change("audit/begin", func() (pgdb.RecordAudit, error) { return r.q.BeginAudit(ctx, interval.Seconds()) })
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	return passOf(row), err == nil, wrap(err, "begin the", "audit")
}

// SaveAudit keeps how far a pass is.
func (r *Records) SaveAudit(ctx context.Context, p AuditPass) error {
	_, err := change("audit/save", func() (struct{}, error) {
		return struct{}{}, r.q.SaveAudit(ctx, pgdb.SaveAuditParams{Position: p.Position, Objects: p.Objects, Files: p.Files, Bytes: p.Bytes, Findings: p.Findings})
	})
	return wrap(err, "save the", "audit")
}

// EndAudit keeps that a pass is complete.
func (r *Records) EndAudit(ctx context.Context) error {
	_, err := change("audit/end", func() (struct{}, error) { return struct{}{}, r.q.EndAudit(ctx) })
	return wrap(err, "end the", "audit")
}

// Audit returns how far the auditor is, nil when it was never started.
func (r *Records) Audit(ctx context.Context) (*AuditPass, error) {
	row, err := r.q.Audit(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the audit: %w", err)
	}
	p := passOf(pgdb.RecordAudit{Name: row.Name, BegunAt: row.BegunAt, EndedAt: row.EndedAt, LastAt: row.LastAt, Position: row.Position,
		Objects: row.Objects, Files: row.Files, Bytes: row.Bytes, Findings: row.Findings})
	p.Corrupt, p.Replicas = row.Corrupt, row.Replicas
	return &p, nil
}

// Corrupt is a stored file that was found missing or changed.
type Corrupt struct {
	VersionID
	Kind, Name, Key string
	Job             domain.JobID
	Code            domain.Code
	Found           string // what is stored instead
	Since           domain.Time
}

// NoteCorrupt keeps that a stored file is corrupt, since now if it was not known.
func (r *Records) NoteCorrupt(ctx context.Context, c Corrupt) error {
	_, err := change("corrupt/note", func() (struct{}, error) {
		return struct{}{}, r.q.NoteCorrupt(ctx, pgdb.NoteCorruptParams{PrimaryIdentifier: c.Object, Version: int64(c.Version), Kind: c.Kind, Name: c.Name,
			Key: c.Key, JobID: string(c.Job), Code: string(c.Code), Found: c.Found})
	})
	return wrap(err, "note what is corrupt of", c.Object)
}

// The states in which a corrupt file ends.
const (
	CorruptGivenUp = "given_up" // its history says so
	CorruptSound   = "sound"    // a sound copy was put back
)

// SettleCorrupt keeps what became of a corrupt file.
func (r *Records) SettleCorrupt(ctx context.Context, c Corrupt, state string) error {
	_, err := change("corrupt/settle", func() (struct{}, error) {
		return struct{}{}, r.q.SettleCorrupt(ctx, pgdb.SettleCorruptParams{State: state, PrimaryIdentifier: c.Object, Version: int64(c.Version), Kind: c.Kind, Name: c.Name})
	})
	return wrap(err, "settle what is corrupt of", c.Object)
}

// CorruptOf returns what is corrupt of the versions that these jobs have stored.
func (r *Records) CorruptOf(ctx context.Context, jobs ...string) ([]Corrupt, error) {
	rows, err := r.q.CorruptOfJobs(ctx, jobs)
	all := make([]Corrupt, len(rows))
	for i, c := range rows {
		all[i] = Corrupt{VersionID: VersionID{c.PrimaryIdentifier, int(c.Version)}, Kind: c.Kind, Name: c.Name, Key: c.Key,
			Job: domain.JobID(c.JobID), Code: domain.Code(c.Code), Found: c.Found, Since: domain.At(c.FoundAt)}
	}
	return all, wrap(err, "read what is corrupt of", "jobs")
}

// CorruptSince returns since when objects of a batch's jobs are corrupt, nil if none is.
func (r *Records) CorruptSince(ctx context.Context, batch domain.BatchID) (map[string]domain.Time, error) {
	rows, err := r.q.CorruptOfBatch(ctx, string(batch))
	if len(rows) == 0 {
		return nil, wrap(err, "read what is corrupt of", string(batch))
	}
	since := make(map[string]domain.Time, len(rows))
	for _, c := range rows {
		since[c.JobID] = domain.At(c.Since)
	}
	return since, nil
}
