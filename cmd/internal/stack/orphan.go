package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// orphan is a process that is not our child, known by its id and either something that
// its command line holds or when it began: an id alone may belong to another process by
// now. A command line can change: PostgreSQL's say what they are doing.
type orphan struct {
	pid   int
	line  string
	begun string // see began
}

// alive reports whether the process still runs and is the one that was meant.
func (o orphan) alive() bool {
	if o.begun != "" {
		return began(o.pid) == o.begun
	}
	return o.line != "" && strings.Contains(commandLine(o.pid), o.line)
}

// end sends sig and, when the process is still there after stopTimeout, kills
// it; it returns when the process is gone.
func (o orphan) end(ctx context.Context, sig syscall.Signal) error {
	// The handle is taken before the process is looked at, so that the signal
	// cannot reach a newcomer with the same id.
	handle, err := os.FindProcess(o.pid)
	if err != nil || !o.alive() {
		return nil
	}
	defer handle.Release() //nolint:errcheck // nothing to do about it
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stack: end process %d: %w", o.pid, err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(stopTimeout)
	for o.alive() {
		select {
		case <-tick.C:
		case <-limit:
			if err := handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("stack: kill process %d: %w", o.pid, err)
			}
		case <-ctx.Done():
			return fmt.Errorf("stack: process %d of an earlier stack does not end: %w", o.pid, context.Cause(ctx))
		}
	}
	return nil
}

// endAll ends each of them with sig.
func endAll(ctx context.Context, orphans []orphan, sig syscall.Signal) error {
	var faults []error
	for _, o := range orphans {
		faults = append(faults, o.end(ctx, sig))
	}
	return errors.Join(faults...)
}
