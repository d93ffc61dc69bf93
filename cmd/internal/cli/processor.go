package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) processor() *cobra.Command {
	stops := func(name, short, long, example string, stopped bool) *cobra.Command {
		return p.processorVerb(verb[string]{name: name, short: short, long: long, example: example, reason: true,
			do: func(a *app.App, ctx context.Context, id, why string) (app.Changed, error) {
				queue, of, err := processorOf(id)
				if err != nil {
					return app.Changed{}, err
				}
				return queues.SetProcessor(ctx, a, queue, of, why, func(p *domain.Processor) { p.Stopped = stopped })
			}})
	}
	return group(&cobra.Command{
		Use:   "processor",
		Short: "List and set the processors of the deposit queues",
		Long: `A processor grabs deposits from one deposit queue, metadata or query, by criteria of its
own: users that it requires or excludes, users that it prefers, a largest size. Each
queue has one named default without criteria, unless the configuration has others. What
is set here wins over the configuration, and counts from the next grab on.`,
		Example: "  accession processor ls\n  accession processor add metadata films --users ana,ben --reason \"large deposits\"",
	}, p.processorAdd(), p.processorSet(),
		stops("start", "Start stopped processors", "Start processors of a queue that were stopped.", "  accession processor start metadata films --reason \"the disk is back\"", false),
		stops("stop", "Stop processors: they grab nothing more", "Stop processors of a queue: they grab nothing more, and what they work on ends.", "  accession processor stop metadata films --reason \"a new disk\"", true),
		p.processorRm(), p.processorLs(), p.processorShow())
}

// processorVerb returns a command that changes processors of a queue.
func (p *program) processorVerb(v verb[string]) *cobra.Command {
	return changing(p, v, "QUEUE NAME...", aQueue(1, "a processor"), func(args []string) (names []string) {
		for _, queue := range named(args) {
			for _, name := range args[1:] {
				names = append(names, domain.ProcessorName(queue, name))
			}
		}
		return names
	})
}

func processorOf(id string) (queue, name string, err error) {
	if queue, name, err = domain.SplitQueueName(domain.SettingProcessor, id); err != nil {
		err = &app.Error{Kind: app.Invalid, What: "processor", Err: err}
	}
	return queue, name, err
}

// criteria are the flags of what a processor asks for.
type criteria struct {
	domain.Processor
	given map[string]func(*domain.Processor)
}

func (k *criteria) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&k.Users, "users", nil, "serve only these `USERS`; with --exclude-users, all but these")
	f.BoolVar(&k.ExcludeUsers, "exclude-users", false, "do not serve the users of --users")
	f.StringSliceVar(&k.Preferred, "preferred", nil, "serve these `USERS` before all others")
	f.Int64Var(&k.MaxSize, "max-size", 0, "serve deposits of at most `N` bytes, 0 = of any size")
	f.IntVar(&k.Workers, "workers", 0, "have `N` workers in each process, 0 = as many as its configuration says")
	f.BoolVar(&k.Stopped, "stopped", false, "grab nothing until it is started")
	k.given = map[string]func(*domain.Processor){
		"users":         func(p *domain.Processor) { p.Users = distinct(k.Users) },
		"exclude-users": func(p *domain.Processor) { p.ExcludeUsers = k.ExcludeUsers },
		"preferred":     func(p *domain.Processor) { p.Preferred = distinct(k.Preferred) },
		"max-size":      func(p *domain.Processor) { p.MaxSize = k.MaxSize },
		"workers":       func(p *domain.Processor) { p.Workers = k.Workers },
		"stopped":       func(p *domain.Processor) { p.Stopped = k.Stopped },
	}
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		for name := range k.given {
			if !c.Flags().Changed(name) {
				delete(k.given, name)
			}
		}
		if c.Name() == "set" && len(k.given) == 0 {
			return errors.New("nothing is to be changed: give one of --users, --exclude-users, --preferred, --max-size, --workers, --stopped")
		}
		return before(c, args)
	}
}

// edit sets what was given.
func (k *criteria) edit(p *domain.Processor) {
	for _, set := range k.given {
		set(p)
	}
}

func (p *program) processorAdd() *cobra.Command {
	k := &criteria{}
	return p.processorVerb(verb[string]{
		name: "add", reason: true, flags: k.flags,
		short: "Add processors to a deposit queue",
		long: `Add processors to a deposit queue, metadata, query, or all. Without flags they serve
every user. Lists of users are separated by commas.`,
		example: "  accession processor add metadata films --users ana,ben --workers 2 --reason \"large deposits\"\n  accession processor add query small --max-size 1000000 --preferred ana --reason \"quick answers\"",
		do: func(a *app.App, ctx context.Context, id, why string) (app.Changed, error) {
			queue, name, err := processorOf(id)
			if err != nil {
				return app.Changed{}, err
			}
			to := domain.Processor{Queue: queue}
			k.edit(&to)
			return queues.AddProcessor(ctx, a, to, name, why)
		},
	})
}

func (p *program) processorSet() *cobra.Command {
	k := &criteria{}
	return p.processorVerb(verb[string]{
		name: "set", reason: true, flags: k.flags,
		short:   "Change what processors ask for",
		long:    "Change the criteria of processors, also of those of the configuration. What no flag\nnames stays as it is.",
		example: "  accession processor set metadata films --users ana --reason \"ben is done\"\n  accession processor set metadata films --users= --reason \"for every user\"",
		do: func(a *app.App, ctx context.Context, id, why string) (app.Changed, error) {
			queue, name, err := processorOf(id)
			if err != nil {
				return app.Changed{}, err
			}
			return queues.SetProcessor(ctx, a, queue, name, why, k.edit)
		},
	})
}

func (p *program) processorRm() *cobra.Command {
	return p.processorVerb(verb[string]{
		name: "rm", reason: true,
		short:   "Remove processors that were added",
		long:    "Remove processors that were added, or what was set of processors of the configuration,\nwhich then count as it says. What they work on ends.",
		example: "  accession processor rm metadata films --reason \"no more large deposits\"",
		do: func(a *app.App, ctx context.Context, id, why string) (app.Changed, error) {
			queue, name, err := processorOf(id)
			if err != nil {
				return app.Changed{}, err
			}
			return queues.RemoveProcessor(ctx, a, queue, name, why)
		},
	})
}

func (p *program) processorLs() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the processors of the deposit queues",
		Long:    "List the processors of both deposit queues, what they ask for, and what says so.",
		Example: "  accession processor ls\n  accession processor ls -o json | jq '.items[] | select(.stopped)'",
		Args:    cobra.NoArgs,
		RunE: listed(p, func(ctx context.Context, a *app.App, _ []string) ([]queues.Processor, error) {
			return queues.Processors(ctx, a, domain.DepositQueues)
		}, views.Processors),
	}
}

func (p *program) processorShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show QUEUE NAME",
		Short:   "Show a processor",
		Long:    "Show what a processor of a deposit queue asks for, and what says so.",
		Example: "  accession processor show metadata default",
		Args:    aQueue(1, "a processor"),
		RunE: answer(p, func(ctx context.Context, a *app.App, args []string) ([]queues.Processor, error) {
			return queues.ShowProcessor(ctx, a, named(args), args[1])
		}, views.Processors),
	}
}
