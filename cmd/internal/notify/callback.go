package notify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/webhook"
	"github.com/accession-ingest/accession/internal/crash"
)

// Doer sends a request. *fetch.Client is one, and the only one outside tests.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// maxAnswer is how much of an answer is read, so that the connection can be used
// again; what it says does not count.
const maxAnswer = 64 << 10

// Content is what a callback says.
type Content struct {
	Type string // media type
	Body []byte
}

// Callback posts content to url, with key as its Idempotency-Key: 1 to 255 printable ASCII
// characters without space. With secrets it is signed by each of them. Any answer of 200 to 299 is success.
// Redirects are the Doer's matter; one that it returns is an error. The
// error is an *Error; Retry reports whether sending again, with the same key, may
// help.
func Callback(ctx context.Context, via Doer, url, key string, content Content, secrets []webhook.Secret) error {
	req, err := request(ctx, url, key, content)
	if err != nil {
		return err
	}
	if len(secrets) > 0 {
		stamp := strconv.FormatInt(time.Now().Unix(), 10)
		req.Header.Set(webhook.HeaderID, key)
		req.Header.Set(webhook.HeaderTimestamp, stamp)
		req.Header.Set(webhook.HeaderSignature, webhook.Sign(key, stamp, content.Body, secrets))
	}
	var resp *http.Response
	err = crash.Around("notify/callback/send", func() (err error) {
		resp, err = via.Do(req) //nolint:bodyclose // closed below
		return err
	})
	if err != nil {
		return unsent(ctx, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // only the status counts
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	return refused(resp)
}

func request(ctx context.Context, url, key string, content Content) (*http.Request, error) {
	invalid := func(why string) *Error {
		return &Error{Code: CodeCallbackInvalid, Class: domain.ClassSystem, Message: "callback: " + why}
	}
	if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, invalid("the delivery key must be 1 to 255 printable ASCII characters without space")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(content.Body))
	if err != nil {
		return nil, invalid("the profile's callback URL is not a URL; correct it")
	}
	req.Header.Set("Content-Type", content.Type)
	req.Header.Set("Idempotency-Key", key)
	return req, nil
}

// refused returns the error of an answer other than 2xx.
func refused(resp *http.Response) *Error {
	e := &Error{Code: CodeHTTPStatus, Class: domain.ClassSystem, Status: resp.StatusCode, Message: fmt.Sprintf(
		"callback: the receiver answered %d %s; see what it did not accept, or correct the profile's callback URL",
		resp.StatusCode, http.StatusText(resp.StatusCode))}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusConflict: // an earlier sending with this key is still being worked on
		e.Temporary = true
		e.After = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	return e
}

// retryAfter parses a Retry-After header: seconds, or a date. 0 = none or past.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
