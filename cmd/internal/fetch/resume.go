package fetch

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Beginning is what the caller has of a file whose transfer was cut off.
type Beginning struct {
	Bytes     int64  // from the start of the file
	Validator string // of the content that they are of, see [Info]
	Size      int64  // of the whole, -1 = it was not said
}

// asks reports whether a request can ask for what is missing.
func (b *Beginning) asks() bool { return b != nil && b.Bytes > 0 && b.Validator != "" }

// ask sets the header that asks for what is missing, or for the whole if the content is another
// one (RFC 9110, 13.1.5).
func (b *Beginning) ask(h http.Header) {
	h.Set("Range", fmt.Sprintf("bytes=%d-", b.Bytes))
	h.Set("If-Range", b.Validator)
}

// clockSlack is how much older than its answer a content must be, so that its date is a strong
// validator: it may have been changed twice in a second, and clocks differ.
const clockSlack = time.Minute

// validatorOf returns what names the content of an answer so strictly that a part of it can be
// asked for (RFC 9110, 8.8): its entity tag unless that is weak, without one its date if it is
// old enough. "" = nothing does.
func validatorOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		if strings.HasPrefix(tag, `"`) && strings.HasSuffix(tag, `"`) && len(tag) > 1 {
			return tag
		}
		return ""
	}
	modified, bad := http.ParseTime(h.Get("Last-Modified"))
	answered, undated := http.ParseTime(h.Get("Date"))
	if bad != nil || undated != nil || answered.Sub(modified) < clockSlack {
		return ""
	}
	return modified.UTC().Format(http.TimeFormat)
}

// meant reports whether an answer is one to the request for a range, and not the whole file. Some
// servers, such as rclone's of buckets, send a range as if it were the whole (200): its header says
// which, or it has the same tag and another size.
func (b *Beginning) meant(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed:
		return true
	case http.StatusOK:
		return resp.Header.Get("Content-Range") != "" || b.Size >= 0 && resp.ContentLength >= 0 && resp.ContentLength != b.Size && validatorOf(resp.Header) == b.Validator
	}
	return false
}

// continues reports whether an answer is what is missing, all of it, of the same content, and
// returns the size of the whole.
func (b *Beginning) continues(resp *http.Response) (size int64, ok bool) {
	span, isRange := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	span, whole, hasSize := strings.Cut(span, "/")
	first, last, hasSpan := strings.Cut(span, "-")
	from, bad := strconv.ParseUint(first, 10, 63)
	to, bad2 := strconv.ParseUint(last, 10, 63)
	n, bad3 := strconv.ParseUint(whole, 10, 63)
	if !isRange || !hasSize || !hasSpan || bad != nil || bad2 != nil || bad3 != nil {
		return 0, false
	}
	size = int64(n)
	left := size - b.Bytes
	switch {
	case resp.StatusCode != http.StatusPartialContent && (resp.StatusCode != http.StatusOK || resp.ContentLength < 0):
		return 0, false
	case int64(from) != b.Bytes || int64(to) != size-1 || left <= 0:
		return 0, false
	case b.Size >= 0 && size != b.Size:
		return 0, false
	case resp.ContentLength >= 0 && resp.ContentLength != left:
		return 0, false
	}
	// The date may be left out of such an answer, the entity tag may not (RFC 9110, 15.3.7).
	if tag := resp.Header.Get("ETag"); strings.HasPrefix(b.Validator, `"`) || tag != "" {
		return size, tag == b.Validator
	}
	modified := resp.Header.Get("Last-Modified")
	return size, modified == "" || modified == b.Validator
}

// rest is the body of an answer that has so many bytes, whether its header says so or not.
type rest struct {
	io.ReadCloser
	shown string
	left  int64
}

// Read implements io.Reader.
func (r *rest) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.left -= int64(n)
	if r.left < 0 || err == io.EOF && r.left > 0 { //nolint:errorlint // it is never wrapped
		e := content(CodeUnreachable, r.shown, "see whether the server answers a request with Range as HTTP has it", "the part that was missing has another length than the server says")
		e.Temporary = true
		return 0, e
	}
	return n, err
}
