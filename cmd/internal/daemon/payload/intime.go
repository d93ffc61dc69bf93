package payload

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/store"
)

// storeRate is the rate in bytes per second at which an object store is at least
// expected to take and to return objects, after the time of a step.
const storeRate = 1 << 20

// FileBytes is how many bytes more each file of an object counts as: writing, syncing and
// checking it takes at most a tenth of a second beside its content.
const FileBytes = storeRate / 10

// week is the longest time that one use of an object store may take.
const week = 7 * 24 * time.Hour

// InTime calls use, which moves some bytes to or from an object store: with a deadline
// after which the store counts as broken. That is no fault of the job, which waits.
func (s *Source) InTime(ctx context.Context, bytes int64, op, key string, use func(context.Context) error) error {
	limit := s.StepTimeout + time.Duration(min(bytes/storeRate, int64(week/time.Second)))*time.Second
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := use(inTime)
	if err != nil && inTime.Err() != nil && ctx.Err() == nil {
		err = &store.Error{Code: store.CodeBroken, Op: op, Key: key,
			Hint: "the object store did not finish within " + limit.String() + "; see whether it answers", Err: err}
	}
	return err
}
