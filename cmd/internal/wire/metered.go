package wire

import (
	"context"
	"iter"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// LiveState is the live state, counted and bounded: every commit and claim of this
// process passes here.
type LiveState struct {
	*zklive.Store
	metrics  *ops.Metrics
	pressure *eventstore.Pressure
}

// Room implements app.Live.
func (l *LiveState) Room(ctx context.Context) error { return l.pressure.Deposit(ctx) }

// Commit implements eventstore.Live.
func (l *LiveState) Commit(ctx context.Context, changes ...eventstore.Change) (done []eventstore.Committed, err error) {
	begun := time.Now()
	if err = l.pressure.Admit(ctx, changes); err == nil {
		done, err = l.Store.Commit(ctx, changes...)
	}
	l.metrics.Committed(changes, time.Since(begun), err)
	for i, d := range done {
		if d.Claim != nil {
			l.metrics.Claimed(d.Claim, string(changes[i].Next))
		}
	}
	return done, err
}

// NextJob implements eventstore.Claims.
func (l *LiveState) NextJob(ctx context.Context, state domain.JobState) (*eventstore.Claim, eventstore.Loaded[domain.Job], error) {
	if err := l.pressure.Wait(ctx); err != nil {
		return nil, eventstore.Loaded[domain.Job]{}, err
	}
	c, at, err := l.Store.NextJob(ctx, state)
	if err == nil {
		l.metrics.Claimed(c, string(state))
	}
	return c, at, err
}

// NextBatch implements eventstore.Claims.
func (l *LiveState) NextBatch(ctx context.Context, state domain.BatchState) (*eventstore.Claim, eventstore.Loaded[domain.Batch], error) {
	if err := l.pressure.Wait(ctx); err != nil {
		return nil, eventstore.Loaded[domain.Batch]{}, err
	}
	c, at, err := l.Store.NextBatch(ctx, state)
	if err == nil {
		l.metrics.Claimed(c, string(state))
	}
	return c, at, err
}

// meteredLog is the log, counted.
type meteredLog struct {
	log     eventstore.Log
	metrics *ops.Metrics
}

// Append implements eventstore.Log.
func (l meteredLog) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	begun := time.Now()
	places, err := l.log.Append(ctx, events)
	l.metrics.Appended(events, time.Since(begun), err)
	return places, err
}

// Last implements eventstore.Log.
func (l meteredLog) Last(ctx context.Context, a domain.Aggregate) (eventstore.LastEvent, error) {
	return l.log.Last(ctx, a)
}

// Read implements eventstore.Log.
func (l meteredLog) Read(ctx context.Context, o eventstore.ReadOptions) iter.Seq2[domain.Recorded, error] {
	return l.log.Read(ctx, o)
}

// Info implements eventstore.Log.
func (l meteredLog) Info(ctx context.Context) (eventstore.LogInfo, error) { return l.log.Info(ctx) }

// meteredRecords counts the effects that end in SQL or are noted there.
type meteredRecords struct {
	*record.Records
	metrics *ops.Metrics
}

// ReserveIdentifier implements daemon.Records.
func (r meteredRecords) ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (record.Identifier, error) {
	id, err := r.Records.ReserveIdentifier(ctx, job, name)
	r.metrics.Effect("identifier", err)
	return id, err
}

// RecordObject implements daemon.Records.
func (r meteredRecords) RecordObject(ctx context.Context, o record.Object) (bool, error) {
	recorded, err := r.Records.RecordObject(ctx, o)
	r.metrics.Effect("inventory", err)
	return recorded, err
}

// EndDelivery implements daemon.Records.
func (r meteredRecords) EndDelivery(ctx context.Context, key string, failure error, final bool) error {
	r.metrics.Effect("message", failure)
	return r.Records.EndDelivery(ctx, key, failure, final)
}
