package fetch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// Info is what a server says about a file.
type Info struct {
	Size     int64     // bytes, -1 = it does not say
	Modified time.Time // zero = it does not say
	ETag     string    // as it stands in the answer, "" = none
	FinalURL string    // where redirects led, redacted
	// ContentType is the type of the body as the server names it, "" = it does not.
	ContentType string
	// Validator names the content so strictly that what is missing of it can be asked for, "" =
	// nothing does.
	Validator string
	// From is where the body of a GET begins, 0 = at the start of the file.
	From int64
}

func infoOf(resp *http.Response) Info {
	i := Info{Size: resp.ContentLength, ETag: resp.Header.Get("ETag"), FinalURL: Redact(resp.Request.URL.String()), ContentType: resp.Header.Get("Content-Type"), Validator: validatorOf(resp.Header)}
	if t, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		i.Modified = t.UTC()
	}
	return i
}

// GetOptions limit one GET.
type GetOptions struct {
	MaxBytes int64         // 0 = Config.MaxBytes
	Timeout  time.Duration // of the whole request, where it is shorter than that of the policy; 0 = only that
	// Known is what was said of the file before, nil = it is not known. A server that says that
	// it is still the same gives ErrUnchanged.
	Known *Info
	// Beginning is what the caller has of the file, nil = nothing. If the server still has the same
	// content the body is the rest of it, see [Info.From], else the whole.
	Beginning *Beginning
}

// ErrUnchanged is the error of a file that is still the same.
var ErrUnchanged = errors.New("it is unchanged")

// conditions returns the header that asks for a file only if it has changed.
func (o GetOptions) conditions() http.Header {
	h := http.Header{}
	if o.Known != nil && o.Known.ETag != "" {
		h.Set("If-None-Match", o.Known.ETag)
	}
	if o.Known != nil && !o.Known.Modified.IsZero() {
		h.Set("If-Modified-Since", o.Known.Modified.UTC().Format(http.TimeFormat))
	}
	if o.Beginning.asks() {
		o.Beginning.ask(h)
	}
	return h
}

// Get fetches a file. The caller closes the body; reading it returns io.EOF or an
// *Error. Only status 200 is a file, and 206 the rest of one that was begun; anything else is CodeHTTPStatus, or ErrUnchanged.
func (c *Client) Get(ctx context.Context, url string, o GetOptions) (io.ReadCloser, Info, error) {
	limit := cmp.Or(o.MaxBytes, c.cfg.MaxBytes)
	whole := cmp.Or(c.policy.Timeout, c.cfg.Transfer)
	if o.Timeout > 0 {
		whole = min(whole, o.Timeout)
	}
	resp, err := c.request(ctx, http.MethodGet, url, o.conditions(), whole, limit)
	if err != nil {
		return nil, Info{}, err
	}
	switch {
	case o.Beginning.asks() && o.Beginning.meant(resp):
		return c.goesOn(ctx, url, o, resp, limit)
	case resp.StatusCode == http.StatusNotModified && o.Known != nil:
		err = ErrUnchanged
	case resp.StatusCode != http.StatusOK:
		err = statusError(Redact(url), resp, time.Now())
	case resp.ContentLength > limit:
		err = tooLarge(Redact(url), limit)
	default:
		return resp.Body, infoOf(resp), nil
	}
	_ = resp.Body.Close()
	return nil, Info{}, err
}

// goesOn returns the rest of a file from an answer that may be it. If it is not, the whole file is
// requested, as it is when the range cannot be had.
func (c *Client) goesOn(ctx context.Context, url string, o GetOptions, resp *http.Response, limit int64) (io.ReadCloser, Info, error) {
	if size, ok := o.Beginning.continues(resp); ok {
		info := infoOf(resp)
		if info.Size, info.From, info.Validator = size, o.Beginning.Bytes, o.Beginning.Validator; size <= limit {
			return &rest{ReadCloser: resp.Body, shown: Redact(url), left: size - o.Beginning.Bytes}, info, nil
		}
		_ = resp.Body.Close()
		return nil, Info{}, tooLarge(Redact(url), limit)
	}
	_ = resp.Body.Close()
	o.Beginning = nil
	return c.Get(ctx, url, o)
}

func (c *Client) request(ctx context.Context, method, url string, header http.Header, whole time.Duration, limit int64) (*http.Response, error) {
	if inBucket(url) {
		at, bad := c.signed(ctx, method, url)
		if bad != nil {
			return nil, bad
		}
		url = at
	}
	check := checkURL
	switch {
	case ofMachine(url):
		check = c.fileURL
	case ofSFTP(url):
		check = c.sftpURL
	}
	u, bad := check(url)
	if bad != nil {
		return nil, bad
	}
	return c.do((&http.Request{Method: method, Header: header}).WithContext(ctx), u, whole, limit)
}
