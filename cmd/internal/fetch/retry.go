package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry says how often work is tried, and how long the pauses are. The zero value of
// each field means its default.
type Retry struct {
	// Attempts is the largest number of attempts, the first included. Default 3.
	Attempts int
	// Base is the pause after the first failure. Each further pause is twice as long,
	// spread by half to either side, and at most a minute or Base. Default 1s.
	Base time.Duration
	// Failed is called after each attempt that failed, with pause 0 after the last.
	Failed func(attempt int, err error, pause time.Duration)
}

// Try calls work until it succeeds, fails for good, has used up its attempts, or ctx
// ends, and returns its last error. Another attempt may help when the error has a
// method Retry() (again bool, after time.Duration) that says so, as *Error has.
func Try(ctx context.Context, r Retry, work func() error) error {
	attempts, base := cmp.Or(r.Attempts, 3), cmp.Or(r.Base, time.Second)
	longest := max(time.Minute, base)
	pauses := &backoff.ExponentialBackOff{InitialInterval: base, Multiplier: 2, RandomizationFactor: 0.5, MaxInterval: longest}
	for attempt := 1; ; attempt++ {
		err := work()
		if err == nil {
			return nil
		}
		var pause time.Duration
		again, after := MayRetry(err)
		if again = again && attempt < attempts; again {
			pause = min(max(pauses.NextBackOff(), after), longest)
		}
		r.Failed(attempt, err, pause)
		if !again {
			return err
		}
		if cause := sleep(ctx, pause); cause != nil {
			e := ended("", cause)
			e.Message += fmt.Sprintf(" while waiting for another attempt, after %d", attempt)
			e.cause = errors.Join(cause, err) // why it waited as well
			return e
		}
	}
}

// MayRetry reports whether another attempt may help against an error, and how long
// the server asks to wait before it (0 = it does not say). An error without a method
// Retry is final.
func MayRetry(err error) (again bool, after time.Duration) {
	var known interface{ Retry() (bool, time.Duration) }
	if errors.As(err, &known) {
		return known.Retry()
	}
	return false, 0
}

// sleep waits; it returns the cause when ctx ended meanwhile.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
