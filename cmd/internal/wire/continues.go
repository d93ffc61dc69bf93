package wire

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/projections"
)

// continues refuses a log that is not the one that the tables tell of, or that lost
// events: whoever wrote to it would take the places of what `accession restore log`
// can put back. While the log or the tables cannot be asked, nothing is known.
func (w *World) continues(ctx context.Context) error {
	pool, err := w.Pool(ctx)
	if err != nil {
		return nil //nolint:nilerr // who needs the tables finds that out
	}
	err = projections.Continues(ctx, pool, func(ctx context.Context) (projections.StreamInfo, error) {
		log, err := w.Log(ctx)
		if err != nil {
			return projections.StreamInfo{}, err
		}
		info, err := log.Info(ctx)
		return projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last}, err
	})
	var other *projections.StreamError
	if errors.As(err, &other) {
		return failed("write to the log", other, "deposits are taken and wait; docs/restore.md has the steps")
	}
	return nil
}
