package wire

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/eventstore"
)

// RoleSweeper is the role of a process that ends overdue attempts.
const RoleSweeper = "sweeper"

// timeouts are how long attempts at files may take now.
type timeouts struct {
	version              int64 // of the installation's setting, 0 = it was never set
	download, processing setting.Choice
}

// timeouts asks the installation, so that all sweeps end the same attempts: its setting, and
// the processes that serve, by what they wrote of themselves when they began.
func (in *Installation) timeouts(ctx context.Context) (t timeouts, err error) {
	live, err := in.LiveState(ctx)
	if err != nil {
		return t, err
	}
	at, err := live.Setting(ctx, domain.SettingTimeouts, domain.TimeoutsFiles)
	if err != nil {
		return t, err
	}
	workers, err := live.Workers(ctx)
	if err != nil {
		return t, err
	}
	var download, processing []time.Duration
	duration := func(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }
	for _, w := range workers {
		if w.Timeouts != nil {
			download = append(download, duration(w.Timeouts.DownloadSeconds))
			processing = append(processing, duration(w.Timeouts.ProcessingSeconds))
		}
	}
	set := at.State.Timeouts
	return timeouts{version: at.State.Version,
		download:   setting.ChooseTimeout(set.Download(0), download, in.cfg.DownloadTimeout),
		processing: setting.ChooseTimeout(set.Processing(0), processing, in.cfg.ProcessingTimeout)}, nil
}

// notes are what operators should know of them.
func (t timeouts) notes() []string {
	return slices.DeleteFunc([]string{t.download.Note("download"), t.processing.Note("processing")}, func(s string) bool { return s == "" })
}

// servedTimeouts returns what this process lets others know of its configuration, nil =
// nothing, because it neither works on files nor sweeps.
func (in *Installation) servedTimeouts() *eventstore.FileTimeouts {
	if !slices.Contains(in.roles, RoleDaemons) && !slices.Contains(in.roles, RoleSweeper) {
		return nil
	}
	return &eventstore.FileTimeouts{DownloadSeconds: in.cfg.DownloadTimeout.Seconds(), ProcessingSeconds: in.cfg.ProcessingTimeout.Seconds()}
}

// shownTimeouts returns the timeouts as operators see them.
func (in *Installation) shownTimeouts(ctx context.Context) (shown app.Timeouts, err error) {
	t, err := in.timeouts(ctx)
	if err != nil {
		return shown, err
	}
	shown.Version = t.version
	for _, one := range []struct {
		attempt string
		setting.Choice
		own time.Duration
	}{{"download", t.download, in.cfg.DownloadTimeout}, {"processing", t.processing, in.cfg.ProcessingTimeout}} {
		key := one.attempt + "_timeout"
		row := app.Timeout{Attempt: one.attempt, Seconds: one.Timeout.Seconds(), Source: one.Source,
			Own: app.ConfiguredFor{Key: key, Seconds: one.own.Seconds(), Origin: in.from[key]}}
		for _, d := range one.Served {
			row.Served = append(row.Served, d.Seconds())
		}
		shown.Timeouts = append(shown.Timeouts, row)
	}
	return shown, nil
}
