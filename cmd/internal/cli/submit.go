package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	manifestcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/manifests"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/watch"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
)

func (p *program) submit() *cobra.Command {
	var d app.Deposit
	var watch, dropped, sync bool
	var wait time.Duration
	var c *cobra.Command
	c = &cobra.Command{
		Use:   "submit PAYLOAD",
		Short: "Deposit a file, a directory or a manifest",
		Long: `Deposit the content of a URL, or a local file, which is copied to the object store
first. The answer is the id of the new batch.

The payload is a file, a container (zip, tar), a manifest of one object, a manifest of
many, a metadata file, or a directory. The type of a local file is detected at once, and
that of a URL when its batch is listed, by the first bytes; --type says it:
  file                      one file, one object
  container                 one archive, one object
  object_manifest           a list of files, one object
  batch_manifest            a list of object manifests
  file_batch_manifest       a list of files, each an object
  container_batch_manifest  a list of archives, each an object
  metadata                  an XML file of a kind that the profile names, one object;
                            its report says for each record Success, Warning or Failure

The files below a directory are packed into a tar archive, a container of one object, and
its batch is watched; --watch=false does not wait.

A deposit of one object may name it, by --identifier or by --local-id, which may be
given several times. When the object is there, it gets a new version: with --mode add one
of the deposit's files alone, with --mode update the files of the current version, in
which those of the deposit replace files of the same name or join them. The rows of a
manifest of many name their objects themselves.

With --idempotency-key, a deposit that is requested again under the same key is not made
again: the answer is the batch that it has. Repeat the same command when it was cut
off before its answer. Another deposit under a key that was used is refused.

With --drop, put a local file into the drop folder: no server needs to answer, and the
service makes the batch when it runs. The answer is an id for ` + "`accession drop show`" + `.

With --sync, the deposit waits in no queue: it runs at once, and its report is the
answer. It is refused when as many run as may (exit code 7), and when its depositor is
not served or the deposit queue is suspended (3). What is not done after --wait goes on;
the exit codes are those of --watch.

With --watch, wait until the batch is at rest: exit code 0 when it completed, 6 when it
failed and 9 when it is held.`,
		Example: `  accession submit --profile maps chart.tif --title "Harbour chart" --creator "Survey Department"
  accession submit --profile maps charts/
  accession submit --profile maps --type batch_manifest https://example.org/batch.checkm --watch
  accession submit --profile maps --local-id tide-1923 --mode update tide.csv
  accession submit --profile maps --sync --wait 2m chart.tif
  accession submit --profile maps --digest sha256:9f86d0… https://example.org/tide.csv -o json`,
		Args: one("payload", anyName),
		RunE: p.over(func(ctx context.Context, at door.Door, args []string) error {
			if d.Payload = args[0]; wait > 0 && !sync {
				return exit.Usagef("--wait goes with --sync; --watch waits for any deposit")
			}
			packed, remove, err := manifestcli.Pack(ctx, &d, p.manifests().Steps)
			defer remove()
			if err != nil {
				return err
			}
			if packed && !c.Flags().Changed("watch") {
				watch = !dropped && !sync
			}
			if at.There != nil {
				if dropped {
					return errNotOverHTTP
				}
				d.Synchronous = sync
				return p.submitThere(ctx, at, d, watch, wait)
			}
			a := at.Here
			d.Submitter = cmp.Or(d.Submitter, userName())
			switch {
			case dropped:
				return p.runDrop(ctx, a, d)
			case sync:
				return p.runSync(ctx, a, d, wait)
			}
			return p.runSubmit(ctx, a, d, watch)
		}),
	}
	flags.Deposit(c, &d)
	f := c.Flags()
	f.BoolVarP(&watch, "watch", "w", false, "wait until the batch is at rest")
	f.BoolVar(&dropped, "drop", false, "accept a local file into the drop folder, without any server")
	f.BoolVar(&sync, "sync", false, "run it at once, outside the deposit queue, and answer with its report")
	flags.Within(c, &wait, "wait", "", synchronous.MaxWait, "with --sync, `TIME` to wait for the report (default 1m)")
	c.MarkFlagsMutuallyExclusive("drop", "watch", "sync")
	return c
}

func (p *program) runSync(ctx context.Context, a *app.App, d app.Deposit, wait time.Duration) error {
	return p.ended(synchronous.Submit(ctx, a, d, wait, func(s app.Submitted) { views.Accepted(p.Err, s) }))
}

// ended shows how a synchronous deposit ended.
func (p *program) ended(is synchronous.Answer, err error) error {
	if err != nil {
		return err
	}
	if err := show(p, is, views.Synchronous); err != nil {
		return err
	}
	return exit.Batch(is.State)
}

func (p *program) runDrop(ctx context.Context, a *app.App, d app.Deposit) error {
	got, err := drops.Accept(ctx, a, d)
	if err != nil {
		return err
	}
	return show(p, got, views.Dropped)
}

func (p *program) runSubmit(ctx context.Context, a *app.App, d app.Deposit, watch bool) error {
	var from uint64 // the sequence from which watch shows the events of the batch
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
	return p.accepted(ctx, door.Door{Here: a}, s, watch, from)
}

// accepted shows a deposit that was accepted, or follows its batch.
func (p *program) accepted(ctx context.Context, at door.Door, s app.Submitted, follow bool, from uint64) error {
	if follow {
		views.Accepted(p.Err, s)
		return p.follow(ctx, at, s.Batch, from)
	}
	views.Earlier(p.Err, s)
	return show(p, s, views.Submitted)
}

// atOnce waits for the end of a synchronous deposit at a service over HTTP.
func (p *program) atOnce(ctx context.Context, at door.Door, s app.Submitted, wait time.Duration) error {
	views.Accepted(p.Err, s)
	return p.ended(watch.Await(ctx, at.There, s, wait))
}

// submitThere deposits at a service over HTTP: the content of a URL, or a local file.
func (p *program) submitThere(ctx context.Context, at door.Door, d app.Deposit, follow bool, wait time.Duration) error {
	there, about, once := at.There, door.About(d), operation.Once{Key: d.Key}
	if strings.HasPrefix(d.Payload, "http://") || strings.HasPrefix(d.Payload, "https://") {
		s, err := remote.Ask[app.Submitted](ctx, there, "submission.create", &operation.Submission{Once: once, Body: operation.SubmissionBody{About: about, URL: d.Payload, Synchronous: d.Synchronous}})
		if err != nil {
			return err
		}
		if d.Synchronous {
			return p.atOnce(ctx, at, s, wait)
		}
		return p.accepted(ctx, at, s, follow, 0)
	}
	f, err := door.Payload(d.Payload)
	if err != nil {
		return err
	}
	defer f.Close()
	file := &operation.Upload{About: about, Once: once, Name: filepath.Base(d.Payload)}
	if d.Synchronous {
		s, err := remote.Send[app.Submitted](ctx, there, "upload.synchronous", file, f)
		if err != nil {
			return err
		}
		return p.atOnce(ctx, at, s, wait)
	}
	got, err := remote.Send[drops.Shown](ctx, there, "upload.create", file, f)
	if err != nil {
		return err
	}
	if !follow {
		return show(p, got, views.Drop)
	}
	views.Drop(p.Err, got)
	id, err := door.Transferred(ctx, there, got.ID)
	if err != nil {
		return err
	}
	return p.follow(ctx, at, id, 0)
}
