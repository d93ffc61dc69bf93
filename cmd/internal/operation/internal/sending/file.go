// Package sending writes the bodies of answers that are no JSON.
package sending

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/domain/entry"
)

const (
	// checkedBefore is the size of the largest file, in bytes, that is read and compared as a
	// whole before the answer begins.
	checkedBefore = 1 << 20
	// lastPart is how many bytes of the answer with a larger file wait until all of the file
	// was compared.
	lastPart = 32 << 10
)

// File returns what sends a file, or a range of it, and closes it. A small file that is
// not what was stored is an error; the answer with a larger one is never whole: its last
// bytes are sent when all bytes of the file, also those outside of the range, were compared
// with its digest.
func File(c *objects.Content) (func(w http.ResponseWriter, r *http.Request) error, error) {
	if c.Size > checkedBefore {
		return func(w http.ResponseWriter, r *http.Request) error {
			defer func() { _ = c.Close() }()
			return sendChecked(w, r, c)
		}, nil
	}
	defer func() { _ = c.Close() }()
	data, err := io.ReadAll(c)
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		describeFile(w.Header(), c)
		p := &Noted{W: w}
		http.ServeContent(p, oneRange(r), "", time.Time{}, bytes.NewReader(data))
		return p.Failed()
	}, nil
}

func sendChecked(w http.ResponseWriter, r *http.Request, c *objects.Content) error {
	describeFile(w.Header(), c)
	h := &delayed{Noted: Noted{W: w}}
	http.ServeContent(h, oneRange(r), "", time.Time{}, c.Seeker())
	if !h.body || r.Method == http.MethodHead {
		return h.Failed()
	}
	if h.err != nil {
		return h.err
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		return err
	}
	if h.left > 0 {
		return errors.New("the store has given less than the file")
	}
	_, err := h.Noted.Write(h.kept)
	return err
}

// describeFile sets the headers of an answer with a file: it is saved and never shown, since
// depositors choose what is in it.
func describeFile(h http.Header, c *objects.Content) {
	kind := c.MimeType
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	attach(h, path.Base(c.Name), c.SHA256)
	h.Set("X-Object-Version", strconv.FormatInt(c.Version, 10))
}

// attach sets the headers of a file that is saved under a name.
func attach(h http.Header, name, sha256 string) {
	attachment := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	if attachment == "" {
		attachment = "attachment"
	}
	h.Set("Content-Disposition", attachment)
	h.Set("ETag", strconv.Quote("sha256-"+sha256))
	if sum, err := hex.DecodeString(sha256); err == nil {
		h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	}
}

// Output returns what sends an output of an entry, or a range of it, and closes it. Who gets it
// compares it with its digest.
func Output(f *os.File, o entry.Output) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "application/octet-stream")
		attach(w.Header(), o.Name, o.SHA256)
		p := &Noted{W: w}
		http.ServeContent(p, oneRange(r), "", time.Time{}, f)
		return errors.Join(p.Failed(), f.Close())
	}
}

// oneRange returns the request, without Range if it asks for several: these are answered
// with the whole file.
func oneRange(r *http.Request) *http.Request {
	if !strings.Contains(r.Header.Get("Range"), ",") {
		return r
	}
	r = r.Clone(r.Context())
	r.Header.Del("Range")
	return r
}

// delayed is an answer whose last part waits.
type delayed struct {
	Noted
	body bool  // it has a part of the file
	left int64 // bytes of the body that were not written yet
	kept []byte
}

// WriteHeader implements http.ResponseWriter.
func (h *delayed) WriteHeader(status int) {
	if h.body = status == http.StatusOK || status == http.StatusPartialContent; h.body {
		h.left, _ = strconv.ParseInt(h.Header().Get("Content-Length"), 10, 64) // ServeContent has set it
	}
	h.Noted.WriteHeader(status)
}

// Write implements io.Writer.
func (h *delayed) Write(b []byte) (int, error) {
	if !h.body {
		return h.Noted.Write(b)
	}
	now := int(max(0, min(int64(len(b)), h.left-lastPart)))
	if n, err := h.Noted.Write(b[:now]); err != nil {
		return n, err
	}
	h.kept = append(h.kept, b[now:]...)
	h.left -= int64(len(b))
	return len(b), nil
}
