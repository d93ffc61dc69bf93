package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// EffectKey returns the key of a step of a job at a version of the job: the same
// whenever that step starts over.
func EffectKey(job domain.JobID, version int64, step string) string {
	return fmt.Sprintf("%s/%d/%s", job, version, step)
}

// The kinds of effects.
const (
	EffectStore   = "store"   // an object is stored
	EffectStorage = "storage" // a service outside stores a stored object too
	EffectRecord  = "record"  // a service outside records a stored object
)

// StoreKey returns the key of the storing of a version by a job. It has the version of
// the object, not that of the job, and stays the same when the job is requeued.
func StoreKey(job domain.JobID, version int) string {
	return EffectKey(job, int64(version), EffectStore)
}

// Effect is what is known of an effect on the world outside.
type Effect struct {
	Key   string
	Done  bool // it happened, Result is what came of it
	Begun int  // how often it was begun before it was done, this time included; above 1 it may have happened
	// Result is what FinishEffect was given first, nil while not done.
	Result json.RawMessage
	// Accepted is what AcceptEffect was given last, nil = nothing.
	Accepted json.RawMessage
	// Now is, of BeginEffect alone, the time by PostgreSQL's clock. It is the same clock for all
	// processes, whose own may differ.
	Now time.Time
}

// BeginEffect keeps the intent of an effect before it is made. If the answer is Done,
// it must not be made again.
func (r *Records) BeginEffect(ctx context.Context, key, kind string) (Effect, error) {
	row, err := change("effect/begin", func() (pgdb.BeginEffectRow, error) {
		return r.q.BeginEffect(ctx, pgdb.BeginEffectParams{Key: key, Kind: kind})
	})
	e := effectOf(pgdb.RecordEffect{Key: row.Key, State: row.State, Begun: row.Begun, Result: row.Result, Accepted: row.Accepted})
	e.Now = row.Now
	return e, wrap(err, "begin effect", key)
}

// FinishEffect keeps the result of an effect that was made; result is anything
// that JSON can hold. If it was finished before, the first result stays and is
// returned. CodeNotFound: it was never begun.
func (r *Records) FinishEffect(ctx context.Context, key string, result any) (Effect, error) {
	const op = "finish effect"
	data, err := json.Marshal(result)
	if err != nil {
		return Effect{}, wrap(err, op, key)
	}
	row, err := change("effect/finish", func() (pgdb.RecordEffect, error) {
		return r.q.FinishEffect(ctx, pgdb.FinishEffectParams{Key: key, Result: data})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = refuse(CodeNotFound, op, key, "it was never begun")
	}
	return effectOf(row), wrap(err, op, key)
}

// AcceptEffect keeps what a service outside says that will make the effect later; accepted is
// anything that JSON can hold, nil = it will not. An effect that is done stays as it is.
// CodeNotFound: it was never begun.
func (r *Records) AcceptEffect(ctx context.Context, key string, accepted any) (Effect, error) {
	const op = "accept effect"
	var data json.RawMessage
	if accepted != nil {
		var err error
		if data, err = json.Marshal(accepted); err != nil {
			return Effect{}, wrap(err, op, key)
		}
	}
	row, err := change("effect/accept", func() (pgdb.RecordEffect, error) {
		return r.q.AcceptEffect(ctx, pgdb.AcceptEffectParams{Key: key, Accepted: data})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		err = refuse(CodeNotFound, op, key, "it was never begun")
	}
	return effectOf(row), wrap(err, op, key)
}

// Effect returns what is known of an effect, found = false if it was never begun.
func (r *Records) Effect(ctx context.Context, key string) (e Effect, found bool, err error) {
	row, err := r.q.EffectByKey(ctx, key)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	return effectOf(row), err == nil, wrap(err, "read effect", key)
}

func effectOf(row pgdb.RecordEffect) Effect {
	return Effect{Key: row.Key, Done: row.State == stateDone, Begun: int(row.Begun), Result: row.Result, Accepted: row.Accepted}
}
