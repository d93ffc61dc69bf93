package app

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// movingDB goes on with the work behind the first answer of a transaction, that on
// how the batch adds up.
type movingDB struct {
	query.DB
	once sync.Once
	move func()
}

func (m *movingDB) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := m.DB.BeginTx(ctx, opts)
	return movingTx{tx, m}, err
}

type movingTx struct {
	pgx.Tx
	m *movingDB
}

func (t movingTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	t.m.once.Do(t.m.move)
	return t.Tx.Query(ctx, sql, args...)
}

// TestReportOfABatchThatMoves: while a report is made, jobs and files end and others
// come; it tells of one moment and adds up all the same.
func TestReportOfABatchThatMoves(t *testing.T) {
	t.Parallel()
	a, story := classic(t)
	w := a.Open.Tables.(fakeHistory)
	db := w.db
	held := domain.HoldJob{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: "held"}}
	moving := func(id domain.JobID, cmd domain.JobCommand) *App {
		story.Job(id, cmd)
		w.db = &movingDB{DB: db, move: func() { story.Project(db) }}
		return &App{Open: resources(w)}
	}
	for _, c := range []struct {
		name, table, column string
		job                 domain.JobID
		cmd                 domain.JobCommand
	}{
		{"reconciliation", "objects", "result", "jid0000000015", held},
		{"batch", "jobs", "status", "jid0000000010", domain.DeleteJob{}},
	} {
		r, err := moving(c.job, c.cmd).Report(t.Context(), c.name, ReportOptions{Range: query.Range{Batch: projtest.ClassicObjects}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		sums := map[string]int{}
		for _, row := range read(t, r, c.table) {
			sums[map[string]string{"completed": "done", "pending": "in progress", "provisioning": "in progress"}[row[c.column]]]++
			sums[row[c.column]]++
		}
		if sums["done"] != 9 {
			t.Errorf("%s: %v", c.name, sums)
		}
		adds(t, r, "objects", sums)
		r.Close()
	}
	v, err := moving("jid0000000011", domain.DeleteJob{}).BatchReport(t.Context(), projtest.ClassicObjects, 1000)
	if err != nil {
		t.Fatal(err)
	}
	deleted := int64(0)
	for _, j := range v.Jobs {
		if j.Status == string(domain.JobDeleted) {
			deleted++
		}
	}
	if deleted != v.JobsDeleted {
		t.Errorf("%d jobs are deleted, the batch says %d", deleted, v.JobsDeleted)
	}

	// Files that come after the sum are not told of.
	w.db = db
	r, err := (&App{Open: resources(w)}).Report(t.Context(), "reconciliation", ReportOptions{Range: query.Range{Batch: projtest.ClassicFiles}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	story.Discover("jid0000000016", "scan-16.tif", 1000)
	story.Project(db)
	if n := len(read(t, r, "files")); n != int(r.Tables[1].Total) {
		t.Errorf("%d files are listed, the sum says %d", n, r.Tables[1].Total)
	}
}
