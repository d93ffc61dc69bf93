package run

import (
	"context"
	"errors"
	"log/slog"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/domain"
)

// Open returns the use cases, asked for by one actor. Servers are opened when a use
// case needs them; closing ends all connections.
func Open(cfg config.Resolved, actor domain.Actor, version string, log *slog.Logger) (a *app.App, closing func() error) {
	wire.TuneMemory() // a rebuild and a replay read the whole log
	in := wire.New(cfg, log)
	in.Version = version
	return &app.App{Open: in.Resources(), Actor: actor}, in.Close
}

// InstallationOf returns the installation to which a working directory belongs, ""
// when it belongs to none yet.
func InstallationOf(workDir string) (string, error) { return store.Installation(workDir) }

// Swept is what a pass of the sweeper did.
type Swept = sweep.Summary

// Sweep makes one pass of the sweeper, beside any service that runs. With an error
// the summary is of what was done before it.
func Sweep(ctx context.Context, cfg config.Resolved, log *slog.Logger) (sum Swept, err error) {
	in := wire.New(cfg, log)
	defer func() { err = errors.Join(err, in.Close()) }()
	s, err := in.Sweeper(ctx)
	if err != nil {
		return sum, err
	}
	return s.Once(ctx)
}
