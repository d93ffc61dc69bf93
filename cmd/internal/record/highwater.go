package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/highwater"
)

// HighWater returns the last mark that all have kept, and the last round that was begun.
func (r *Records) HighWater(ctx context.Context) (done highwater.Mark, begun int64, err error) {
	row, err := r.q.HighWater(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return done, 0, nil
	}
	done = highwater.Mark{Round: row.Done, Epoch: row.Epoch, LogSeq: uint64(row.LogSeq), Batch: domain.BatchID(row.BatchID), Job: domain.JobID(row.JobID)}
	return done, row.Begun, wrap(err, "read the", "high-water mark")
}

// BeginHighWater keeps that a round has begun, unless a later one has.
func (r *Records) BeginHighWater(ctx context.Context, round int64) error {
	_, err := change("high-water/begin", func() (struct{}, error) { return struct{}{}, r.q.BeginHighWater(ctx, round) })
	return wrap(err, "begin the", "high-water mark")
}

// EndHighWater keeps a mark that the object store and the live state have kept, unless it
// has a later one.
func (r *Records) EndHighWater(ctx context.Context, m highwater.Mark) error {
	_, err := change("high-water/end", func() (struct{}, error) {
		return struct{}{}, r.q.EndHighWater(ctx, pgdb.EndHighWaterParams{Round: m.Round, Epoch: m.Epoch, LogSeq: int64(m.LogSeq), BatchID: string(m.Batch), JobID: string(m.Job)})
	})
	return wrap(err, "end the", "high-water mark")
}
