package fetch

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// drip is a server that sends piece bytes every interval, forever or size in all.
type drip struct {
	interval time.Duration
	piece    int
	size     int
	ended    chan struct{}
}

func (d *drip) Read(p []byte) (int, error) {
	if d.size == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(d.interval):
		n := min(d.piece, d.size, len(p))
		d.size -= n
		return n, nil
	case <-d.ended:
		return 0, errTooSlow
	}
}

func (d *drip) read(rate int64, window, pause time.Duration) (int64, error) {
	d.ended = make(chan struct{})
	p := newPace(d, rate, window, func() { close(d.ended) }) // a second call panics
	var total int64
	buf := make([]byte, 64)
	for {
		n, err := p.Read(buf)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		<-time.After(pause) // the reader's own work
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		server drip
		rate   int64
		pause  time.Duration
		slow   bool
	}{
		{"fast", drip{interval: time.Millisecond, piece: 64, size: 6400}, 1000, 0, false},
		{"just fast enough", drip{interval: 100 * time.Millisecond, piece: 11, size: 11000}, 100, 0, false},
		{"just too slow", drip{interval: 100 * time.Millisecond, piece: 9, size: 11000}, 100, 0, true},
		{"one byte a window less", drip{interval: 100 * time.Millisecond, piece: 1, size: 1000}, 100, 0, true},
		{"silent", drip{interval: time.Hour, piece: 64, size: 64}, 1, 0, true},
		{"any rate", drip{interval: time.Hour, piece: 1, size: 3}, 0, 0, false},
		{"a slow reader is not the server's fault", drip{interval: time.Millisecond, piece: 64, size: 640}, 1000, time.Hour, false},
		{"small and done", drip{interval: time.Second, piece: 3, size: 3}, 1 << 20, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				size := c.server.size
				n, err := c.server.read(c.rate, 10*time.Second, c.pause)
				if c.slow != errors.Is(err, errTooSlow) || !c.slow && n != int64(size) {
					t.Errorf("%d of %d bytes, %v", n, size, err)
				}
			})
		})
	}
}

// A silent server is ended after one window of silence, or two when the first
// still had bytes; whatever came before.
func TestPaceEndsSilence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.IntRange(0, 40).Draw(rt, "pieces")
		interval := time.Duration(rapid.IntRange(1, 900).Draw(rt, "interval")) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			const window = 10 * time.Second
			var last time.Time
			d := &drip{interval: interval, piece: 64, size: 64 * pieces}
			ended := make(chan struct{})
			p := newPace(readerFunc(func(b []byte) (int, error) {
				if d.size > 0 {
					d.ended = ended
					n, err := d.Read(b)
					last = time.Now()
					return n, err
				}
				<-ended
				return 0, errTooSlow
			}), 1, window, func() { close(ended) })
			last = time.Now()
			buf := make([]byte, 64)
			for {
				if _, err := p.Read(buf); err != nil {
					break
				}
			}
			if silent := time.Since(last); silent > 2*window {
				t.Errorf("ended after %s of silence", silent)
			}
		})
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
