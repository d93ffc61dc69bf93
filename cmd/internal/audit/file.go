package audit

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// objectsPrefixes begin the keys of all stored objects.
var objectsPrefixes = []string{"objects/", store.OCFLPrefix}

// versionPrefix returns the part of a key that names the version, as
// store.VersionPrefix does, or the object, as store.OCFLRoot does, both of which have five
// parts; the key itself when it has too few parts.
func versionPrefix(key string) string {
	parts := strings.SplitN(key, "/", 6)
	if len(parts) < 6 {
		return key
	}
	return strings.Join(parts[:5], "/")
}

// CheckFile compares a stored file with its entry in the storage manifest. code is "" for a
// sound one; got says what is stored instead. deep reads the file, through the reader.
func CheckFile(ctx context.Context, objects *store.Store, f store.StoredFile, deep bool, through func(io.Reader) io.Reader) (code domain.Code, got string, err error) {
	at, err := objects.Stat(ctx, f.Key)
	switch {
	case store.CodeOf(err) == store.CodeNotFound:
		return consistency.StoredMissing, "nothing", nil
	case err != nil:
		return "", "", err
	case at.Size != f.Size:
		return consistency.StoredSizeWrong, fmt.Sprintf("%d bytes", at.Size), nil
	case !deep:
		return "", "", nil
	}
	read, err := objects.Measure(ctx, f.Key, through)
	switch {
	case store.CodeOf(err) == store.CodeNotFound:
		return consistency.StoredMissing, "nothing", nil
	case err != nil:
		return "", "", err
	case read.Size != f.Size || read.SHA256 != f.SHA256:
		return consistency.StoredCorrupt, fmt.Sprintf("%d bytes, SHA-256 %s", read.Size, read.SHA256), nil
	}
	return "", "", nil
}

// pace limits how many bytes are read per second, by all readers together.
type pace struct {
	rate int64 // 0 = no limit
	mu   sync.Mutex
	next time.Time // when the bytes that were read are paid for
}

func newPace(rate int64) *pace { return &pace{rate: rate} }

// through returns the reader's wrapper that keeps the pace and counts bytes.
func (p *pace) through(ctx context.Context, count *atomic.Int64) func(io.Reader) io.Reader {
	return func(r io.Reader) io.Reader { return pacedReader{ctx, r, p, count} }
}

type pacedReader struct {
	ctx   context.Context //nolint:containedctx // that of one reading
	r     io.Reader
	pace  *pace
	count *atomic.Int64
}

// Read implements io.Reader.
func (r pacedReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.count.Add(int64(n))
	if e := r.pace.wait(r.ctx, n); e != nil {
		err = e
	}
	return n, err
}

// wait returns when n more bytes may have been read.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.rate <= 0 || n == 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	pause := time.Until(p.next)
	p.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
