package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Retry says how often and how patiently work is tried again. The zero value of
// each field means its default.
type Retry struct {
	// Attempts is how often at most, the first time included. 1 to 20, default 3.
	Attempts int
	// Base is the wait after the first failure; each further wait is twice as long,
	// and spread by half to either side. 1ms to 1h, default 1s.
	Base time.Duration
	// Max bounds every wait, also one that a server asks for. Base to 24h, default 1m.
	Max time.Duration

	// Failed is told of each attempt that failed, the last one with wait 0. May be nil.
	Failed func(attempt int, err error, wait time.Duration)
}

func (r Retry) withDefaults() Retry {
	set(&r.Attempts, 3)
	set(&r.Base, time.Second)
	set(&r.Max, max(time.Minute, r.Base))
	return r
}

// Validate names every field that is out of bounds, joined into one error.
func (r Retry) Validate() error {
	r = r.withDefaults()
	var faults []error
	if r.Attempts < 1 || r.Attempts > 20 {
		faults = append(faults, fmt.Errorf("fetch: the number of attempts %d is out of bounds; use 1 to 20", r.Attempts))
	}
	if r.Base < time.Millisecond || r.Base > time.Hour {
		faults = append(faults, fmt.Errorf("fetch: the first wait %s is out of bounds; use 1ms to 1h", r.Base))
	}
	if r.Max < r.Base || r.Max > 24*time.Hour {
		faults = append(faults, fmt.Errorf("fetch: the longest wait %s is out of bounds; use %s to 24h", r.Max, r.Base))
	}
	return errors.Join(faults...)
}

// Try does work until it succeeds, fails for good, has used up its attempts, or
// ctx ends. Work may succeed later when its error has a method
// Retry() (again bool, after time.Duration) that says so, as *Error has. It
// returns the last result and error, and how many attempts were made.
func Try[T any](ctx context.Context, r Retry, work func(ctx context.Context, attempt int) (T, error)) (T, int, error) {
	r = r.withDefaults()
	r.Attempts = max(r.Attempts, 1)
	waits := &waits{max: r.Max, exponential: &backoff.ExponentialBackOff{
		InitialInterval: r.Base, Multiplier: 2, RandomizationFactor: 0.5, MaxInterval: r.Max,
	}}
	attempt := 0
	var last error
	result, err := backoff.Retry(ctx, func() (T, error) {
		attempt++
		var result T
		result, last = work(ctx, attempt)
		waits.after(last)
		waits.final = waits.final || attempt == r.Attempts
		if last != nil && waits.final && r.Failed != nil {
			r.Failed(attempt, last, 0)
		}
		return result, last
	}, backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(0), backoff.WithMaxTries(uint(r.Attempts)),
		backoff.WithNotify(func(err error, wait time.Duration) {
			if r.Failed != nil {
				r.Failed(attempt, err, wait)
			}
		}))
	switch {
	case err == nil:
	case waits.final:
		err = last // rather than that the context has ended as well
	default:
		// The context ended while waiting: say so, and keep why it had to wait.
		e := ended(&Error{}, err)
		e.Message += fmt.Sprintf(" while waiting for another attempt, after %d", attempt)
		e.cause = errors.Join(err, last)
		err = e
	}
	return result, attempt, err
}

// waits gives the time between attempts: exponential, or what the server asks for
// if that is longer, never more than max.
type waits struct {
	exponential *backoff.ExponentialBackOff
	max         time.Duration
	asked       time.Duration
	final       bool // the last error will not go away
}

func (w *waits) after(err error) {
	var known interface{ Retry() (bool, time.Duration) }
	w.final, w.asked = true, 0
	if errors.As(err, &known) {
		again, after := known.Retry()
		w.final, w.asked = !again, after
	}
}

func (w *waits) NextBackOff() time.Duration {
	if w.final {
		return backoff.Stop
	}
	return min(max(w.exponential.NextBackOff(), w.asked), w.max)
}

func (w *waits) Reset() { w.exponential.Reset() }
