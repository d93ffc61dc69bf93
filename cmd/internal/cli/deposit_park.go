package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// moving parks or unparks the deposits of a choice.
type moving struct {
	queue                      string
	verb, short, long, example string
	do                         func(ctx context.Context, a *app.App, c queues.Choice, why string, seen queues.Seen) (queues.Moved, error)
}

// choosing is what the flags of such a command say.
type choosing struct {
	named        []string
	since, until time.Time
	why          string
	dryRun       bool
}

func (p *program) queuePark() *cobra.Command {
	return p.moves(moving{
		queue: fair.QueueMetadata, verb: "park", do: queues.Park,
		short: "Take waiting deposits out of the deposit queue",
		long: `Park the waiting deposits of users: they leave the queue metadata, and are held until
` + "`accession queue unpark`" + `. What runs is not touched. Choose by the time of reception, or
name batches. The choice is of what waits now: run it again after an interruption.`,
		example: "  accession queue park ana,ben --reason \"wrong files\"\n  accession queue park ana --received-after 2026-11-01 --received-before 2026-11-02 --reason \"wrong files\" --dry-run\n  accession queue park --batch bid0000000042 --reason \"wrong file\"",
	})
}

func (p *program) queueUnpark() *cobra.Command {
	return p.moves(moving{
		queue: fair.QueueMetadata, verb: "unpark", do: queues.Unpark,
		short: "Let parked deposits wait again",
		long: `Unpark the parked deposits of users: they wait in the queue metadata again, before the
deposits that their users have sent since, in the order that they had. Choose by the time
of reception, or name batches. After an interruption, run it again for the rest.`,
		example: "  accession queue unpark ana --reason \"the files are right\"\n  accession queue unpark --batch bid0000000042 --reason \"the file is right\" --dry-run",
	})
}

func (p *program) moves(m moving) *cobra.Command {
	var o choosing
	args, flag, help := "USER", "batch", "only these `BATCHES`, separated by commas; they need no user"
	if m.queue == fair.QueueQuery {
		args, flag, help = "QUERY", "user", "those of these `USERS`, separated by commas"
	}
	c := &cobra.Command{Use: m.verb + " [" + args + "...]", Short: m.short, Long: m.long, Example: m.example, Args: cobra.ArbitraryArgs}
	c.RunE = p.over(func(ctx context.Context, d door.Door, args []string) error {
		choice, err := o.choice(m.queue, args)
		if err != nil {
			return err
		}
		if d.There != nil {
			in := &operation.QueueMove{QueueName: operation.QueueName{Name: m.queue}, Setting: operation.Setting{DryRun: o.dryRun}}
			in.Body.Users, in.Body.IDs, in.Body.Since, in.Body.Until, in.Body.Reason = choice.Users, choice.IDs, choice.Since, choice.Until, o.why
			done, err := door.Carry[queues.Moved](ctx, d, "queue."+m.verb, in)
			if err != nil {
				return err
			}
			return show(p, done, views.Moved)
		}
		a := d.Here // where progress is shown
		a.DryRun = o.dryRun
		var seen queues.Seen
		end := func() {}
		if p.LogTerminal {
			seen, end = render.Growing(ctx, p.Err, "deposits ")
		}
		done, err := m.do(ctx, a, choice, o.why, seen)
		end()
		d.Note(ctx, "queue."+m.verb, operation.Ending{On: "queue/" + m.queue, Why: o.why, DryRun: o.dryRun, Err: err})
		if err == nil || done.Looked > 0 {
			err = errors.Join(show(p, done, views.Moved), err)
		}
		return err
	})
	f := c.Flags()
	f.StringSliceVar(&o.named, flag, nil, help)
	flags.Parsed(c, &o.since, "received-after", "", "only those received at this `TIME` or later ("+flags.TimeHelp+")", flags.ParseTime)
	flags.Parsed(c, &o.until, "received-before", "", "only those received before this `TIME`", flags.ParseTime)
	f.StringVar(&o.why, "reason", "", "record this `TEXT` as the reason (required)")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would happen, and change nothing")
	return c
}

// choice returns what the arguments and flags choose.
func (o choosing) choice(queue string, args []string) (c queues.Choice, err error) {
	c = queues.Choice{Queue: queue, Users: usersOf(args), IDs: o.named, Since: o.since, Until: o.until}
	if queue == fair.QueueQuery {
		c.Users, c.IDs = distinct(o.named), args
	}
	for _, id := range c.IDs {
		if _, err = domain.ParseQueryID(id); queue != fair.QueueQuery {
			_, err = domain.ParseBatchID(id)
		}
		if err != nil {
			return c, exit.Usagef("%v", err)
		}
	}
	return c, nil
}
