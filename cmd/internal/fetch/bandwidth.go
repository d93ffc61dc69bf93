package fetch

import (
	"context"
	"io"

	"golang.org/x/time/rate"
)

// burst is how many bytes are read at once where a bandwidth is kept, and so by how many it is
// exceeded at most.
const burst = 64 << 10

// newBandwidth returns the limit of all bodies together, nil = there is none.
func newBandwidth(perSecond int64) *rate.Limiter {
	if perSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), burst)
}

// limited reads no faster than a limit lets all its readers together.
type limited struct {
	io.Reader
	ctx   context.Context
	limit *rate.Limiter
}

// within returns a reader that keeps a limit, which may be nil. What it waits does not count for
// the rate that the reader below watches.
func within(ctx context.Context, r io.Reader, limit *rate.Limiter) io.Reader {
	if limit == nil {
		return r
	}
	return &limited{r, ctx, limit}
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p[:min(len(p), burst)])
	if n > 0 {
		if l.limit.WaitN(l.ctx, n) != nil { // it would be longer than the request may take
			<-l.ctx.Done()
			err = l.ctx.Err()
		}
	}
	return n, err
}
