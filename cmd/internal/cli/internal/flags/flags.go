// Package flags has the kinds of flags that several commands take.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// ListLimit is how many rows a list shows by default.
const ListLimit = 50

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

// Value returns a flag that parse reads; preset is its default.
func Value[T any](to *T, preset string, parse func(string) (T, error)) pflag.Value {
	return &value[T]{to: to, text: preset, parse: parse}
}

// Parsed adds a flag that parse reads; preset is its default, "" = none.
func Parsed[T any](c *cobra.Command, to *T, name, preset, help string, parse func(string) (T, error)) {
	v := Value(to, preset, parse)
	if preset != "" {
		_ = v.Set(preset) // the flag's own default
	}
	c.Flags().Var(v, name, help)
}

// Optional is parse for flags whose empty text means no value.
func Optional[T ~string](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		if s == "" {
			return "", nil
		}
		return parse(s)
	}
}

// Among returns the parse of a flag that takes one of the listed values.
func Among[T ~string](list ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(list, T(s)) {
			return T(s), nil
		}
		return "", fmt.Errorf("choose one of %s", Joined(list))
	}
}

// Joined returns a list as text.
func Joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// Within adds a flag that takes a time above 0 and up to most.
func Within(c *cobra.Command, to *time.Duration, name, preset string, most time.Duration, help string) {
	Parsed(c, to, name, preset, help, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > most {
			return 0, fmt.Errorf("give a time such as 30s or 2m, above 0 and at most %v", most)
		}
		return d, nil
	})
}

// Limit adds --limit; what is counted, such as jobs.
func Limit(c *cobra.Command, limit *int, preset int, what string) {
	Parsed(c, limit, "limit", strconv.Itoa(preset), "at most `N` "+what, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 0, errors.New("give a whole number, at least 1")
		}
		return n, nil
	})
}

// Cursor adds --cursor: which page of a list.
func Cursor(c *cobra.Command, from *app.Cursor) {
	c.Flags().StringVar((*string)(from), "cursor", "", "the page that begins at this `CURSOR`, which the page before names")
}

// Sort adds --sort: in which of its orders a list is.
func Sort(c *cobra.Command, sort *string, o app.Orders) {
	c.Flags().StringVar(sort, "sort", "", "in the order of this `COLUMN`, or from its end with a hyphen before it: "+o.Any+"; of up to 10,000 also "+strings.Join(o.Few, ", "))
}

// Filter adds what batches, jobs and files are all selected by.
func Filter(c *cobra.Command, f *app.Filter, what string) {
	for _, flag := range []struct {
		to         *string
		name, help string
	}{
		{&f.Profile, "profile", "of this `PROFILE`"}, {&f.Collection, "collection", "of this `COLLECTION`"},
		{&f.Submitter, "submitter", "submitted by this `NAME`"}, {&f.Code, "code", "that failed or wait for a reason with this `CODE`"},
		{&f.Host, "host", "whose payload comes from this `HOST`"},
	} {
		c.Flags().StringVar(flag.to, flag.name, "", "only "+what+" "+flag.help)
	}
	Age(c, &f.Since, &f.Until, what, "begun")
}

// Age adds when what is selected was begun, received, stored or requested.
func Age(c *cobra.Command, since, olderThan *time.Time, what, begun string) {
	Parsed(c, since, "since", "", "only "+what+" "+begun+" from this `TIME` on, or this age: 7d", ParseTime)
	Parsed(c, olderThan, "older-than", "", "only "+what+" "+begun+" before this `AGE` or time: 90m, 7d", ParseTime)
}

// InCollection adds what is selected by what its dataset belongs to.
func InCollection(c *cobra.Command, profile, collection *string, what string) {
	c.Flags().StringVar(profile, "profile", "", "only "+what+" of datasets of this `PROFILE`")
	c.Flags().StringVar(collection, "collection", "", "only "+what+" of datasets of this `COLLECTION`")
}

// Events adds what events are selected by of what they belong to, and of their reason.
func Events(c *cobra.Command, profile, collection, submitter, code *string) {
	c.Flags().StringVar(profile, "profile", "", "only what was deposited with this `PROFILE`, or found for it")
	c.Flags().StringVar(collection, "collection", "", "only what belongs to this `COLLECTION`")
	c.Flags().StringVar(submitter, "submitter", "", "only what was submitted by this `NAME`")
	c.Flags().StringVar(code, "code", "", "only events that have a reason with this `CODE`")
}

// TimeHelp says how a time is given.
const TimeHelp = "2026-03-01T12:00Z, local time without a zone, a date, or an age: 90m, 7d"

// Times adds --since and --until.
func Times(c *cobra.Command, since, until *time.Time) {
	Parsed(c, since, "since", "", "from this `TIME` on ("+TimeHelp+")", ParseTime)
	Parsed(c, until, "until", "", "before this `TIME`", ParseTime)
}

// At adds --at: a sequence in the log, or a time.
func At(c *cobra.Command, m *app.Moment) {
	Parsed(c, m, "at", "", "as of this `TIME|SEQ`: a sequence in the log, or a time by its clock ("+TimeHelp+")", func(s string) (m app.Moment, err error) {
		if m.Seq, err = strconv.ParseUint(s, 10, 64); err == nil && m.Seq > 0 {
			return m, nil
		}
		m.Time, err = ParseTime(s)
		return m, err
	})
}

// ParseTime is [ParseTimeAt] for this moment.
func ParseTime(s string) (time.Time, error) { return ParseTimeAt(s, time.Now()) }

// ParseTimeAt reads a date, a time with or without a zone (then that of now), or an
// age.
func ParseTimeAt(s string, now time.Time) (time.Time, error) {
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

// OutHelp is the help of --out.
const OutHelp = "write to this new `FILE`, which appears when it is complete"
