package run

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/compute"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// ComputeWorker says how a worker of the compute queue works.
type ComputeWorker struct {
	Datasets []string // that it serves, none = all
	Exec     string   // the command, with {in} and {out}
	Timeout  time.Duration
	Memory   int64  // bytes, see [compute.Worker]
	Cache    string // a directory, "" = none
	CacheMax int64  // bytes in it
	Dir      string // "" = a directory of the system's for temporary files
	Parallel int
	Profile  string // under whose rules inputs are fetched, "" = of none
	Version  string
}

// Compute works on entries of the compute queue until ctx ends.
func Compute(ctx context.Context, cfg config.Resolved, log *slog.Logger, o ComputeWorker) (err error) {
	in := wire.New(cfg, log)
	in.Version = o.Version
	defer func() { err = errors.Join(err, in.Close()) }()
	w := &compute.Worker{Datasets: o.Datasets, Exec: o.Exec, Timeout: o.Timeout, Memory: o.Memory, Parallel: o.Parallel}
	if w.Dir, err = filepath.Abs(o.Dir); o.Dir == "" {
		w.Dir, err = os.MkdirTemp("", "accession-compute-")
		defer os.RemoveAll(w.Dir) //nolint:errcheck // it is empty but for what a killed command has left
	}
	if err != nil {
		return err
	}
	if o.Cache != "" {
		if w.Cache, err = compute.OpenCache(o.Cache, o.CacheMax); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Cache.Close()) }()
	}
	if err := in.ComputeWorker(ctx, w, o.Profile); err != nil {
		return err
	}
	log.Info("ready", "datasets", o.Datasets, "parallel", o.Parallel)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return in.Follow(gctx) })
	g.Go(func() error { return w.Run(gctx) })
	return g.Wait()
}
