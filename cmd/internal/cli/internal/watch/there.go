package watch

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/progress"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
	"github.com/accession-ingest/accession/domain"
)

// There follows a batch of a service over HTTP, as app.App.Watch follows one of this process:
// from its first event until it is at rest, not counting rests that were over when it began.
func There(ctx context.Context, s *remote.Server, id domain.BatchID, seen func(app.Event, app.Progress)) (app.Progress, error) {
	count := progress.New(id)
	atRest := func() bool { return count.Now.State.AtRest() && count.Now.InProgress == 0 }
	follow := func(in operation.EventStream, enough func() bool) error {
		for e, err := range s.Follow(ctx, in) {
			if err != nil {
				return err
			}
			r, err := e.Recorded()
			if err != nil {
				return err
			}
			count.Add(r)
			seen(e, count.Now)
			if enough() {
				return nil
			}
		}
		return nil
	}
	if err := follow(operation.EventStream{After: "0", To: math.MaxUint64, Batch: string(id)}, func() bool { return false }); err != nil || atRest() {
		return count.Now, err
	}
	err := follow(operation.EventStream{After: strconv.FormatUint(count.Now.Seq, 10), Batch: string(id)}, atRest)
	if err == nil && !atRest() {
		err = errors.New("the stream ended before the batch did")
	}
	return count.Now, err
}
