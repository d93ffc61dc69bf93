package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// listLimit is how many rows a list shows by default.
const listLimit = 50

// value is a flag that is parsed and checked when the command line is read.
type value[T any] struct {
	to    *T
	text  string
	parse func(string) (T, error)
}

// String implements pflag.Value.
func (v *value[T]) String() string { return v.text }

// Type implements pflag.Value.
func (*value[T]) Type() string { return "value" }

// Set implements pflag.Value.
func (v *value[T]) Set(s string) (err error) {
	v.text = s
	*v.to, err = v.parse(s)
	return err
}

// parsed adds a flag that parse reads; preset is its default, "" = none.
func parsed[T any](c *cobra.Command, to *T, name, preset, help string, parse func(string) (T, error)) {
	v := &value[T]{to: to, text: preset, parse: parse}
	if preset != "" {
		_ = v.Set(preset) // the flag's own default
	}
	c.Flags().Var(v, name, help)
}

// optional is parse for flags whose empty text means no value.
func optional[T ~string](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		if s == "" {
			return "", nil
		}
		return parse(s)
	}
}

// among returns the parse of a flag that takes one of the listed values.
func among[T ~string](list ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(list, T(s)) {
			return T(s), nil
		}
		return "", fmt.Errorf("choose one of %s", joined(list))
	}
}

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// limitFlag adds --limit; what is counted, such as jobs.
func limitFlag(c *cobra.Command, limit *int, preset int, what string) {
	parsed(c, limit, "limit", strconv.Itoa(preset), "at most `N` "+what, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 0, errors.New("give a whole number, at least 1")
		}
		return n, nil
	})
}

// timeHelp says how a time is given.
const timeHelp = "2026-03-01T12:00Z, local time without a zone, a date, or an age: 90m, 7d"

// timeFlags adds --since and --until.
func timeFlags(c *cobra.Command, since, until *time.Time) {
	parsed(c, since, "since", "", "from this `TIME` on ("+timeHelp+")", parseTime)
	parsed(c, until, "until", "", "before this `TIME`", parseTime)
}

// atFlag adds --at: a sequence in the log, or a time.
func atFlag(c *cobra.Command, m *app.Moment) {
	parsed(c, m, "at", "", "as of this `TIME|SEQ`: a sequence in the log, or a time by its clock ("+timeHelp+")", func(s string) (m app.Moment, err error) {
		if m.Seq, err = strconv.ParseUint(s, 10, 64); err == nil && m.Seq > 0 {
			return m, nil
		}
		m.Time, err = parseTime(s)
		return m, err
	})
}

func parseTime(s string) (time.Time, error) { return parseTimeAt(s, time.Now()) }

// parseTimeAt reads a date, a time with or without a zone (then that of now), or an
// age.
func parseTimeAt(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly, time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04"} {
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
	return time.Time{}, fmt.Errorf("%q is not a time: give a date such as 2026-03-01, a time such as 2026-03-01T12:00Z, or an age such as 24h or 7d", s)
}
