package app

import (
	"context"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
)

// Timeout is how long attempts of a kind may take before a sweep ends them.
type Timeout struct {
	Attempt string        `json:"attempt"` // download or processing
	Seconds float64       `json:"seconds"`
	Source  string        `json:"source"`                    // see [setting.Choice]
	Served  []float64     `json:"service_seconds,omitempty"` // in the configurations of processes that serve, ascending
	Own     ConfiguredFor `json:"configuration"`             // of this process
}

// ConfiguredFor is a duration of this process's configuration.
type ConfiguredFor struct {
	Key     string  `json:"key"`
	Seconds float64 `json:"seconds"`
	Origin  string  `json:"origin"` // default, file …, environment …, flag
}

// Timeouts are how long attempts at files may take.
type Timeouts struct {
	Version  int64     `json:"version"` // of the installation's setting, 0 = it was never set
	Timeouts []Timeout `json:"timeouts"`
}

// Timeouts shows how long attempts at files may take, and what says so.
func (a *App) Timeouts(ctx context.Context) (t Timeouts, err error) {
	defer Explained(&err, "show the timeouts")
	return a.Open.Timeouts(ctx)
}

// SetTimeouts sets, for every process of the installation, how long attempts at files
// may take; what t does not name stays as it is.
func (a *App) SetTimeouts(ctx context.Context, t domain.Timeouts, why string) (c Changed, err error) {
	defer Explained(&err, "set the timeouts")
	if _, err := required("a change of timeouts", codeRequested, why); err != nil {
		return c, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	res, err := handler.Timeouts(ctx, t, strings.TrimSpace(why), a.Meta())
	if err != nil {
		return c, err
	}
	c = Changed{Target: target.Of(res.State.Aggregate()), Version: res.State.Version, From: res.Before.Timeouts.String(), State: res.State.Timeouts.String(), DryRun: a.DryRun}
	c.add("every sweep uses them from its next pass on, also for attempts that are under way")
	return c, nil
}
