package record

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/internal/crash"
)

// ComputeResult is what the command of a worker has made of an entry of the compute queue. It
// is kept before the entry is done.
type ComputeResult struct {
	Entry      compute.ID
	SHA256     string // of the result
	Key        string // of the entry
	Result     json.RawMessage
	ExitStatus int
	LastLines  string // that the command wrote on its standard error
	Worker     string
	Attempt    int
	Claim      int64          // version of the entry by the claim of the worker, 0 = not known
	Outputs    []entry.Output // that the worker left beside the result, by name
	Kept       time.Time
}

// KeepComputeResult keeps a result, in place of the one of the same attempt of the worker under
// an older claim. CodeResultKept: another one is kept under this claim, or a later one.
func (r *Records) KeepComputeResult(ctx context.Context, c ComputeResult) error {
	outputs, err := json.Marshal(append([]entry.Output{}, c.Outputs...))
	if err != nil {
		return err
	}
	err = crash.Around("record/compute-result/keep", func() error {
		kept, err := r.q.KeepComputeResult(ctx, pgdb.KeepComputeResultParams{EntryID: string(c.Entry), Sha256: c.SHA256, Key: c.Key, Result: c.Result,
			ExitStatus: int64(c.ExitStatus), LastLines: c.LastLines, Worker: c.Worker, Attempt: int64(c.Attempt), Claim: c.Claim, Outputs: outputs})
		if err == nil && kept == 0 {
			err = refuse(CodeResultKept, "keep the result of", string(c.Entry), "another one is kept already")
		}
		return err
	})
	return wrap(err, "keep the result of", string(c.Entry))
}

// ComputeResult returns the result of an entry with a digest, best that of the claim by which
// the entry had a version: only that one has outputs.
func (r *Records) ComputeResult(ctx context.Context, id compute.ID, sha256 string, claim int64) (c ComputeResult, found bool, err error) {
	row, err := r.q.ComputeResult(ctx, pgdb.ComputeResultParams{EntryID: string(id), Sha256: sha256, Claim: claim})
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	c = ComputeResult{Entry: compute.ID(row.EntryID), SHA256: row.Sha256, Key: row.Key, Result: row.Result, ExitStatus: int(row.ExitStatus), LastLines: row.LastLines,
		Worker: row.Worker, Attempt: int(row.Attempt), Claim: row.Claim, Kept: row.KeptAt}
	if err == nil && row.Claim == claim {
		err = json.Unmarshal(row.Outputs, &c.Outputs)
	}
	return c, err == nil, wrap(err, "read the result of", string(id))
}
