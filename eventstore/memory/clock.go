package memory

import (
	"slices"
	"sync"
	"time"
)

// Clock returns the time and runs functions later. It measures the delays of Release.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d.
	AfterFunc(d time.Duration, f func())
}

type systemClock struct{}

func (systemClock) Now() time.Time                      { return time.Now() }
func (systemClock) AfterFunc(d time.Duration, f func()) { time.AfterFunc(d, f) }

// ManualClock is a Clock that only Advance moves.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Time
	calls []call
}

type call struct {
	due time.Time
	f   func()
}

// NewManualClock returns a clock whose time is now.
func NewManualClock(now time.Time) *ManualClock { return &ManualClock{now: now} }

// Now implements Clock.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements Clock; f is called by Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call{c.now.Add(d), f})
}

// Advance moves the clock on and returns when all that fell due was called.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []call
	c.calls = slices.DeleteFunc(c.calls, func(k call) bool {
		if k.due.After(c.now) {
			return false
		}
		due = append(due, k)
		return true
	})
	c.mu.Unlock()
	for _, k := range due {
		k.f()
	}
}
