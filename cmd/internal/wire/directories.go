package wire

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/groups"
	"github.com/accession-ingest/accession/cmd/internal/daemon/download"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/space"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/poll"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// Poller returns what polls open directories.
func (in *Installation) Poller(ctx context.Context) (*poll.Poller, error) {
	p := &poll.Poller{Permits: in.cfg.HostPermits, Log: in.log.With("role", "discover")}
	var live *LiveState
	err := openAll(ctx, into(&live, in.LiveState), into(&p.Files, in.FileHandler), into(&p.Tables, in.DB), into(&p.Records, in.Records),
		into(&p.Profiles, in.profileSet), into(&p.Client, in.client))
	p.Settings, p.Hosts = live, live
	return p, err
}

// Downloader returns what fetches the files of open directories.
func (in *Installation) Downloader(ctx context.Context) (*download.Downloader, error) {
	d := &download.Downloader{Permits: in.cfg.HostPermits, SpaceReserve: int64(in.cfg.SpaceReserve), Workers: in.workersOf(domain.DaemonJobDownloading),
		Grace: in.cfg.StopGrace, Delay: cmp.Or(in.cfg.FileRetryDelay, in.cfg.RetryDelay), Most: in.cfg.RetryMaxDelay, Log: in.log.With("role", "download")}
	if in.cfg.FileRetryDelay > 0 {
		d.Most = cmp.Or(in.cfg.FileRetryMaxDelay, week)
	}
	var live *LiveState
	var client *fetch.Client
	var records *record.Records
	err := openAll(ctx, into(&live, in.LiveState), into(&records, in.Records), into(&d.Files, in.FileHandler), into(&d.Tables, in.DB), into(&d.Profiles, in.profileSet), into(&client, in.client))
	d.Hosts, d.Pauses, d.Source = live, records, &payload.Source{Client: client}
	d.Space = space.NewFiles(live, func(name string) string {
		p, _ := d.Profiles.Get(name) // of a profile that is gone: the installation's
		return p.WorkingDir
	})
	d.Limits = func(ctx context.Context, profile string) (domain.Limits, error) {
		all, err := in.fileLimits(ctx)
		return all.Of(profile).Download, err
	}
	d.Work = (&works{in: in, by: map[string]*store.Work{}}).of
	return d, err
}

// Groups returns what makes deposits of the groups of datasets.
func (in *Installation) Groups(ctx context.Context) (*groups.Depositor, error) {
	g := &groups.Depositor{App: &app.App{Open: in.Resources(), Actor: domain.DaemonActor(groups.Name)}, Interval: in.cfg.ReadyInterval, Log: in.log.With("role", "discover")}
	var live *LiveState
	err := openAll(ctx, into(&live, in.LiveState), into(&g.Files, in.FileHandler), into(&g.Tables, in.DB), into(&g.Records, in.Records))
	g.Settings = live
	return g, err
}

// week is longer than any pause.
const week = 7 * 24 * time.Hour

// works are the working directories that profiles name, opened once.
type works struct {
	in *Installation
	mu sync.Mutex
	by map[string]*store.Work
}

// of opens the working directory that a profile names, "" = that of the installation.
func (w *works) of(ctx context.Context, dir string) (*store.Work, error) {
	if dir == "" {
		return w.in.Work(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if work, opened := w.by[dir]; opened {
		return work, nil
	}
	work, err := store.OpenWork(dir, w.in.cfg.Instance)
	if err != nil {
		return nil, failed("open a working directory", err, "working_dir of a profile names it: "+dir)
	}
	w.by[dir] = work
	return work, nil
}
