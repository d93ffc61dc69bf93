package run

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// Service is one process of an installation.
type Service struct {
	Config  config.Resolved
	Roles   []Role
	Log     *slog.Logger
	Version string // told to servers that we fetch from
	// Level is that of Log; nil = operators cannot change it.
	Level *slog.LevelVar
	// Getenv finds the supervisor of this process, see ops.SupervisedBy; nil = there
	// is none.
	Getenv func(name string) string
	// Ready is called once all roles run. Optional.
	Ready func()
}

// projectTime is how long the projector may take, after the relay's last pass, to
// apply what it brought.
const projectTime = 2 * time.Second

// Run opens what the roles need, runs them until ctx ends, stops them in order and
// returns nil. The error is one of opening or of closing.
func (s *Service) Run(ctx context.Context) (err error) {
	roles := make([]string, len(s.Roles))
	for i, r := range s.Roles {
		roles[i] = string(r)
	}
	wire.TuneMemory()
	w := wire.New(s.Config, s.Log, roles...)
	defer func() {
		if closed := w.Close(); err == nil {
			err = closed
		}
	}()
	show, err := s.show(ctx, w, roles)
	if err != nil {
		return err
	}
	defer show.close()
	stages, err := s.stages(ctx, w)
	if err == nil {
		err = w.Measure(ctx)
	}
	if err != nil {
		return err
	}
	hard := context.WithoutCancel(ctx)
	for _, st := range stages {
		st.start(hard)
	}
	s.Log.Info("ready", "roles", roles, "instance", s.Config.Instance)
	show.ready(ctx)
	if s.Ready != nil {
		s.Ready()
	}
	<-ctx.Done()
	show.stopping(hard)
	s.Log.Info("stopping: no new claims", "grace", s.Config.StopGrace)
	for _, st := range stages {
		st.stop()
	}
	s.unsent(w)
	s.Log.Info("stopped")
	return nil
}

// stages gives the roles in the order in which they stop. What cannot be opened
// is an error now, not later.
func (s *Service) stages(ctx context.Context, w *wire.World) ([]*stage, error) {
	if err := w.Check(ctx); err != nil {
		return nil, err
	}
	var stages []*stage
	if s.has(RoleDaemons) {
		runner, err := w.Daemons(ctx, s.Version)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s.stage(w, "daemons", runner.Run), s.stage(w, "follower", w.Follow))
	}
	if s.has(RoleSweeper) {
		sweeper, err := w.Sweeper(ctx)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s.stage(w, "sweeper", sweeper.Run))
	}
	if s.has(RoleRelay) {
		relay, err := w.Relay(ctx)
		if err != nil {
			return nil, err
		}
		stages = append(stages, s.stage(w, "relay", relay.Run))
	}
	if s.has(RoleProjector) {
		st := s.stage(w, "projector", w.Project)
		st.before = func() { s.projected(w) }
		stages = append(stages, st)
	}
	return stages, nil
}

func (s *Service) has(r Role) bool { return slices.Contains(s.Roles, r) }

// projected waits, not for long, until the tables show what the log has.
func (s *Service) projected(w *wire.World) {
	ctx, cancel := context.WithTimeout(context.Background(), projectTime)
	defer cancel()
	if err := w.CaughtUp(ctx); err != nil {
		s.Log.Info("the tables are behind the log; the next start goes on there", "error", err)
	}
}
