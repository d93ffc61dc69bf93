package run

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/eventstore"
)

// Service is one process of an installation.
type Service struct {
	Config  config.Resolved
	Roles   []Role
	Log     *slog.Logger
	Version string // sent to servers that payloads are fetched from
	// Level is that of Log; nil = operators cannot change it.
	Level *slog.LevelVar
	// Getenv finds the supervisor of this process, see ops.SupervisedBy; nil = it has
	// none.
	Getenv func(name string) string
	// Answering is called with the address at which the role http answers. Optional.
	Answering func(address string)
	// Ready is called once all roles run. Optional.
	Ready func()
}

// How long a stopping process waits for the projector to apply what the relay's last
// pass brought, and for the size of the outbox.
const (
	projectTimeout = 2 * time.Second
	outboxTimeout  = 2 * time.Second
)

// Run opens what the roles need, runs them until ctx ends, stops them in order and
// returns nil, also where ctx ends while it opens. The error is one of opening or of closing.
func (s *Service) Run(ctx context.Context) (err error) {
	wire.TuneMemory()
	in := wire.New(s.Config, s.Log, s.Roles...)
	in.Version = s.Version
	defer func() {
		if ctx.Err() != nil {
			err = nil
		}
		err = errors.Join(err, in.Close())
	}()
	status, err := s.status(ctx, in)
	if err != nil {
		return err
	}
	defer status.close()
	stages, err := s.stages(ctx, in)
	if err == nil {
		err = in.Measure(ctx)
	}
	if err != nil {
		return err
	}
	hard := context.WithoutCancel(ctx)
	for _, st := range stages {
		st.start(hard)
	}
	s.Log.Info("ready", "roles", s.Roles, "instance", s.Config.Instance)
	status.ready(ctx)
	if s.Ready != nil {
		s.Ready()
	}
	<-ctx.Done()
	status.stopping(hard)
	s.Log.Info("stopping: no new claims", "grace", s.Config.StopGrace)
	for _, st := range stages {
		st.stop()
	}
	s.logUnsent(in)
	s.Log.Info("stopped")
	return nil
}

// stages returns the roles in the order in which they stop. What cannot be opened
// is an error now, not later.
func (s *Service) stages(ctx context.Context, in *wire.Installation) (stages []*stage, err error) {
	if err := in.Check(ctx); err != nil {
		return nil, err
	}
	for _, st := range []struct {
		role   Role
		name   string
		open   func() (runner, error)
		before func()
	}{
		{RoleHTTP, "http", func() (runner, error) { return s.answers(ctx, in) }, nil},
		{RoleTransfer, "transfer", func() (runner, error) { return in.Transfer() }, nil},
		{RoleDiscover, "discover", func() (runner, error) { return in.Poller(ctx) }, nil},
		{RoleDiscover, "groups", func() (runner, error) { return in.Groups(ctx) }, nil},
		{RoleDownload, "download", func() (runner, error) { return in.Downloader(ctx) }, nil},
		{RoleReady, "ready", func() (runner, error) { return in.Readiness(ctx) }, nil},
		{RoleReady, "requester", func() (runner, error) { return in.Requester(ctx) }, nil},
		{RoleDaemons, "daemons", func() (runner, error) { return in.Daemons(ctx) }, nil},
		{RoleDaemons, "query", func() (runner, error) { return in.Answering(ctx) }, nil},
		{RoleDaemons, "mail", func() (runner, error) { return in.Mails(ctx) }, nil},
		{RoleDaemons, "daily mail", func() (runner, error) { return s.daily(ctx, in) }, nil},
		{RoleDaemons, "compute", func() (runner, error) { return in.ComputeLeader(ctx) }, nil},
		{RoleDaemons, "bulk", func() (runner, error) { return in.BulkActions(), nil }, nil},
		{RoleDaemons, "withdrawals", func() (runner, error) { return in.Withdrawals(), nil }, nil},
		{RoleDaemons, "originals", func() (runner, error) { return in.Originals(ctx) }, nil},
		{RoleDaemons, "follower", func() (runner, error) { return runFunc(in.Follow), nil }, nil},
		{RoleSweeper, "sweeper", func() (runner, error) { return in.Sweeper(ctx) }, nil},
		{RoleAuditor, "auditor", func() (runner, error) { return in.Auditor(ctx) }, nil},
		{RoleTypes, "types", func() (runner, error) { return runFunc(in.CopyByType), nil }, nil},
		{RoleRelay, "relay", func() (runner, error) { return in.Relay(ctx) }, nil},
		{RoleProjector, "projector", func() (runner, error) { return runFunc(in.Project), nil }, func() { s.awaitTables(in) }},
		{RoleDaemons, "high-water", func() (runner, error) { return runFunc(in.MarkHighWater), nil }, nil},
	} {
		if !s.has(st.role) {
			continue
		}
		r, err := st.open()
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		stages = append(stages, &stage{run: r.Run, before: st.before, restarted: func() { in.Metrics().Restarted(st.name) }, log: s.Log.With("role", st.name)})
	}
	return stages, nil
}

// answers opens the listener for people and programs.
func (s *Service) answers(ctx context.Context, in *wire.Installation) (runner, error) {
	l, err := in.HTTP(ctx)
	if err == nil && s.Answering != nil {
		s.Answering(l.Address())
	}
	return l, err
}

// daily opens the daily mail, unless the settings name no addresses.
func (s *Service) daily(ctx context.Context, in *wire.Installation) (runner, error) {
	m, err := in.Daily(ctx)
	if err != nil || m != nil {
		return m, err
	}
	return nil, nil //nolint:nilnil // there is none
}

func (s *Service) has(some ...Role) bool {
	return slices.ContainsFunc(some, func(r Role) bool { return slices.Contains(s.Roles, r) })
}

// awaitTables waits a moment for the tables to show what the log has.
func (s *Service) awaitTables(in *wire.Installation) {
	ctx, cancel := context.WithTimeout(context.Background(), projectTimeout)
	defer cancel()
	if err := in.CaughtUp(ctx); err != nil {
		s.Log.Info("the tables are behind the log; the next start goes on there", "error", err)
	}
}

// logUnsent logs how many events this process leaves in the outbox: another process's
// relay leads their shard, or none runs. They are safe there.
func (s *Service) logUnsent(in *wire.Installation) {
	if !s.has(RoleDaemons, RoleRelay, RoleSweeper) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), outboxTimeout)
	defer cancel()
	var outbox eventstore.OutboxDepth
	live, err := in.LiveState(ctx)
	if err == nil {
		outbox, err = live.Depth(ctx)
	}
	switch {
	case err != nil:
		s.Log.Info("whether events wait for the next relay is not known", "error", err)
	case outbox.Unsent > 0:
		s.Log.Warn("events wait in the outbox for the next relay; nothing is lost", "events", outbox.Unsent, "oldest", outbox.Oldest)
	}
}
