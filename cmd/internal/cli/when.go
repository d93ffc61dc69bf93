package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// whenHelp says how a time is given.
const whenHelp = "2026-03-01T12:00Z, without a zone local, a date, or how long ago: 90m, 7d"

// parseWhen reads a time that somebody typed: a date, a time with or without a zone
// (without it is that of now), or how long ago it was.
func parseWhen(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: give a date such as 2026-03-01, a time such as 2026-03-01T12:00Z, or how long ago, such as 24h or 7d", s)
}

// whenFlag is a flag that takes a time.
type whenFlag struct {
	at    *time.Time
	typed string
}

// String implements pflag.Value.
func (f *whenFlag) String() string { return f.typed }

// Type implements pflag.Value.
func (*whenFlag) Type() string { return "TIME" }

// Set implements pflag.Value.
func (f *whenFlag) Set(s string) (err error) {
	f.typed = s
	*f.at, err = parseWhen(s, time.Now())
	return err
}
