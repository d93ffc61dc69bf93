package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/directories"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// sampleHash stands in examples.
const sampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func (p *program) file() *cobra.Command {
	changes := verbs(p, "HASH", "file hash", domain.ParseFileHash, of("file", fileChange,
		verb[domain.FileHash]{
			name:  "requeue",
			short: "Requeue files that were given up or skipped",
			long: `Requeue files: IGNORE becomes DISCOVERED, ABANDONED becomes READY, SKIPPED becomes
DOWNLOADED, and the attempts are counted from 0. The history records who did it and
why. The job that failed with a file which was given up is requeued too. To requeue all
files of a failed job, requeue the job.`,
			example: "  accession file requeue " + sampleHash + " --dry-run\n  accession file requeue " + sampleHash + " --reason outage-over",
		},
		verb[domain.FileHash]{
			name:  "skip",
			short: "Skip downloaded files",
			long: `Skip files that are DOWNLOADED: they are not processed, and the report of their batch
lists them. --reason is required; the history records it. ` + "`accession file requeue`" + `
undoes it.`,
			example: "  accession file skip " + sampleHash + " --reason thumbnail --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
			reason:  true,
		},
		verb[domain.FileHash]{name: "redownload", short: directories.Redownload, long: directories.RedownloadLong, example: "  accession file redownload " + sampleHash + " --reason changed", reason: true},
		verb[domain.FileHash]{name: "reprocess", short: directories.Reprocess, long: directories.ReprocessLong, example: "  accession file reprocess " + sampleHash + " --reason new-algorithm", reason: true},
		verb[domain.FileHash]{name: "abandon", short: directories.Abandon, long: directories.AbandonLong, example: "  accession file abandon " + sampleHash + " --reason too-late", reason: true})...)
	return group(&cobra.Command{
		Use:   "file",
		Short: "List, show, requeue, skip, redownload, reprocess and abandon files",
		Long: `A file is identified by its hash: 64 digits made from its source and path. The tables
and views of PostgreSQL call it raw_file_hash.`,
		Example: "  accession file ls --job jid0000000001\n  accession file requeue " + sampleHash + " --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
	}, append(changes, p.fileLs(), p.fileShow(), p.fileHistory())...)
}

func (p *program) fileLs() *cobra.Command {
	var f app.FileFilter
	var from app.Cursor
	var sort string
	c := &cobra.Command{
		Use:   "ls",
		Short: "List files",
		Long: `List files in the order of their discovery, the files of a job in the order of its
manifest; or in the order of --sort. For the next page, give --cursor.`,
		Example: "  accession file ls --job jid0000000001\n  accession file ls --state IGNORE -o json\n  accession file ls --dataset nights --group 20261120",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request {
			return request{"file.ls", &operation.FileList{Page: pageOf(f.Limit, from), Filter: filter(f.Filter), Batch: string(f.Batch), Job: string(f.Job), State: string(f.State), Name: f.Name, Dataset: f.Dataset, Group: f.Group, Order: operation.Order{Sort: sort}}}
		}, func(w io.Writer, page app.Page[app.FileRow]) {
			views.Files(w, page.Items)
			more(w, page, "files")
		}),
	}
	flags.Parsed(c, &f.Batch, "batch", "", "only files of this `BATCH`", flags.Optional(domain.ParseBatchID))
	flags.Parsed(c, &f.Job, "job", "", "only files of this `JOB`", flags.Optional(domain.ParseJobID))
	flags.Parsed(c, &f.State, "state", "", "only files in this `STATE`", flags.Optional(flags.Among(domain.FileStates...)))
	c.Flags().StringVar(&f.Name, "name", "", "only files with this `TEXT` in their path")
	c.Flags().StringVar(&f.Dataset, "dataset", "", "only files of this `DATASET` of open directories")
	c.Flags().StringVar(&f.Group, "group", "", "only files of this `GROUP` of a dataset")
	flags.Filter(c, &f.Filter, "files")
	flags.Sort(c, &sort, app.FileOrders)
	flags.Cursor(c, &from)
	flags.Limit(c, &f.Limit, flags.ListLimit, "files")
	return c
}

func (p *program) fileShow() *cobra.Command {
	return p.aboutFile(&cobra.Command{
		Use:   "show HASH",
		Short: "Show a file",
		Long: `Show a file: its source, its state, its attempts, the digest of its content, and every
failed attempt. With --at, show it as it was.`,
		Example: "  accession file show " + sampleHash + "\n  accession file show " + sampleHash + " --at 24h",
	}, func(v app.FileView) error { return show(p, v, views.File) })
}

func (p *program) fileHistory() *cobra.Command {
	return p.aboutFile(&cobra.Command{
		Use:   "history HASH",
		Short: "Show the history of a file",
		Long: `Show every change of a file's state: when, after how long, by whom and why, and the
attempts counted until then. Times are those of the log.`,
		Example: "  accession file history " + sampleHash + "\n  accession file history " + sampleHash + " -o json",
	}, func(v app.FileView) error { return listed(p, v.Transitions, views.FileHistory) })
}

// aboutFile completes a command that shows one file.
func (p *program) aboutFile(c *cobra.Command, write func(app.FileView) error) *cobra.Command {
	var then app.Moment
	flags.At(c, &then)
	c.Args = one("file hash", domain.ParseFileHash)
	c.RunE = p.over(func(ctx context.Context, d door.Door, args []string) error {
		v, err := door.Carry[app.FileView](ctx, d, "file.show", &operation.FileShow{FileHash: operation.FileHash{ID: args[0]}, At: at(then)})
		if err != nil {
			return err
		}
		return write(v)
	})
	return c
}

// fileChange is what is asked for to change a file.
func fileChange(id domain.FileHash, change operation.Change) any {
	return &operation.FileChange{FileHash: operation.FileHash{ID: string(id)}, Match: operation.Match{Change: change}}
}
