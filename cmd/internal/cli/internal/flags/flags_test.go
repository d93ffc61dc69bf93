package flags

import (
	"testing"
	"time"
)

func TestTimesAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 3600)
	now := time.Date(2026, 3, 8, 12, 0, 0, 0, zone)
	for typed, want := range map[string]string{
		"2026-03-01":                "2026-03-01T00:00:00+01:00",
		"2026-03-01T12:30":          "2026-03-01T12:30:00+01:00",
		"2026-03-01 12:30":          "2026-03-01T12:30:00+01:00",
		"2026-03-01 12:30:05":       "2026-03-01T12:30:05+01:00",
		"2026-03-01T12:30Z":         "2026-03-01T12:30:00Z",
		"2026-03-01T12:30:05.5Z":    "2026-03-01T12:30:05.5Z",
		"2026-03-01T12:30:05-02:00": "2026-03-01T12:30:05-02:00",
		"90m":                       "2026-03-08T10:30:00+01:00",
		"7d":                        "2026-03-01T12:00:00+01:00",
		"0s":                        "2026-03-08T12:00:00+01:00",
	} {
		got, err := ParseTimeAt(typed, now)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q is %s (%v), want %s", typed, got.Format(time.RFC3339Nano), err, want)
		}
	}
	for _, typed := range []string{"", "yesterday", "-1h", "-2d", "2026-13-01", "12:00", "5"} {
		if got, err := ParseTimeAt(typed, now); err == nil {
			t.Errorf("%q is taken for %s", typed, got)
		}
	}
}
