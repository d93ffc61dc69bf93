package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Board is what the tables add to the board of a deposit queue.
type Board struct {
	Grabs   []time.Time // when deposits were grabbed, the last maxGrabs since a time
	Resting []Resting
	Parked  map[string]int64 // by user
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
	b.Parked, err = Parked(ctx, db, queue)
	return b, err
}

// Parked counts the parked deposits of a queue by user; users without any are missing.
func Parked(ctx context.Context, db Reader, queue string) (map[string]int64, error) {
	all := map[string]int64{}
	if queue == fair.QueueQuery {
		rows, err := pgdb.New(db).CountParkedQueries(ctx)
		for _, r := range rows {
			all[r.Submitter] = r.Parked
		}
		return all, wrap("count parked queries", err)
	}
	rows, err := pgdb.New(db).CountParked(ctx)
	for _, r := range rows {
		all[r.Submitter] = r.Parked
	}
	return all, wrap("count parked batches", err)
}

// ParkedOf chooses parked deposits of a queue: those of the users and those that are named.
type ParkedOf struct {
	Queue string
	Users []string
	IDs   []string
	After string // only those behind this id
	Limit int
}

// ParkedDeposits lists the ids of parked deposits, sorted.
func ParkedDeposits(ctx context.Context, db Reader, of ParkedOf) ([]string, error) {
	p := pgdb.ParkedBatchesParams{AfterID: of.After, Users: append([]string{}, of.Users...), Ids: append([]string{}, of.IDs...), MaxRows: int32(of.Limit)}
	if of.Queue == fair.QueueQuery {
		ids, err := pgdb.New(db).ParkedQueries(ctx, pgdb.ParkedQueriesParams(p))
		return ids, wrap("list parked queries", err)
	}
	ids, err := pgdb.New(db).ParkedBatches(ctx, p)
	return ids, wrap("list parked batches", err)
}
