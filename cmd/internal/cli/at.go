package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
