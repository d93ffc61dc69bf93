package limits

import (
	"context"
	"sync"
	"time"
)

// How pauses are read.
const (
	restsEvery = 2 * time.Second  // what was read is relied on so long
	restsLater = 10 * time.Second // the same, after a read that has failed
	restsTime  = time.Second      // that a read may take
)

// Rests returns the servers that have asked to be left alone, and for how long yet.
type Rests func(ctx context.Context) (map[string]time.Duration, error)

// resting knows what [Rests] has returned a moment ago. While that returns errors the pauses
// that are known last, and others are not obeyed.
type resting struct {
	read Rests // nil = no server is left alone

	mu    sync.Mutex
	until map[string]time.Time
	again time.Time // when to read them
}

// has reports whether a server is to be left alone now.
func (r *resting) has(ctx context.Context, server string) bool {
	if r.read == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); !now.Before(r.again) {
		ctx, cancel := context.WithTimeout(ctx, restsTime)
		defer cancel()
		left, err := r.read(ctx)
		r.again = now.Add(restsLater)
		if err == nil {
			r.again, r.until = now.Add(restsEvery), make(map[string]time.Time, len(left))
			for name, pause := range left {
				r.until[name] = now.Add(pause)
			}
		}
	}
	return time.Now().Before(r.until[server])
}
