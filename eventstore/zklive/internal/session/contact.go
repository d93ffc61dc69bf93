package session

import (
	"sync"
	"sync/atomic"
	"time"
)

// contact knows when the last request was sent that a server has answered, and so until
// when no server ends the session. The clock is the monotonic one of this process.
type contact struct {
	granted atomic.Int64 // nanoseconds that the server lets the session live without requests

	mu     sync.Mutex
	last   time.Time
	timer  *time.Timer
	silent chan struct{}
	cut    func() // called when silent is closed
}

// newContact returns the contact of a session that lives so long. cut is called each time
// when there was none for too long.
func newContact(lives time.Duration, cut func()) *contact {
	c := &contact{last: time.Now(), silent: make(chan struct{}), cut: cut}
	c.granted.Store(int64(lives))
	c.timer = time.AfterFunc(c.left(), c.expire)
	return c
}

// left returns how long the session certainly lives without another answer, less a tenth
// of its time, in which what was begun under it can end.
func (c *contact) left() time.Duration {
	lives := time.Duration(c.granted.Load())
	return time.Until(c.last.Add(lives - lives/10))
}

// answered notes that a server has answered what was sent at a time.
func (c *contact) answered(sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !sent.After(c.last) {
		return
	}
	c.last = sent
	left := c.left()
	c.timer.Reset(max(left, 0))
	if left > 0 && Closed(c.silent) {
		c.silent = make(chan struct{})
	}
}

// expire closes silent, if there was no answer meanwhile.
func (c *contact) expire() {
	c.mu.Lock()
	due := c.left() <= 0 && !Closed(c.silent)
	if due {
		close(c.silent)
	}
	c.mu.Unlock()
	if due {
		c.cut()
	}
}

// now returns a channel that is closed as soon as the session may have ended.
func (c *contact) now() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

func (c *contact) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
}

// Closed reports whether a channel is closed that only closing makes ready.
func Closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
