package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/wire"
)

// Pauses before a role that failed is started again.
const firstPause, longestPause = 200 * time.Millisecond, 10 * time.Second

// stage is one role of a running service.
type stage struct {
	name   string
	run    func(context.Context) error
	before func() // called before it is stopped, nil = nothing to do
	again  func() // called when it ended by itself
	log    *slog.Logger

	cancel context.CancelFunc
	done   chan struct{}
}

func (s *Service) stage(w *wire.World, name string, run func(context.Context) error) *stage {
	return &stage{name: name, run: run, again: func() { w.Metrics().Restarted(name) }, log: s.Log.With("role", name), done: make(chan struct{})}
}

func (st *stage) start(ctx context.Context) {
	ctx, st.cancel = context.WithCancel(ctx)
	go func() {
		defer close(st.done)
		st.keep(ctx)
	}()
}

// keep runs the role until it is stopped.
func (st *stage) keep(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		begun := time.Now()
		err := st.run(ctx)
		if ctx.Err() != nil {
			if err != nil {
				st.log.Warn("did not end well", "error", err)
			}
			return
		}
		if time.Since(begun) > time.Minute {
			pause = firstPause
		}
		st.again()
		st.log.Error("ended by itself; it is started again", "error", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// stop ends the role and returns when nothing of it runs any more.
func (st *stage) stop() {
	if st.before != nil {
		st.before()
	}
	st.cancel()
	<-st.done
	st.log.Debug("role stopped")
}
