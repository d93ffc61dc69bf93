package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) submit() *cobra.Command {
	var d app.Deposit
	var watch bool
	c := &cobra.Command{
		Use:   "submit PAYLOAD",
		Short: "Deposit a file or a manifest",
		Long: `Deposit the content of a URL, or a local file, which is copied to the object store
first. The answer is the id of the new batch.

The payload is a file, a container (zip, tar), a manifest of one object, or a manifest
of many. The type of a local file is detected; a manifest behind a URL needs --type:
  file                      one file, one object
  container                 one archive, one object
  object_manifest           a list of files, one object
  batch_manifest            a list of object manifests
  file_batch_manifest       a list of files, each an object
  container_batch_manifest  a list of archives, each an object

A deposit of one object may name it, by --identifier or by --local-id, which may be
given several times. When the object is there, it gets a new version: with --mode add one
of the deposit's files alone, with --mode update the files of the current version, in
which those of the deposit replace files of the same name or join them. The rows of a
manifest of many name their objects themselves.

With --idempotency-key, a deposit that is requested again under the same key is not made
again: the answer is the batch that it has. Repeat the same command when it was cut
off before its answer. Another deposit under a key that was used is refused.

With --watch, wait until the batch is at rest: exit code 0 when it completed, 6 when it
failed.`,
		Example: `  accession submit --profile maps chart.tif --title "Harbour chart" --creator "Survey Department"
  accession submit --profile maps --type batch_manifest https://example.org/batch.checkm --watch
  accession submit --profile maps --local-id tide-1923 --mode update tide.csv
  accession submit --profile maps --digest sha256:9f86d0… https://example.org/tide.csv -o json`,
		Args: one("payload", anyName),
		RunE: p.using(func(ctx context.Context, a *app.App, args []string) error {
			d.Payload = args[0]
			if d.Submitter == "" {
				d.Submitter = userName()
			}
			return p.runSubmit(ctx, a, d, watch)
		}),
	}
	f := c.Flags()
	f.StringVar(&d.Profile, "profile", "", "`NAME` of the collection's profile (required)")
	f.StringVar(&d.Submitter, "submitter", "", "`NAME` of the depositor (default your user name)")
	f.StringVar((*string)(&d.Type), "type", "", "`TYPE` of the payload; see above")
	f.StringVar(&d.Mode, "mode", "add", "`MODE`: add the files as they are, or update the files of the object")
	f.StringVar(&d.Primary, "identifier", "", "`ARK` of the one object")
	f.StringArrayVar(&d.LocalIDs, "local-id", nil, "the depositor's own `NAME` of the one object")
	f.StringVar(&d.Digest, "digest", "", "digest of the payload, as `ALGORITHM:HEX`")
	f.StringVar(&d.Title, "title", "", "`TITLE` of the object")
	f.StringVar(&d.Creator, "creator", "", "`CREATOR` of the object")
	f.StringVar(&d.Date, "date", "", "`DATE` of the object")
	f.StringVar(&d.Key, "idempotency-key", "", "make one batch under this `KEY`, however often the deposit is requested")
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
	if s.SameAs != "" {
		fmt.Fprintf(p.Err, "warning: the same payload was deposited before, as %s\nhint: `accession batch show %s` shows what became of it\n", s.SameAs, s.SameAs)
	}
	if s.Again {
		fmt.Fprintf(p.Err, "%s was accepted before, under the same key\n", s.Batch)
	}
	if !watch {
		return show(p, s, func(w io.Writer, s app.Submitted) {
			fmt.Fprintf(w, "%s accepted as %s\nhint: `accession batch show %s` shows its progress\n", s.Batch, s.Type, s.Batch)
		})
	}
	fmt.Fprintf(p.Err, "%s accepted as %s\n", s.Batch, s.Type)
	return p.follow(ctx, a, s.Batch, from)
}
