package run

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// stage is one role of a running service.
type stage struct {
	run       func(context.Context) error
	before    func() // called before it is stopped; nil = nothing
	restarted func() // called when it ended by itself
	log       *slog.Logger

	cancel  context.CancelFunc
	running sync.WaitGroup
}

// runner runs until its context ends.
type runner interface {
	Run(ctx context.Context) error
}

// runFunc makes a function a runner.
type runFunc func(context.Context) error

// Run implements runner.
func (f runFunc) Run(ctx context.Context) error { return f(ctx) }

func (st *stage) start(ctx context.Context) {
	ctx, st.cancel = context.WithCancel(ctx)
	st.running.Go(func() { st.keep(ctx) })
}

// Pauses before a role that failed is started again.
const firstPause, longestPause = 200 * time.Millisecond, 10 * time.Second

// keep runs the role until it is stopped, and starts it again when it ends by itself.
func (st *stage) keep(ctx context.Context) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: firstPause, Multiplier: 2, MaxInterval: longestPause}
	for {
		begun := time.Now()
		err := st.run(ctx)
		if ctx.Err() != nil {
			if err != nil {
				st.log.Warn("did not end well", "error", err)
			}
			return
		}
		if time.Since(begun) > time.Minute {
			pauses.Reset()
		}
		pause := pauses.NextBackOff()
		st.restarted()
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
	st.running.Wait()
	st.log.Debug("role stopped")
}
