package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// limitFlag adds --limit, and refuses less than one row.
func limitFlag(c *cobra.Command, limit *int, preset int, help string) {
	c.Flags().IntVar(limit, "limit", preset, help)
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return &usageError{fmt.Errorf("--limit %d: give at least 1", *limit), c.CommandPath()}
		}
		if before == nil {
			return nil
		}
		return before(c, args)
	}
}

// cut tells that a list does not show everything, and how to see more.
func cut(w io.Writer, shown int, total int64, what, more string) {
	fmt.Fprintf(w, "\n%d of %d %s; %s for more\n", shown, total, what, more)
}

// cutJobs tells it of the jobs of a batch.
func cutJobs(w io.Writer, id string, shown int, total int64) {
	if int64(shown) < total {
		cut(w, shown, total, "jobs", fmt.Sprintf("--limit or `accession job ls --batch %s`", id))
	}
}

// atFlag adds --at: a place in the log, or a time.
func atFlag(c *cobra.Command, m *app.Moment) {
	c.Flags().Var(&momentFlag{m: m}, "at", "as it was at this `TIME|SEQ`: a place in the log, or a time by its clock ("+whenHelp+")")
}

type momentFlag struct {
	m     *app.Moment
	typed string
}

// String implements pflag.Value.
func (f *momentFlag) String() string { return f.typed }

// Type implements pflag.Value.
func (*momentFlag) Type() string { return "TIME|SEQ" }

// Set implements pflag.Value.
func (f *momentFlag) Set(s string) (err error) {
	f.typed = s
	if seq, err := strconv.ParseUint(s, 10, 64); err == nil && seq > 0 {
		f.m.Seq = seq
		return nil
	}
	f.m.Time, err = parseWhen(s, time.Now())
	return err
}

// showPlace says as of when something is shown.
func showPlace(w io.Writer, at *app.Place) {
	if at != nil {
		fmt.Fprintf(w, "as it was at place %d of the log, %s\n\n", at.Seq, at.Stored.Local().Format("2006-01-02 15:04:05.000"))
	}
}

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
