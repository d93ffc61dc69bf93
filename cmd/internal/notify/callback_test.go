package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/domain"
)

// doer answers requests without a network.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// guarded looks like an error of the guarded client.
type guarded struct{ class domain.Class }

func (g guarded) Error() string { return "guarded" }
func (g guarded) Reason() domain.Reason {
	return domain.Reason{Class: g.class, Code: "address_refused", Message: "the address is closed"}
}
func (g guarded) Retry() (bool, time.Duration) { return true, 3 * time.Second }

func fails(t *testing.T, err error, code domain.Code, class domain.Class) *notify.Error {
	t.Helper()
	var e *notify.Error
	if !errors.As(err, &e) || e.Code != code || e.Class != class {
		t.Fatalf("error %v (%T), want %s/%s", err, err, class, code)
	}
	if strings.Contains(e.Error(), "s3cret") {
		t.Fatalf("a secret is shown: %s", e)
	}
	if r := e.Reason(); r.Code != code || r.Class != class || r.Message != e.Error() || r.Message == "" {
		t.Fatalf("reason %+v", r)
	}
	return e
}

// Shows: P6
func TestCallback(t *testing.T) {
	t.Parallel()
	type job struct {
		ID string `json:"job_id"`
	}
	for _, status := range []int{200, 201, 202, 204} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var got job
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil || got.ID != "jid0000000042" {
				t.Errorf("body %+v, %v", got, err)
			}
			if r.Method != http.MethodPost || r.Header.Get("Idempotency-Key") != "jid0000000042/9/callback" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %v", r.Method, r.Header)
			}
			w.WriteHeader(status)
			if status != http.StatusNoContent {
				_, _ = w.Write(make([]byte, 1<<20)) // more than is read
			}
		}))
		t.Cleanup(s.Close)
		if err := notify.Callback(t.Context(), s.Client(), s.URL, "jid0000000042/9/callback", notify.Content{Type: "application/json", Body: []byte(`{"job_id":"jid0000000042"}`)}, nil); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestCallbackStatus(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{
		301: false, 304: false, 400: false, 401: false, 403: false, 404: false, 408: true, 409: true, 410: false, 422: false, 425: true,
		429: true, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false,
	} {
		via := doer(func(r *http.Request) (*http.Response, error) {
			h := http.Header{"Retry-After": {"17"}}
			return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("s3cret")), Request: r}, nil
		})
		e := fails(t, notify.Callback(t.Context(), via, "http://h/?k=s3cret", "k", one, nil), notify.CodeHTTPStatus, domain.ClassSystem)
		temporary, after := e.Retry()
		if temporary != again || (after == 17*time.Second) != again || e.Status != status || !strings.Contains(e.Error(), strconv.Itoa(status)) {
			t.Errorf("%+v", e)
		}
	}
}

func TestCallbackUnsent(t *testing.T) {
	t.Parallel()
	const target = "http://u:s3cret@h/?k=s3cret"
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer stop()
	inner := errors.New("broken pipe")
	for _, c := range []struct {
		name  string
		ctx   context.Context
		err   error
		code  domain.Code
		class domain.Class
		again bool
	}{
		{"of the guarded client", context.Background(), guarded{domain.ClassContent}, "address_refused", domain.ClassSystem, true},
		{"timeout of the guarded client", context.Background(), fmt.Errorf("outer: %w", guarded{domain.ClassTimeout}), "address_refused", domain.ClassTimeout, true},
		{"of another", context.Background(), &url.Error{Op: "Post", URL: target, Err: inner}, notify.CodeCallbackFailed, domain.ClassSystem, true},
		{"cancelled", cancelled, context.Canceled, notify.CodeCancelled, domain.ClassCancelled, false},
		{"late", late, context.DeadlineExceeded, notify.CodeTimeout, domain.ClassTimeout, false},
	} {
		via := doer(func(*http.Request) (*http.Response, error) { return nil, c.err })
		e := fails(t, notify.Callback(c.ctx, via, target, "k", one, nil), c.code, c.class)
		if e.Temporary != c.again {
			t.Errorf("%s: temporary %v", c.name, e.Temporary)
		}
		if cause := errors.Unwrap(e); cause == nil || strings.Contains(cause.Error(), "s3cret") {
			t.Errorf("%s: cause %v", c.name, cause)
		}
	}
}

func TestCallbackInvalid(t *testing.T) {
	t.Parallel()
	via := doer(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})
	for _, key := range []string{"", "a b", "a\r\nX-Evil: 1", "a\tb", "\x00", "é", "\x7f", strings.Repeat("k", 256)} {
		fails(t, notify.Callback(t.Context(), via, "http://h/", key, one, nil), notify.CodeCallbackInvalid, domain.ClassSystem)
	}
	fails(t, notify.Callback(t.Context(), via, "http://u:s3cret@%zz/", "k", one, nil), notify.CodeCallbackInvalid, domain.ClassSystem)
}

var one = notify.Content{Type: "application/json", Body: []byte("1")}
