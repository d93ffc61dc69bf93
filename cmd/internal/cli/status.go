package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show servers, workers, queues, outbox and lag",
		Long: `Show which servers answer, which processes serve, how many batches are in each
state and how many jobs in each queue, how many events wait to be carried to the
log and for how long, and how far the tables are behind it. Exit code 5 when a
server does not answer.`,
		Example: "  accession status\n  accession status -o json | jq .projection.events_behind",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				s := a.Status(ctx)
				if err := p.show(s, func(w io.Writer) { showStatus(w, s) }); err != nil {
					return err
				}
				if !s.OK() {
					return exitError(exitUnavailable)
				}
				return nil
			})
		}),
	}
}

func showStatus(w io.Writer, s app.Status) {
	lines := make([][]any, len(s.Servers))
	for i, server := range s.Servers {
		answer := "answers in " + lasting(seconds(server.Seconds))
		if !server.OK {
			answer = "DOES NOT ANSWER: " + printable(server.Error)
		}
		lines[i] = []any{server.Name, server.URL, answer}
	}
	rows(w, "", []any{"server", "at", ""}, lines)
	fmt.Fprintln(w)
	lines = make([][]any, len(s.Workers))
	for i, x := range s.Workers {
		lines[i] = []any{x.ID, x.Host, x.PID, strings.Join(x.Roles, ","), at(x.Since)}
	}
	nobody := "nobody serves: start `accession serve`"
	if s.Outbox == nil {
		nobody = "who serves is not known"
	}
	rows(w, nobody, []any{"worker", "host", "pid", "roles", "since"}, lines)
	fmt.Fprintln(w)
	nothing := "no batches"
	if s.Projection == nil || s.Projection.PendingMigrations > 0 {
		nothing = "the batches are not known"
	}
	lines = make([][]any, len(s.Batches))
	for i, b := range s.Batches {
		lines[i] = []any{b.State, b.Batches}
	}
	rows(w, nothing, []any{"state", "batches"}, lines)
	fmt.Fprintln(w)
	lines = make([][]any, len(s.Queues))
	for i, q := range s.Queues {
		note := ""
		if q.State == domain.JobCompleted {
			note = "done; waits for clean-up"
		}
		lines[i] = []any{q.State, q.Jobs, note}
	}
	rows(w, "the queues are not known", []any{"queue", "jobs", ""}, lines)
	fmt.Fprintln(w)
	if o := s.Outbox; o != nil {
		fmt.Fprintf(w, "outbox      %d events wait to be carried to the log", o.Unsent)
		if o.Unsent > 0 {
			fmt.Fprintf(w, ", the oldest for %s", lasting(seconds(o.Seconds)))
		}
		fmt.Fprintln(w)
	}
	if l := s.Log; l != nil {
		fmt.Fprintf(w, "log         %s holds %d events\n", l.Name, l.Last)
	}
	switch pr := s.Projection; {
	case pr == nil:
	case pr.PendingMigrations > 0:
		fmt.Fprintf(w, "projection  %d migrations are missing: `accession migrate`\n", pr.PendingMigrations)
	case pr.Events == 0:
		fmt.Fprintln(w, "projection  up to date")
	default:
		fmt.Fprintf(w, "projection  %d events behind, %s", pr.Events, lasting(seconds(pr.Seconds)))
		if pr.Rate > 0 {
			fmt.Fprintf(w, "; %.0f events/s, caught up in %s", pr.Rate, lasting(seconds(pr.Remaining)))
		}
		fmt.Fprintln(w)
	}
	if pr := s.Projection; pr != nil && pr.HeldEvents > 0 {
		fmt.Fprintf(w, "            %d events of %d aggregates are held: `accession poison ls`\n", pr.HeldEvents, pr.HeldAggregates)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
