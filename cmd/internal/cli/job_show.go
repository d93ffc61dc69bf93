package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobShow() *cobra.Command {
	var then app.Moment
	c := &cobra.Command{
		Use:     "show JOB",
		Short:   "Show a job, its files and its history",
		Long:    "Show a job, where its object is, how far its files are and the first 20 of them, and\nevery change of its state: when, after how long, by whom and why. With --at it is shown\nas it was.",
		Example: "  accession job show jid0000000001\n  accession job show jid0000000001 --at 4711 -o json",
		Args:    exactly("one job id"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			id, err := domain.ParseJobID(args[0])
			if err != nil {
				return &usageError{err, "accession job show"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				ask := func() (app.JobView, error) { return a.Job(ctx, id) }
				if !then.IsNow() {
					ask = func() (app.JobView, error) { return a.JobAt(ctx, id, then) }
				}
				v, err := ask()
				if err != nil {
					return err
				}
				return p.show(v, func(w io.Writer) {
					showPlace(w, v.At)
					showJob(w, v)
				})
			})
		}),
	}
	atFlag(c, &then)
	return c
}

func showJob(w io.Writer, v app.JobView) {
	reason := ""
	if v.ReasonCode != nil {
		reason = fmt.Sprintf("%s (%s): %s", *v.ReasonCode, or(v.ReasonClass, ""), printable(or(v.ReasonMessage, "").(string)))
	}
	pairs(w,
		[2]any{"job", v.ID}, [2]any{"batch", v.BatchID}, [2]any{"status", v.Status}, [2]any{"reason", reason},
		[2]any{"title", printable(v.ErcWhat)}, [2]any{"creator", printable(v.ErcWho)}, [2]any{"date", printable(v.ErcWhen)},
		[2]any{"identifier", printable(v.PrimaryIdentifier)}, [2]any{"local ids", printable(strings.Join(v.LocalID, "; "))},
		[2]any{"payload", printable(v.PayloadUrl)}, [2]any{"payload type", v.PayloadType},
		[2]any{"priority", v.Priority}, [2]any{"retries", v.RetryCount},
		[2]any{"files", filesSummary(v)}, [2]any{"bytes", bytesSummary(v)},
		[2]any{"stored as", or(v.ManifestKey, "")})
	fmt.Fprintln(w)
	if len(v.FirstFiles) > 0 {
		showFiles(w, v.FirstFiles)
		if more := v.FileCounts.FilesListed - int64(len(v.FirstFiles)); more > 0 {
			fmt.Fprintf(w, "and %d more: accession file ls --job %s\n", more, v.ID)
		}
		fmt.Fprintln(w)
	}
	lines := make([][]any, len(v.Transitions))
	for i, t := range v.Transitions {
		after, why := "", ""
		if t.Seconds != nil {
			after = fmt.Sprintf("%.3f s", *t.Seconds)
		}
		if t.ReasonCode != nil {
			why = *t.ReasonCode + ": " + printable(or(t.ReasonMessage, "").(string))
		}
		from := t.FromStatus
		if from == "" {
			from = "–"
		}
		lines[i] = []any{t.Version, from + " → " + t.ToStatus, at(t.At), after, printable(t.Actor), why}
	}
	rows(w, "no history", []any{"no.", "change", "at", "after", "by", "why"}, lines)
	fmt.Fprintln(w)
	showRetries(w, v.Retries)
}
