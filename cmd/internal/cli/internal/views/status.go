package views

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// Status writes how the installation is.
func Status(w io.Writer, s status.Status) {
	render.Rows(w, "", render.Row{"server", "at", ""}, s.Servers, func(x status.ServerStatus) render.Row {
		if !x.OK {
			return render.Row{x.Name, x.URL, "DOES NOT ANSWER: " + export.Line(x.Error)}
		}
		return render.Row{x.Name, x.URL, "answers in " + seconds(x.Seconds)}
	})
	fmt.Fprintln(w)
	none := "no process serves: start `accession serve`"
	if s.Outbox == nil {
		none = "the workers are not known"
	}
	render.Rows(w, none, render.Row{"worker", "host", "pid", "roles", "since"}, s.Workers, func(x status.WorkerStatus) render.Row {
		return render.Row{x.ID, x.Host, x.PID, strings.Join(x.Roles, ","), render.Time(x.Since)}
	})
	fmt.Fprintln(w)
	none = "no batches"
	if s.Projection == nil || s.Projection.PendingMigrations > 0 {
		none = "the batches are not known"
	}
	render.Rows(w, none, render.Row{"state", "batches"}, s.Batches, func(b status.BatchesStatus) render.Row { return render.Row{b.State, b.Batches} })
	fmt.Fprintln(w)
	render.Rows(w, "the queues are not known", render.Row{"queue", "jobs", ""}, s.Queues, func(q status.QueueStatus) render.Row {
		if q.State == domain.JobCompleted {
			return render.Row{q.State, q.Jobs, "done; waits for clean-up"}
		}
		return render.Row{q.State, q.Jobs, ""}
	})
	fmt.Fprintln(w)
	writeHosts(w, s)
	if o := s.Outbox; o != nil {
		oldest := ""
		if o.Unsent > 0 {
			oldest = ", the oldest for " + seconds(o.Seconds)
		}
		fmt.Fprintf(w, "outbox      %d events wait for the log%s\n", o.Unsent, oldest)
	}
	if l := s.Log; l != nil {
		fmt.Fprintf(w, "log         %s has %d events\n", l.Name, l.Last)
	}
	if pr := s.Projection; pr != nil {
		writeLag(w, *pr)
	}
	if d := s.Drop; d != nil && d.Deposits > 0 {
		fmt.Fprintf(w, "drop folder %d deposits wait or were refused, the oldest since %v\n", d.Deposits, render.Time(d.Oldest))
	}
	render.Audit(w, s.Audit)
	standing(w, s)
}

// writeHosts writes which servers of depositors are used, if any are.
func writeHosts(w io.Writer, s status.Status) {
	if len(s.Submitters) > 0 {
		render.Rows(w, "", render.Row{"submitter", "permits", "of", ""}, s.Submitters, func(by status.SubmitterStatus) render.Row {
			return render.Row{by.Submitter, by.Permits, by.Limit, "all in use; the rest of their work waits"}
		})
		fmt.Fprintln(w)
	}
	if len(s.Hosts) == 0 {
		return
	}
	render.Rows(w, "", render.Row{"server of depositors", "permits", "of", ""}, s.Hosts, func(h status.HostStatus) render.Row {
		waits := ""
		if h.Permits >= h.Limit {
			waits = "all in use; the rest of its work waits"
		}
		return render.Row{h.Host, h.Permits, h.Limit, waits}
	})
	if more := *s.HostsIn - len(s.Hosts); more > 0 {
		fmt.Fprintf(w, "and %d more servers\n", more)
	}
	fmt.Fprintln(w)
}

// writeLag writes how far the tables are behind the log.
func writeLag(w io.Writer, pr status.ProjectionStatus) {
	switch {
	case pr.PendingMigrations > 0:
		fmt.Fprintf(w, "projection  %d migrations are missing: `accession migrate`\n", pr.PendingMigrations)
	case pr.Events == 0:
		fmt.Fprintln(w, "projection  up to date")
	default:
		pace := ""
		if pr.Rate > 0 {
			pace = fmt.Sprintf("; %.0f events/s, caught up in %s", pr.Rate, seconds(pr.Remaining))
		}
		fmt.Fprintf(w, "projection  %d events behind, %s%s\n", pr.Events, seconds(pr.Seconds), pace)
	}
	if pr.HeldEvents > 0 {
		fmt.Fprintf(w, "            %d events of %d aggregates are held: `accession poison ls`\n", pr.HeldEvents, pr.HeldAggregates)
	}
}

func seconds(s float64) string { return render.Duration(time.Duration(s * float64(time.Second))) }
