package drops

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// drip is a body of which so many bytes come after each pause.
type drip struct {
	bytes int
	pause time.Duration
}

func (d drip) Read(p []byte) (int, error) {
	<-time.After(d.pause)
	return min(len(p), d.bytes), nil
}

// TestPatience: a slow file is read for as long as it takes, a dripping one is not, and each
// read has its own deadline.
func TestPatience(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body  drip
		total int64
		ok    bool
	}{
		{drip{8 << 10, 6 * time.Second}, 1 << 20, true},
		{drip{1, 10 * time.Second}, 1 << 20, false},
		{drip{512, time.Second}, 1 << 20, false},
		{drip{2048, time.Second}, 1 << 20, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			var deadline time.Time
			p := &patient{body: c.body, begun: begun, deadline: func(d time.Time) error { deadline = d; return nil }}
			_, err := io.CopyN(io.Discard, p, c.total)
			e, known := errors.AsType[*app.Error](err)
			if c.ok != (err == nil) || !c.ok && (!known || e.Kind != app.Invalid) {
				t.Errorf("%+v: %v", c.body, err)
			}
			if took := time.Since(begun); !c.ok && took > 2*underWay {
				t.Errorf("%+v: it was given up after %v", c.body, took)
			}
			if left := time.Until(deadline); left > idleBody {
				t.Errorf("%+v: the last read may take %v", c.body, left)
			}
		})
	}
}
