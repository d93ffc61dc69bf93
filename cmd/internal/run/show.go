package run

import (
	"context"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// show is what operators and the supervisor see of a service: it is starting until
// ready is called, and not ready any more from stopping on.
type show struct {
	s          *Service
	w          *wire.World
	health     *ops.Health
	supervisor ops.Supervisor
	close      func()
	watch      sync.WaitGroup
}

func (s *Service) show(ctx context.Context, w *wire.World, roles []string) (*show, error) {
	getenv := s.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	sh := &show{s: s, w: w, health: ops.NewHealth(w.Checks(s.has(RoleDaemons))...), supervisor: ops.SupervisedBy(getenv)}
	stop := func() {}
	w.Metrics().Build(s.Version, s.Config.Instance)
	if s.Config.ListenOps != config.Off {
		server := &ops.Server{Metrics: w.Metrics(), Health: sh.health, Level: s.Level, Pprof: s.Config.OpsPprof, Log: s.Log,
			About: ops.About{Version: s.Version, Instance: s.Config.Instance, Roles: roles}}
		at, closing, err := server.Listen(ctx, s.Config.ListenOps)
		if err != nil {
			return nil, &app.Error{Kind: app.Failed, What: "listen for operators", Err: err,
				Hint: "the setting listen_ops says where; each process on a machine needs its own port, or " + config.Off}
		}
		s.Log.Info("operators are answered", "address", at)
		stop = closing
	}
	watching, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	sh.watch.Go(func() { sh.supervisor.Watch(watching, func() { w.Alive(watching) }) })
	sh.close = func() {
		giveUp()
		sh.watch.Wait()
		stop()
	}
	return sh, nil
}

// ready lets the checks decide, and tells the supervisor.
func (sh *show) ready(ctx context.Context) {
	sh.health.Start()
	sh.tell(ctx, "READY=1")
}

func (sh *show) stopping(ctx context.Context) {
	sh.health.Stop()
	sh.tell(ctx, "STOPPING=1")
}

func (sh *show) tell(ctx context.Context, state string) {
	if err := sh.supervisor.Tell(ctx, state); err != nil {
		sh.s.Log.Warn("the supervisor does not listen", "error", err)
	}
}
