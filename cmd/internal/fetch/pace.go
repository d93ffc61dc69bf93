package fetch

import (
	"io"
	"sync"
	"time"
)

// pace reads from a server that must keep a minimum rate over each window. The
// clock runs only while a Read waits, so that a slow disk is not taken for a slow
// server. For one reader at a time.
type pace struct {
	r      io.Reader
	need   int64 // bytes in each window, 0 = any rate
	window time.Duration
	slow   func() // ends a Read that waits; called at most once

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool
	since   time.Time     // when the Read, or the window within it, began
	left    time.Duration // of the window
	got     int64         // in the window
	ended   bool
}

// newPace watches r; rate is in bytes per second, 0 = any.
func newPace(r io.Reader, rate int64, window time.Duration, slow func()) *pace {
	p := &pace{r: r, window: window, left: window, slow: slow}
	if rate > 0 {
		p.need = max(int64(float64(rate)*window.Seconds()), 1)
	}
	return p
}

func (p *pace) Read(b []byte) (int, error) {
	if p.need == 0 {
		return p.r.Read(b)
	}
	p.arm()
	n, err := p.r.Read(b)
	p.settle(int64(n))
	return n, err
}

func (p *pace) arm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting, p.since = true, time.Now()
	if p.timer == nil {
		p.timer = time.AfterFunc(p.left, p.expire)
	} else {
		p.timer.Reset(p.left)
	}
}

// settle accounts for a Read that has returned.
func (p *pace) settle(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = false
	p.timer.Stop()
	p.got += n
	if p.left -= time.Since(p.since); p.left <= 0 {
		p.close()
	}
}

// expire runs when the window ends while a Read waits.
func (p *pace) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The Read may have come back, and another begun, while this was on its way.
	if !p.waiting || time.Since(p.since) < p.left {
		return
	}
	p.close()
	p.since = time.Now()
	if !p.ended {
		p.timer.Reset(p.left)
	}
}

// close judges the window and begins the next.
func (p *pace) close() {
	if p.got < p.need && !p.ended {
		p.ended = true
		p.slow()
	}
	p.got, p.left = 0, p.window
}
