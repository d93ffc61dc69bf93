package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal gives a context that ends, with cause errInterrupted, at the first
// SIGINT or SIGTERM. The second one ends the program at once: what was under way
// is found and finished by the next start.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n > 0 {
					os.Exit(exitInterrupted)
				}
				cancel(errInterrupted)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel(nil)
	}
}
