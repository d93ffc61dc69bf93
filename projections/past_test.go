package projections_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestThePastIsWhatTheTablesShowed goes through a history, and compares at every
// place what is folded in memory with what the tables show just then, for the
// aggregates that the last event tells of; at some places for all.
func TestThePastIsWhatTheTablesShowed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	story := projtest.NewStory(t)
	story.Random(9, 250)
	log, db, past := story.Log, projtest.DB(t), query.NewPast()
	for n, r := range log {
		story.Log = log[:n+1]
		story.Project(db)
		if err := past.Apply(r); err != nil {
			t.Fatal(err)
		}
		comparePast(ctx, t, db, past, r)
		if n%100 == 99 {
			for _, other := range log[:n+1] {
				comparePast(ctx, t, db, past, other)
			}
		}
		if t.Failed() {
			t.Fatalf("behind event %d, %s %s", r.Seq, r.Type, r.Aggregate)
		}
	}
}

// nearly: seconds are rounded differently here and there; an empty list is none.
var nearly = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })}

func comparePast(ctx context.Context, t *testing.T, db query.DB, past *query.Past, r domain.Recorded) {
	t.Helper()
	same := func(what string, want any, err error, got any, gotErr error) {
		t.Helper()
		if (err == nil) != (gotErr == nil) {
			t.Errorf("%s: tables: %v, past: %v", what, err, gotErr)
		} else if diff := cmp.Diff(want, got, nearly); err == nil && diff != "" {
			t.Errorf("%s (-tables +past):\n%s", what, diff)
		}
	}
	if r.BatchID != "" {
		want, err := query.Summary(ctx, db, r.BatchID)
		got, gotErr := past.Summary(r.BatchID)
		same("batch", want, err, got, gotErr)
		counts, err := query.CountFiles(ctx, db, r.BatchID.Aggregate())
		same("counters of files", counts, err, past.Counts(r.BatchID.Aggregate()), nil)
		reports, err := query.Reports(ctx, db, r.BatchID)
		same("reports", reports, err, only(past.Reports(), func(x query.BatchReport) bool { return x.BatchID == string(r.BatchID) }), nil)
		warnings, err := query.Warnings(ctx, db, r.BatchID, 1000)
		same("warnings", warnings, err, past.Warnings(r.BatchID), nil)
		retries, err := query.Retries(ctx, db, query.RetryFilter{Batch: r.BatchID, Limit: 1000})
		same("retries", retries, err, only(past.Retries(domain.KindJob), func(x query.Retry) bool { return x.BatchID == string(r.BatchID) }), nil)
	}
	switch r.Aggregate.Kind {
	case domain.KindJob:
		id := domain.JobID(r.Aggregate.ID)
		want, err := query.JobByID(ctx, db, id)
		got, gotErr := past.Job(id)
		same("job", want, err, got, gotErr)
		moves, err := query.Transitions(ctx, db, id)
		same("job's history", moves, err, only(past.Transitions(), func(x query.JobTransition) bool { return x.JobID == string(id) }), nil)
	case domain.KindFile:
		id := domain.FileHash(r.Aggregate.ID)
		want, err := query.FileByHash(ctx, db, id)
		got, gotErr := past.File(id)
		same("file", want, err, got, gotErr)
		moves, err := query.FileHistory(ctx, db, id)
		same("file's history", moves, err, only(past.FileTransitions(), func(x query.FileTransition) bool { return x.RawFileHash == string(id) }), nil)
		retries, err := query.RetriesOfFile(ctx, db, id)
		same("file's retries", retries, err, only(past.Retries(domain.KindFile), func(x query.Retry) bool { return x.RawFileHash == string(id) }), nil)
	}
}

func only[T any](list []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !keep(x) })
}
