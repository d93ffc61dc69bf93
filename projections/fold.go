package projections

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// fold is the work of one transaction: the states that its events touch, and the
// rows that it adds.
type fold struct {
	batches  map[string]*batchState
	jobs     map[string]*jobState
	files    map[string]*fileState
	counts   map[string]*pgdb.AccessionFileCount
	settings map[string]*settingState

	events          []pgdb.AccessionEvent
	transitions     []pgdb.AccessionJobTransition
	fileTransitions []pgdb.AccessionFileTransition
	reports         []pgdb.AccessionBatchReport
	retries         retries
}

// newFold gives one that has touched nothing.
func newFold() *fold {
	return &fold{
		batches: map[string]*batchState{}, jobs: map[string]*jobState{}, settings: map[string]*settingState{},
		files: map[string]*fileState{}, counts: map[string]*pgdb.AccessionFileCount{},
		retries: retries{byKey: map[attemptKey]*retryRow{}},
	}
}

// touch begins what an event tells of, where nothing is known of it yet.
func (f *fold) touch(r domain.Recorded) {
	id := r.Aggregate.ID
	if r.BatchID != "" && r.Aggregate.Kind != domain.KindFile {
		begin(f.batches, string(r.BatchID), func() *batchState { return newBatch(r.BatchID) })
	}
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		begin(f.batches, id, func() *batchState { return newBatch(domain.BatchID(id)) })
	case domain.KindJob:
		begin(f.jobs, id, func() *jobState { return newJob(domain.JobID(id)) })
	case domain.KindSetting:
		begin(f.settings, id, func() *settingState { return &settingState{} })
	case domain.KindFile:
		begin(f.files, id, func() *fileState { return newFile(domain.FileHash(id)) })
	}
	f.touchCounts(r)
}

// begin puts a fresh value under a key that has none.
func begin[V any](m map[string]*V, key string, fresh func() *V) {
	if m[key] == nil {
		m[key] = fresh()
	}
}

// load reads the states that the events touch.
func load(ctx context.Context, q *pgdb.Queries, events []domain.Recorded) (*fold, error) {
	f := newFold()
	f.events = make([]pgdb.AccessionEvent, 0, len(events))
	for _, r := range events {
		f.touch(r)
	}
	if err := f.loadBatches(ctx, q); err != nil {
		return nil, fmt.Errorf("load batches: %w", err)
	}
	if err := f.loadJobs(ctx, q); err != nil {
		return nil, fmt.Errorf("load jobs: %w", err)
	}
	if err := f.loadFiles(ctx, q); err != nil {
		return nil, fmt.Errorf("load files: %w", err)
	}
	if err := f.loadFileCounts(ctx, q); err != nil {
		return nil, fmt.Errorf("load counters of files: %w", err)
	}
	if err := f.loadSettings(ctx, q); err != nil {
		return nil, fmt.Errorf("load settings: %w", err)
	}
	return f, nil
}

// apply hands one event to its read models.
func (f *fold) apply(r domain.Recorded) error {
	if err := f.event(r); err != nil {
		return err
	}
	return f.models(r)
}

// models hands one event to the read models of states.
func (f *fold) models(r domain.Recorded) error {
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		return f.batch(r)
	case domain.KindJob:
		return f.job(r)
	case domain.KindSetting:
		return f.setting(r)
	case domain.KindFile:
		return f.file(r)
	default:
		return fmt.Errorf("there is no read model for a %s", r.Aggregate.Kind)
	}
}

// write puts the outcome into the tables.
func (f *fold) write(ctx context.Context, q *pgdb.Queries) error {
	for _, step := range []func() error{
		func() error { return put(ctx, "event", q.InsertEvents, f.events) },
		func() error { return put(ctx, "batch", q.UpsertBatches, f.batchRows()) },
		func() error { return put(ctx, "job", q.UpsertJobs, f.jobRows()) },
		func() error { return put(ctx, "job_transition", q.InsertJobTransitions, f.transitions) },
		func() error { return put(ctx, "file", q.UpsertFiles, f.fileRows()) },
		func() error { return put(ctx, "file_transition", q.InsertFileTransitions, f.fileTransitions) },
		func() error { return put(ctx, "file_count", q.UpsertFileCounts, f.countRows()) },
		func() error { return put(ctx, "retry", q.InsertRetries, f.retries.rows(true)) },
		func() error { return put(ctx, "retry", q.ResolveRetries, f.retries.rows(false)) },
		func() error { return put(ctx, "batch_report", q.InsertBatchReports, f.reports) },
		func() error { return put(ctx, "setting", q.UpsertSettings, f.settingRows()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
