package work

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Put leaves a file beside the result, of which it becomes a part when the work is done. A name
// has 1 to 128 letters, digits and ._+=@- and begins with a letter, a digit or _; of two files
// with one name the later counts. The content is read twice, first for its digest. The error may
// be a [*Refused], such as for a file that is too large, or [ErrLost].
func (e *Entry) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	sum := sha256.New()
	size, err := io.Copy(sum, content)
	if err == nil {
		_, err = content.Seek(-size, io.SeekCurrent)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, e.of.of.at(e.of.path)+"/outputs/"+url.PathEscape(name), io.NopCloser(content))
	if err != nil {
		return err
	}
	r.ContentLength = size
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum.Sum(nil))+":")
	a, err := e.of.of.send(r, true)
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	return a.Body.Close()
}
