package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) fileShow() *cobra.Command {
	return p.aboutFile(&cobra.Command{
		Use:     "show HASH",
		Short:   "Show a file",
		Long:    "Show a file: where it comes from, where it stands, its attempts, its content's digest,\nand every failed attempt. With --at it is shown as it was.",
		Example: "  accession file show " + sampleHash + "\n  accession file show " + sampleHash + " --at 24h",
	}, func(v app.FileView) error {
		return p.show(v, func(w io.Writer) {
			showPlace(w, v.At)
			showFile(w, v)
		})
	})
}

// aboutFile gives a command the use case that shows a file.
func (p *program) aboutFile(c *cobra.Command, show func(app.FileView) error) *cobra.Command {
	var then app.Moment
	atFlag(c, &then)
	c.Args = exactly("one file's hash")
	c.RunE = p.stoppable(func(ctx context.Context, args []string) error {
		id, err := fileHash(c.CommandPath(), args[0])
		if err != nil {
			return err
		}
		return p.using(ctx, func(ctx context.Context, a *app.App) error {
			ask := func() (app.FileView, error) { return a.File(ctx, id) }
			if !then.IsNow() {
				ask = func() (app.FileView, error) { return a.FileAt(ctx, id, then) }
			}
			v, err := ask()
			if err != nil {
				return err
			}
			return show(v)
		})
	})
	return c
}

func showFile(w io.Writer, v app.FileView) {
	reason, digest := "", ""
	if v.ReasonCode != nil {
		reason = fmt.Sprintf("%s (%s): %s", *v.ReasonCode, or(v.ReasonClass, ""), printable(or(v.ReasonMessage, "").(string)))
	}
	if v.DigestValue != "" {
		digest = printable(v.DigestAlgorithm + ":" + v.DigestValue)
	}
	pairs(w,
		[2]any{"file", v.RawFileHash}, [2]any{"path", printable(v.Path)}, [2]any{"status", v.Status}, [2]any{"since", at(v.StatusSince)},
		[2]any{"reason", reason}, [2]any{"worker", printable(v.Worker)},
		[2]any{"job", v.JobID}, [2]any{"batch", v.BatchID}, [2]any{"source", printable(v.Source)}, [2]any{"url", printable(v.Url)},
		[2]any{"digest given", digest}, [2]any{"bytes", v.Size}, [2]any{"sha256", v.Sha256},
		[2]any{"downloads", v.DownloadAttempts}, [2]any{"download began", atPtr(v.DownloadStartedAt)},
		[2]any{"processings", v.ProcessingAttempts}, [2]any{"processing began", atPtr(v.ProcessingStartedAt)},
		[2]any{"result", printable(or(v.OutputKey, "").(string))}, [2]any{"discovered", at(v.DiscoveredAt)}, [2]any{"version", v.Version})
	fmt.Fprintln(w)
	showFileRetries(w, v.Retries)
}

// showFileRetries writes the failed attempts of a file.
func showFileRetries(w io.Writer, retries []app.Retry) {
	lines := make([][]any, len(retries))
	for i, r := range retries {
		lines[i] = []any{r.Attempt, r.FailedIn, r.Class, r.Code, at(r.FailedAt), atPtr(r.ResumedAt), printable(or(r.ResumedBy, "").(string)), printable(r.Worker), r.Outcome, printable(r.Message)}
	}
	rows(w, "no attempt has failed", []any{"attempt", "failed in", "class", "code", "failed at", "resumed", "by", "worker", "outcome", "why"}, lines)
}
