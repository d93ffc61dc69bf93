package run

import (
	"context"
	"log/slog"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// Swept tells what a pass of the sweeper did.
type Swept = sweep.Summary

// Sweep makes one pass of the sweeper, beside any service that runs. With an error
// the summary tells how far it came.
func Sweep(ctx context.Context, cfg config.Resolved, log *slog.Logger) (sum Swept, err error) {
	w := wire.New(cfg, log)
	defer func() {
		if closed := w.Close(); err == nil {
			err = closed
		}
	}()
	s, err := w.Sweeper(ctx)
	if err != nil {
		return sum, err
	}
	return s.Once(ctx)
}
