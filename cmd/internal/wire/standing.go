package wire

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// RoleDaemons is the role of a process that works on batches and jobs.
const RoleDaemons = "daemons"

// maxOverdue is how many overdue attempts are counted. Normally there is none.
const maxOverdue = 1000

// Overdue implements app.EventLog.
func (in *Installation) Overdue(ctx context.Context) (int, error) {
	var log eventstore.Log
	var pool *pgxpool.Pool
	if err := openAll(ctx, into(&log, in.Log), into(&pool, in.Pool)); err != nil {
		return 0, err
	}
	limits, err := in.fileLimits(ctx)
	if err != nil {
		return 0, err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return 0, in.unavailable(app.ServerNATS, err)
	}
	return sweep.Overdue(ctx, sweep.Tables{DB: pool}, limits, domain.At(info.Now), maxOverdue)
}

// TypesLag implements app.EventLog.
func (in *Installation) TypesLag(ctx context.Context) (*standing.Types, error) {
	log, err := in.events.get(ctx, in.openLog)
	if err != nil {
		return nil, err
	}
	lag, err := log.TypesLag(ctx, in.typesConfig())
	if err != nil {
		return &standing.Types{Stream: in.cfg.NATSTypesStream, Error: err.Error()}, nil //nolint:nilerr // the status says it
	}
	if lag == nil {
		return nil, nil //nolint:nilnil // there is no such stream
	}
	return &standing.Types{Stream: in.cfg.NATSTypesStream, Events: int64(lag.Events), Seconds: lag.Age.Seconds()}, nil
}

func (in *Installation) typesConfig() jslog.TypesConfig {
	return jslog.TypesConfig{Stream: in.cfg.NATSTypesStream, Prefix: in.cfg.NATSTypesPrefix}
}

// daemons lists the daemons that have workers in this process.
func (in *Installation) daemons() (names []string) {
	if !slices.Contains(in.roles, RoleDaemons) {
		return nil
	}
	for _, d := range daemon.Daemons {
		if in.workersOf(d.Name) > 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// workersOf returns how many workers a daemon has in this process, if it runs here.
func (in *Installation) workersOf(name string) (n int) {
	if n, set := in.cfg.Workers[name]; set {
		return n
	}
	for _, d := range daemon.Daemons {
		if d.Name == name {
			n = d.Workers
		}
	}
	return n
}
