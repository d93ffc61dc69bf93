package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) file() *cobra.Command {
	c := &cobra.Command{
		Use:   "file",
		Short: "List files, show one and its history, take it up again, leave it out",
		Long: `A file is named by its hash: 64 digits that say where it comes from. The tables
and views of PostgreSQL call it raw_file_hash.`,
		Example: "  accession file ls --job jid0000000001\n  accession file requeue " + sampleHash + " --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
	}
	c.AddCommand(p.fileLs(), p.fileShow(), p.fileHistory(), p.fileRequeue(), p.fileSkip())
	return c
}

// sampleHash stands in examples.
const sampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func fileHash(command, word string) (domain.FileHash, error) {
	hash, err := domain.ParseFileHash(word)
	if err != nil {
		return "", &usageError{err, command}
	}
	return hash, nil
}

// checkFile is the check of verbs about files.
func checkFile(s string) error { _, err := domain.ParseFileHash(s); return err }

func (p *program) fileLs() *cobra.Command {
	var f app.FileFilter
	c := &cobra.Command{
		Use:   "ls",
		Short: "List files",
		Long: `List files in the order of their discovery: those of a job as its manifest has them.
For the next page, give the last hash with --after.`,
		Example: "  accession file ls --job jid0000000001\n  accession file ls --status IGNORE -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				page, err := a.Files(ctx, f)
				if err != nil {
					return err
				}
				return p.show(page, func(w io.Writer) {
					showFiles(w, page.Files)
					if page.Truncated {
						fmt.Fprintf(w, "\nthere are more than these %d files; --limit or --after %s for more\n", len(page.Files), page.Next)
					}
				})
			})
		}),
	}
	c.Flags().StringVar((*string)(&f.Batch), "batch", "", "only those of this `BATCH`")
	c.Flags().StringVar((*string)(&f.Job), "job", "", "only those of this `JOB`")
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only those in this `STATE`")
	c.Flags().StringVar(&f.Name, "name", "", "only those with this `TEXT` in their path")
	c.Flags().StringVar((*string)(&f.After), "after", "", "only those after this `HASH`")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.After != "" {
			if _, err := fileHash(c.CommandPath(), string(f.After)); err != nil {
				return err
			}
		}
		return oneOf(c.CommandPath(), "--status", f.Status, domain.FileStates)
	}
	limitFlag(c, &f.Limit, listLimit, "at most so many")
	return c
}

// showFiles writes where files stand, since when, and why.
func showFiles(w io.Writer, files []app.FileRow) {
	lines := make([][]any, len(files))
	for i, f := range files {
		why := ""
		if f.ReasonCode != nil && f.Status != string(domain.FileProcessed) {
			why = *f.ReasonCode + ": " + printable(or(f.ReasonMessage, "").(string))
		}
		lines[i] = []any{f.RawFileHash, f.JobID, printable(f.Path), f.Status, f.DownloadAttempts, f.ProcessingAttempts, f.Size, at(f.StatusSince), why}
	}
	rows(w, "no files", []any{"file", "job", "path", "status", "downloads", "processings", "bytes", "since", "why"}, lines)
}

// filesSummary tells how far a job's files are; a job of which no file is known yet
// has what its estimate says.
func filesSummary(v app.JobView) any {
	c := v.FileCounts
	if c.FilesListed == 0 {
		return or(v.Files, "")
	}
	return countsSummary(c)
}

func countsSummary(c app.FileCounts) string {
	return fmt.Sprintf("%d listed, %d downloaded: %d processed, %d skipped, %d given up, %d deleted, %d in progress",
		c.FilesListed, c.FilesDownloaded, c.FilesProcessed, c.FilesSkipped, c.FilesGivenUp, c.FilesDeleted, c.FilesInProgress)
}

func bytesSummary(v app.JobView) any {
	if c := v.FileCounts; c.FilesListed > 0 {
		return bytesOf(c)
	}
	return or(v.Bytes, "")
}

func bytesOf(c app.FileCounts) string {
	return fmt.Sprintf("%d of %d downloaded", c.BytesDownloaded, c.BytesListed)
}

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

func (p *program) fileHistory() *cobra.Command {
	return p.aboutFile(&cobra.Command{
		Use:     "history HASH",
		Short:   "Show the history of a file",
		Long:    "Show every change of a file's state: when, after how long, by whom and why, and the\nattempts counted until then. Times are those of the log.",
		Example: "  accession file history " + sampleHash + "\n  accession file history " + sampleHash + " -o json",
	}, func(v app.FileView) error {
		return p.show(v.Transitions, func(w io.Writer) { showFileHistory(w, v.Transitions) })
	})
}

func showFileHistory(w io.Writer, moves []app.FileTransition) {
	lines := make([][]any, len(moves))
	for i, t := range moves {
		after, why, from := "", "", t.FromStatus
		if t.Seconds != nil {
			after = fmt.Sprintf("%.3f s", *t.Seconds)
		}
		if t.ReasonCode != nil {
			why = *t.ReasonCode + ": " + printable(or(t.ReasonMessage, "").(string))
		}
		if from == "" {
			from = "–"
		}
		lines[i] = []any{t.Version, from + " → " + t.ToStatus, at(t.At), after, printable(t.Actor), printable(t.Worker),
			t.DownloadAttempts, t.ProcessingAttempts, t.Size, why}
	}
	rows(w, "no history", []any{"no.", "change", "at", "after", "by", "worker", "downloads", "processings", "bytes", "why"}, lines)
}

func (p *program) fileRequeue() *cobra.Command {
	return p.operating(verb{
		use:   "requeue HASH...",
		short: "Take files up again that were given up or left out",
		long: `Take files up again. One that is IGNORE becomes DISCOVERED, one that is ABANDONED
becomes READY, one that is SKIPPED becomes DOWNLOADED; its attempts count from 0. Who
did it and why stay in its history. A failed job takes its own files up again when it
is requeued itself.`,
		example: "  accession file requeue " + sampleHash + " --dry-run\n  accession file requeue " + sampleHash + " --reason outage-over",
		noun:    "file", check: checkFile,
		do: func(ctx context.Context, a *app.App, hash, why string) (app.Changed, error) {
			return a.RequeueFile(ctx, domain.FileHash(hash), why)
		},
	})
}

func (p *program) fileSkip() *cobra.Command {
	return p.operating(verb{
		use:   "skip HASH...",
		short: "Leave downloaded files out",
		long: `Leave files out that are DOWNLOADED: they will not be processed, and the report of
their batch names them. --reason is required; who did it and why stay in their history.
` + "`accession file requeue`" + ` takes them up again.`,
		example: "  accession file skip " + sampleHash + " --reason thumbnail --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
		noun:    "file", check: checkFile, wants: true,
		do: func(ctx context.Context, a *app.App, hash, why string) (app.Changed, error) {
			return a.SkipFile(ctx, domain.FileHash(hash), why)
		},
	})
}
