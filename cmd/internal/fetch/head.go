package fetch

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Head returns a file's size and date without fetching it. A server that refuses HEAD, as those
// of URLs do that are signed for GET only, or that states no length, is asked for the first byte.
// The size is -1 if it states none then either. Every error is an *Error. With one of the request
// for the first byte comes what the server has answered to HEAD: its date is as good as before.
func (c *Client) Head(ctx context.Context, url string) (Info, error) {
	info, refused, err := c.head(ctx, url)
	if err == nil && (refused || info.Size < 0) {
		return c.firstByte(ctx, url, info)
	}
	return info, err
}

// head returns what a server answers to HEAD, or that it refuses it: it may yet answer GET.
func (c *Client) head(ctx context.Context, url string) (info Info, refused bool, err error) {
	resp, err := c.request(ctx, http.MethodHead, url, nil, c.cfg.Head, c.cfg.MaxReply)
	if err != nil {
		return Info{}, false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		return infoOf(resp), false, nil
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusForbidden,
		resp.StatusCode == http.StatusMethodNotAllowed, resp.StatusCode == http.StatusNotImplemented:
		return Info{}, true, nil
	}
	return Info{}, false, statusError(Redact(url), resp, time.Now())
}

// firstByte returns what a server states about a file when it is asked for its first byte; said is
// what it has stated before, and with an error the rest. The body is not read: it may be the whole file.
func (c *Client) firstByte(ctx context.Context, url string, said Info) (Info, error) {
	resp, err := c.request(ctx, http.MethodGet, url, http.Header{"Range": {"bytes=0-0"}}, c.cfg.Head, c.cfg.MaxReply)
	said.Size = -1
	if err != nil {
		return said, err
	}
	defer resp.Body.Close()
	size, ok := wholeSize(resp)
	if !ok {
		return said, statusError(Redact(url), resp, time.Now())
	}
	info := infoOf(resp)
	if info.Size = size; info.Modified.IsZero() {
		info.Modified = said.Modified
	}
	return info, nil
}

// wholeSize returns the size of a file by the answer to a request for its first byte, -1 = it is
// not stated. ok is false if the answer is about no file.
func wholeSize(resp *http.Response) (size int64, ok bool) {
	span := resp.Header.Get("Content-Range")
	whole := int64(-1)
	if said, isRange := strings.CutPrefix(span, "bytes "); isRange {
		_, total, _ := strings.Cut(said, "/")
		if n, err := strconv.ParseUint(total, 10, 63); err == nil {
			whole = int64(n)
		}
	}
	switch {
	case resp.StatusCode == http.StatusPartialContent:
		return whole, true
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && whole == 0: // an empty file has no first byte
		return 0, true
	case resp.StatusCode != http.StatusOK:
		return 0, false
	case span == "" && resp.ContentLength != 1: // else it is the byte, sent as if it were the whole
		return resp.ContentLength, true
	}
	return whole, true
}

// First fetches the first bytes of a file, as many as most, or all of one that is smaller. The
// caller closes the body; reading it returns io.EOF or an *Error. What of a file a server sends
// beyond them is not read.
func (c *Client) First(ctx context.Context, url string, most int64) (io.ReadCloser, error) {
	resp, err := c.request(ctx, http.MethodGet, url, http.Header{"Range": {"bytes=0-" + strconv.FormatInt(most-1, 10)}}, c.cfg.Head, c.cfg.MaxBytes)
	if err != nil {
		return nil, err
	}
	span := resp.Header.Get("Content-Range")
	size, ok := wholeSize(resp)
	switch {
	case !ok:
		err = statusError(Redact(url), resp, time.Now())
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && size == 0:
		_ = resp.Body.Close()
		return http.NoBody, nil
	case span != "" && !strings.HasPrefix(span, "bytes 0-"):
		err = content(CodeHTTPStatus, Redact(url), "see whether the server answers a request with Range as HTTP has it", "the server sends another part than its beginning")
	default:
		return beginning{io.LimitReader(resp.Body, most), resp.Body}, nil
	}
	_ = resp.Body.Close()
	return nil, err
}

// beginning is the body of an answer up to a number of bytes.
type beginning struct {
	io.Reader
	io.Closer
}
