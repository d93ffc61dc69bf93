package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Board is what the tables add to the board of a deposit queue.
type Board struct {
	Grabs   []time.Time // when deposits were grabbed, the last maxGrabs since a time
	Resting []Resting
	Parked  map[string]int64 // batches by user
}

// Resting is a running batch all of whose open jobs are held or wait for space.
type Resting struct {
	Batch domain.BatchID `json:"batch"`
	User  string         `json:"user"`
}

// Bounds of a board.
const (
	maxGrabs   = 200
	maxResting = 100
)

// DepositBoard reads a board.
func DepositBoard(ctx context.Context, db Reader, queue string, since time.Time) (b Board, err error) {
	q := pgdb.New(db)
	if b.Grabs, err = q.RecentGrabs(ctx, pgdb.RecentGrabsParams{Queue: queue, Since: since, MaxRows: maxGrabs}); err != nil {
		return b, wrap("read the last grabs", err)
	}
	resting, err := q.RestingDeposits(ctx, pgdb.RestingDepositsParams{Queue: queue, MaxRows: maxResting})
	if err != nil {
		return b, wrap("list running batches whose jobs rest", err)
	}
	for _, r := range resting {
		b.Resting = append(b.Resting, Resting{domain.BatchID(r.BatchID), r.UserName})
	}
	b.Parked, err = Parked(ctx, db)
	return b, err
}

// Parked counts the parked batches by user; users without any are missing.
func Parked(ctx context.Context, db Reader) (map[string]int64, error) {
	rows, err := pgdb.New(db).CountParked(ctx)
	all := make(map[string]int64, len(rows))
	for _, r := range rows {
		all[r.Submitter] = r.Parked
	}
	return all, wrap("count parked batches", err)
}

// ParkedOf chooses parked batches: those of the users and those that are named.
type ParkedOf struct {
	Users   []string
	Batches []domain.BatchID
	After   domain.BatchID // only those behind it
	Limit   int
}

// ParkedBatches lists parked batches by id.
func ParkedBatches(ctx context.Context, db Reader, of ParkedOf) ([]domain.BatchID, error) {
	p := pgdb.ParkedBatchesParams{AfterID: string(of.After), Users: append([]string{}, of.Users...), Batches: []string{}, MaxRows: int32(of.Limit)}
	for _, id := range of.Batches {
		p.Batches = append(p.Batches, string(id))
	}
	ids, err := pgdb.New(db).ParkedBatches(ctx, p)
	all := make([]domain.BatchID, len(ids))
	for i, id := range ids {
		all[i] = domain.BatchID(id)
	}
	return all, wrap("list parked batches", err)
}
