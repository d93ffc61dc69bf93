package fetch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/domain"
)

func TestTry(t *testing.T) {
	t.Parallel()
	again := func(after time.Duration) error {
		return &Error{Code: CodeHTTPStatus, Class: domain.ClassContent, Temporary: true, After: after}
	}
	final := &Error{Code: CodeBadURL, Class: domain.ClassContent}
	plain := errors.New("no Retry method")
	for _, c := range []struct {
		name     string
		errs     []error // of each attempt; the last one again and again
		attempts int
		took     [2]time.Duration
		code     domain.Code
	}{
		{"at once", []error{nil}, 1, [2]time.Duration{0, 0}, ""},
		{"second", []error{again(0), nil}, 2, [2]time.Duration{500 * time.Millisecond, 1501 * time.Millisecond}, ""},
		{"grows", []error{again(0), again(0), again(0), nil}, 4, [2]time.Duration{3500 * time.Millisecond, 10501 * time.Millisecond}, ""},
		{"never", []error{again(0)}, 5, [2]time.Duration{7 * time.Second, 25 * time.Second}, CodeHTTPStatus},
		{"final", []error{final}, 1, [2]time.Duration{0, 0}, CodeBadURL},
		{"final later", []error{again(0), final}, 2, [2]time.Duration{500 * time.Millisecond, 1501 * time.Millisecond}, CodeBadURL},
		{"another's error", []error{plain}, 1, [2]time.Duration{0, 0}, ""},
		{"asked to wait", []error{again(7 * time.Second), nil}, 2, [2]time.Duration{7 * time.Second, 7 * time.Second}, ""},
		{"asked to wait too long", []error{again(time.Hour), nil}, 2, [2]time.Duration{time.Minute, time.Minute}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var told []int
				var waited time.Duration
				n := 0
				err := Try(t.Context(), Retry{Attempts: 5, Base: time.Second, Failed: func(attempt int, err error, pause time.Duration) {
					if err == nil {
						t.Error("told of no failure")
					}
					told = append(told, attempt)
					waited += pause
				}}, func() error {
					n++
					return c.errs[min(n, len(c.errs))-1]
				})
				took := time.Since(begin)
				if n != c.attempts || took < c.took[0] || took > c.took[1] || waited != took {
					t.Errorf("%d attempts, %s, pauses of %s", n, took, waited)
				}
				failed := n
				if err == nil {
					failed--
				}
				if len(told) != failed {
					t.Errorf("told of %v", told)
				}
				if want := c.errs[len(c.errs)-1]; !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			})
		})
	}
}

func TestTryIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the session is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(gone) })
		why := &Error{Code: CodeUnreachable, Class: domain.ClassContent, Temporary: true}
		n := 0
		work := func() error { n++; return why }
		err := Try(ctx, Retry{Failed: func(int, error, time.Duration) {}}, work)
		if e := fails(t, err, CodeCancelled, domain.ClassCancelled); n != 1 || !errors.Is(err, gone) || !errors.Is(err, why) || !strings.Contains(e.Message, "after 1") {
			t.Errorf("%d attempts, %v", n, err)
		}
		// One that ends by the cancelling itself keeps its own error.
		err = Try(ctx, Retry{Failed: func(int, error, time.Duration) {}}, func() error { return ended("u", gone) })
		if e := fails(t, err, CodeCancelled, domain.ClassCancelled); e.URL != "u" {
			t.Errorf("%+v", e)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, "-1": 0, "x": 0, "99999999999999": 0,
		now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	t.Parallel()
	if err := errors.Join(Config{}.Validate(), quick().Validate()); err != nil {
		t.Error(err)
	}
	count := func(err error) int {
		if err == nil {
			return 0
		}
		return strings.Count(err.Error(), "\n") + 1
	}
	bad := Config{
		Version: "1\r\nX: y", Connect: -1, TLSHandshake: time.Hour, ResponseHeader: time.Hour, Exchange: time.Millisecond, Transfer: 169 * time.Hour,
		MinRate: -1, RateWindow: 1, MaxBytes: 1<<60 + 1, MaxReply: 1 << 40, MaxRedirects: 21,
	}
	if n := count(bad.Validate()); n != 11 {
		t.Errorf("%d faults of 11:\n%v", n, bad.Validate())
	}
	if _, err := NewClient(bad); count(err) != 11 {
		t.Errorf("a client with bad settings: %v", err)
	}
	if c, err := NewClient(Config{}); err != nil || c.cfg != (Config{}).withDefaults() {
		t.Errorf("%v", err)
	}
}
