package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMayRetry(t *testing.T) {
	t.Parallel()
	after := &Error{Temporary: true, After: time.Minute}
	if again, d := MayRetry(fmt.Errorf("f: %w", after)); !again || d != time.Minute {
		t.Errorf("%t, %s", again, d)
	}
	for _, err := range []error{nil, &Error{}, errors.New("no method Retry")} {
		if again, d := MayRetry(err); again || d != 0 {
			t.Errorf("%v: %t, %s", err, again, d)
		}
	}
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
		Version: "1\r\nX: y", Connect: -1, TLSHandshake: time.Hour, ResponseHeader: time.Hour, Head: time.Hour, Exchange: time.Millisecond, Transfer: 169 * time.Hour,
		MinRate: -1, RateWindow: 1, MaxBytes: 1<<60 + 1, MaxReply: 1 << 40, MaxRedirects: 21,
	}
	if n := count(bad.Validate()); n != 12 {
		t.Errorf("%d faults of 12:\n%v", n, bad.Validate())
	}
	if _, err := NewClient(bad); count(err) != 12 {
		t.Errorf("a client with bad settings: %v", err)
	}
	if c, err := NewClient(Config{}); err != nil || c.cfg != (Config{}).withDefaults() {
		t.Errorf("%v", err)
	}
}
