package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) submit() *cobra.Command {
	var d app.Deposit
	var watch bool
	c := &cobra.Command{
		Use:   "submit PAYLOAD",
		Short: "Deposit a file or a manifest",
		Long: `Deposit what a URL names, or a local file, which is kept in the object store first.
The answer is the batch that the deposit became.

The payload is a file, a container (zip, tar), a manifest of one object, or a
manifest of many. What a local file is, is seen from it; a manifest behind a URL
needs --type:

  file                      one file, one object
  container                 one archive, one object
  object_manifest           a list of files, one object
  batch_manifest            a list of object manifests
  file_batch_manifest       a list of files, each an object
  container_batch_manifest  a list of archives, each an object

With --watch, wait until the batch is at rest: exit code 0 when it completed, 6 when
something in it failed.`,
		Example: `  accession submit --profile maps chart.tif --title "Harbour chart" --creator "Survey Department"
  accession submit --profile maps --type batch_manifest https://example.org/batch.checkm --watch
  accession submit --profile maps --digest sha256:9f86d0… https://example.org/tide.csv -o json`,
		Args: exactly("one payload"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			d.Payload = args[0]
			if d.Submitter == "" {
				d.Submitter = userName()
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.runSubmit(ctx, a, d, watch) })
		}),
	}
	f := c.Flags()
	f.StringVar(&d.Profile, "profile", "", "`NAME` of the collection's profile (required)")
	f.StringVar(&d.Submitter, "submitter", "", "`NAME` of the depositor (default your user name)")
	f.StringVar((*string)(&d.Type), "type", "", "what the payload is; see above")
	f.StringVar(&d.Mode, "mode", "add", "add new objects, or update those that a manifest of many names")
	f.StringVar(&d.Digest, "digest", "", "of the payload, as `ALGORITHM:HEX`")
	f.StringVar(&d.Title, "title", "", "what it is")
	f.StringVar(&d.Creator, "creator", "", "who made it")
	f.StringVar(&d.Date, "date", "", "when it was made")
	f.BoolVarP(&watch, "watch", "w", false, "wait until the batch is at rest")
	return c
}

func (p *program) runSubmit(ctx context.Context, a *app.App, d app.Deposit, watch bool) error {
	var from uint64
	if watch {
		end, err := a.LogEnd(ctx)
		if err != nil {
			return err
		}
		from = end + 1
	}
	s, err := a.Submit(ctx, d)
	if err != nil {
		return err
	}
	if !watch {
		return p.show(s, func(w io.Writer) {
			fmt.Fprintf(w, "%s accepted as %s\nhint: `accession batch show %s` tells how it goes\n", s.Batch, s.Type, s.Batch)
		})
	}
	fmt.Fprintf(p.Err, "%s accepted as %s\n", s.Batch, s.Type)
	return p.follow(ctx, a, s.Batch, from)
}

// follow watches a batch until it is at rest and tells how it ended.
func (p *program) follow(ctx context.Context, a *app.App, id domain.BatchID, from uint64) error {
	end, err := p.watch(ctx, a, id, from)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(p.Err, "%s goes on; `accession batch show %s` tells how, with --watch until its end\n", id, id)
	}
	if err != nil {
		return err
	}
	if err := shown(ctx, a, end); err != nil {
		fmt.Fprintf(p.Err, "the tables do not show this yet: %v\n", err)
	}
	if err := p.show(end, func(w io.Writer) { fmt.Fprintln(w, summary(end)) }); err != nil {
		return err
	}
	if end.State == domain.BatchFailed {
		fmt.Fprintf(p.Err, "hint: `accession batch report %s` tells what failed and why\n", id)
		return exitError(exitBatchFailed)
	}
	return nil
}

// showLimit is how long a watched batch that has ended is waited for in the tables.
const showLimit = 5 * time.Second

// shown returns when the tables show the end of a batch, so that whoever asks next
// finds it.
func shown(ctx context.Context, a *app.App, end app.Progress) error {
	ctx, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	return a.WaitProjected(ctx, end.Batch, end.Version)
}
