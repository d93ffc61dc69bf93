package fetch

import (
	"context"
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
}

func infoOf(resp *http.Response) Info {
	i := Info{Size: resp.ContentLength, ETag: resp.Header.Get("ETag"), FinalURL: Redact(resp.Request.URL.String())}
	if t, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		i.Modified = t.UTC()
	}
	return i
}

// Head asks for a file's size and date without fetching it. A server that does
// not know HEAD (405, 501) is no error: the size is -1. Every error is an *Error.
func (c *Client) Head(ctx context.Context, url string) (Info, error) {
	resp, err := c.request(ctx, http.MethodHead, url, c.cfg.Exchange, c.cfg.MaxReply)
	if err != nil {
		return Info{}, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		return infoOf(resp), nil
	case resp.StatusCode == http.StatusMethodNotAllowed, resp.StatusCode == http.StatusNotImplemented:
		return Info{Size: -1, FinalURL: Redact(resp.Request.URL.String())}, nil
	}
	return Info{}, statusError(Redact(url), resp, time.Now())
}

// GetOptions limit one GET.
type GetOptions struct {
	MaxBytes int64 // 0 = Config.MaxBytes
}

// Get fetches a file. The body must be closed; reading it gives io.EOF or an
// *Error. Only status 200 is a file, anything else is CodeHTTPStatus.
func (c *Client) Get(ctx context.Context, url string, o GetOptions) (io.ReadCloser, Info, error) {
	limit := c.cfg.MaxBytes
	if o.MaxBytes > 0 {
		limit = o.MaxBytes
	}
	whole := c.cfg.Transfer
	if c.policy.Timeout > 0 {
		whole = c.policy.Timeout
	}
	resp, err := c.request(ctx, http.MethodGet, url, whole, limit)
	if err != nil {
		return nil, Info{}, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, Info{}, statusError(Redact(url), resp, time.Now())
	}
	if resp.ContentLength > limit {
		_ = resp.Body.Close()
		return nil, Info{}, tooLarge(Redact(url), limit)
	}
	return resp.Body, infoOf(resp), nil
}

func (c *Client) request(ctx context.Context, method, url string, whole time.Duration, limit int64) (*http.Response, error) {
	u, bad := checkURL(url)
	if bad != nil {
		return nil, bad
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), http.NoBody)
	if err != nil {
		return nil, content(CodeBadURL, Redact(url), "give an address of the form https://host/path", "this is not a URL")
	}
	return c.do(req, whole, limit)
}
