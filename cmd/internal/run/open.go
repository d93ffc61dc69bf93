package run

import (
	"log/slog"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/domain"
)

// Open gives the use cases, asked for by one actor. Servers are opened when a use
// case needs them; closing ends all connections.
func Open(cfg config.Resolved, actor domain.Actor, log *slog.Logger) (a *app.App, closing func() error) {
	wire.TuneMemory() // a rebuild and a replay read the whole log
	w := wire.New(cfg, log)
	return &app.App{Open: w.Resources(), Actor: actor}, w.Close
}

// InstallationOf tells to which installation a working directory belongs, "" when to
// none yet.
func InstallationOf(workDir string) (string, error) { return store.Installation(workDir) }
