package domain

import (
	"errors"
	"time"
)

// Limits bound the attempts of one step of a file, downloading or processing.
// All durations count whole milliseconds.
type Limits struct {
	Max      int           // attempts that may be started, at least 1
	Timeout  time.Duration // an attempt is overdue when it has taken longer than this
	Delay    time.Duration // from the first failure to the next attempt, doubled after each further one; 0 = at once
	MaxDelay time.Duration // the longest delay, 0 = no bound
}

// FileLimits are the limits of both steps.
type FileLimits struct{ Download, Processing Limits }

// Check names every fault of the limits.
func (l Limits) Check() error {
	var faults []error
	if l.Max < 1 {
		faults = append(faults, errors.New("the maximum of attempts is at least 1"))
	}
	if l.Timeout < 0 || l.Delay < 0 || l.MaxDelay < 0 {
		faults = append(faults, errors.New("timeouts and delays are not negative"))
	}
	return errors.Join(faults...)
}

// Exhausted reports whether no attempt is left after so many.
func (l Limits) Exhausted(attempts int) bool { return attempts >= l.Max }

// Wait gives the time from the failure of an attempt, counted from 1, to the
// next.
func (l Limits) Wait(attempt int) time.Duration {
	wait := l.Delay
	for n := 1; n < attempt && wait > 0 && wait < longest; n++ {
		wait *= 2
	}
	if l.MaxDelay > 0 {
		wait = min(wait, l.MaxDelay)
	}
	return wait
}

// longest keeps doubling from running over.
const longest = 365 * 24 * time.Hour

// Overdue reports whether an attempt has taken longer than the timeout. Both
// times are the log's, which rounds both down: it is never early.
func (l Limits) Overdue(started, now Time) bool { return now.Sub(started.Time) > l.Timeout }
