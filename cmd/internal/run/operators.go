package run

import (
	"context"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// status is what operators and the supervisor see of a service: it is starting until
// ready is called, and not ready any more from stopping on.
type status struct {
	s          *Service
	health     *ops.Health
	supervisor ops.Supervisor
	close      func()
}

// status begins to answer operators and the supervisor's watchdog.
func (s *Service) status(ctx context.Context, in *wire.Installation) (*status, error) {
	getenv := s.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	st := &status{s: s, health: ops.NewHealth(in.Checks(s.has(RoleDaemons))...), supervisor: ops.SupervisedBy(getenv)}
	stop := func() {}
	in.Metrics().Build(s.Version, s.Config.Instance)
	if s.Config.ListenOps != config.Off {
		server := &ops.Server{Metrics: in.Metrics(), Health: st.health, Level: s.Level, Pprof: s.Config.OpsPprof, Log: s.Log,
			About: ops.About{Version: s.Version, Instance: s.Config.Instance, Roles: s.Roles}}
		at, closing, err := server.Listen(ctx, s.Config.ListenOps)
		if err != nil {
			return nil, &app.Error{Kind: app.Failed, What: "listen for operators", Err: err,
				Hint: "the setting listen_ops says where; each process on a machine needs its own port, or " + config.Off}
		}
		s.Log.Info("operators are answered", "address", at)
		stop = closing
	}
	watched, end := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() { st.supervisor.Watch(watched, func() { in.Alive(watched) }) })
	st.close = func() {
		end()
		watch.Wait()
		stop()
	}
	return st, nil
}

// ready lets the checks decide, and notifies the supervisor.
func (st *status) ready(ctx context.Context) {
	st.health.Start()
	st.notify(ctx, "READY=1")
}

func (st *status) stopping(ctx context.Context) {
	st.health.Stop()
	st.notify(ctx, "STOPPING=1")
}

func (st *status) notify(ctx context.Context, state string) {
	if err := st.supervisor.Tell(ctx, state); err != nil {
		st.s.Log.Warn("the supervisor does not listen", "error", err)
	}
}
