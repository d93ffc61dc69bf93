package views

import (
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain/fair/simulate"
)

// Simulation is the result of a simulation as JSON has it: times in seconds.
type Simulation struct {
	Servers     int             `json:"servers"`
	Allocation  int             `json:"allocation"`
	Concurrency int             `json:"concurrency"`
	Seed        *uint64         `json:"seed,omitempty"` // of generated deposits
	Unreported  int             `json:"unreported"`     // batches of the file that were left out
	End         float64         `json:"end_seconds"`
	All         simulatedUser   `json:"all"`
	Users       []simulatedUser `json:"users"`
}

type simulatedUser struct {
	User     string         `json:"user,omitempty"`
	Deposits int            `json:"deposits"`
	Fair     simulatedWaits `json:"fair"`
	FIFO     simulatedWaits `json:"fifo"`
	// Actual is how long the deposits of the file waited until they were grabbed.
	Grabbed int             `json:"grabbed,omitempty"`
	Actual  *simulatedWaits `json:"really,omitempty"`
}

type simulatedWaits struct {
	P50 float64 `json:"p50_seconds"`
	P95 float64 `json:"p95_seconds"`
	P99 float64 `json:"p99_seconds"`
	Max float64 `json:"max_seconds"`
}

// Set sets what a comparison has found.
func (s *Simulation) Set(c simulate.Comparison) {
	s.End, s.All = c.End.Seconds(), simulatedOf(c.All)
	for _, u := range c.Users {
		s.Users = append(s.Users, simulatedOf(u))
	}
}

func simulatedOf(u simulate.User) simulatedUser {
	waits := func(w simulate.Waits) simulatedWaits {
		return simulatedWaits{w.P50.Seconds(), w.P95.Seconds(), w.P99.Seconds(), w.Max.Seconds()}
	}
	out := simulatedUser{User: u.Name, Deposits: u.Deposits, Fair: waits(u.Fair), FIFO: waits(u.FIFO), Grabbed: u.Grabbed}
	if u.Grabbed > 0 {
		really := waits(u.Actual)
		out.Actual = &really
	}
	return out
}

// Write writes the table: up to limit users with the most deposits, and all. source names
// the deposits.
func (s Simulation) Write(w io.Writer, c simulate.Comparison, source string, limit int) {
	fmt.Fprintf(w, "%d deposits of %d users (%s) on %d servers, served in %s; allocation %d, concurrency %d\n",
		c.All.Deposits, len(c.Users), export.Line(source), s.Servers, render.Duration(c.End), s.Allocation, s.Concurrency)
	if s.Unreported > 0 {
		fmt.Fprintf(w, "batches without a report in the file, left out: %d\n", s.Unreported)
	}
	fmt.Fprintln(w)
	shown := c.Users[:min(len(c.Users), limit)]
	all := c.All
	all.Name = "all users"
	header := render.Row{"user", "deposits", "in turn p50", "p95", "max", "fifo p50", "p95", "max"}
	if c.All.Grabbed > 0 {
		header = append(header, "really p50", "p95", "max")
	}
	render.Rows(w, "", header,
		append(shown[:len(shown):len(shown)], all), func(u simulate.User) render.Row {
			row := render.Row{export.Line(u.Name), u.Deposits}
			columns := []simulate.Waits{u.Fair, u.FIFO}
			if c.All.Grabbed > 0 {
				columns = append(columns, u.Actual)
			}
			for _, waits := range columns {
				for _, d := range []time.Duration{waits.P50, waits.P95, waits.Max} {
					row = append(row, render.Duration(d))
				}
			}
			return row
		})
	render.Truncated(w, len(shown), int64(len(c.Users)), "users", "--limit")
}
