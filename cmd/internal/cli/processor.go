package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) processor() *cobra.Command {
	stops := func(name, short, long, example string) *cobra.Command {
		return p.processorVerb(verb[string]{name: name, short: short, long: long, example: example, reason: true, as: processorChange("processor." + name)})
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
		stops("start", "Start stopped processors", "Start processors of a queue that were stopped.", "  accession processor start metadata films --reason \"the disk is back\""),
		stops("stop", "Stop processors: they grab nothing more", "Stop processors of a queue: they grab nothing more, and what they work on ends.", "  accession processor stop metadata films --reason \"a new disk\""),
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

// processorOf splits a name that processorVerb has made.
func processorOf(id string) operation.ProcessorName {
	queue, name, _ := domain.SplitQueueName(domain.SettingProcessor, id)
	return operation.ProcessorName{Name: queue, Processor: name}
}

// processorChange is what is asked for to change a processor.
func processorChange(name string) as[string] {
	return func(id string, change operation.Change) request {
		return request{name, &operation.ProcessorChange{ProcessorName: processorOf(id), Match: operation.Match{Change: change}}}
	}
}

// criteria are the flags of what a processor asks for.
type criteria struct {
	domain.Processor
	given func(flag string) bool
}

func (k *criteria) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&k.Users, "users", nil, "serve only these `USERS`; with --exclude-users, all but these")
	f.BoolVar(&k.ExcludeUsers, "exclude-users", false, "do not serve the users of --users")
	f.StringSliceVar(&k.Preferred, "preferred", nil, "serve these `USERS` before all others")
	f.Int64Var(&k.MaxSize, "max-size", 0, "serve deposits of at most `N` bytes, 0 = of any size")
	f.IntVar(&k.Workers, "workers", 0, "have `N` workers in each process, 0 = as many as its configuration says")
	f.BoolVar(&k.Stopped, "stopped", false, "grab nothing until it is started")
	k.given = f.Changed
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if names := []string{"users", "exclude-users", "preferred", "max-size", "workers", "stopped"}; c.Name() == "set" && !slices.ContainsFunc(names, f.Changed) {
			return errors.New("nothing is to be changed: give one of --" + strings.Join(names, ", --"))
		}
		return before(c, args)
	}
}

// as returns what is asked for: what was given.
func (k *criteria) as(name string) as[string] {
	return func(id string, change operation.Change) request {
		in := &operation.ProcessorSet{ProcessorName: processorOf(id), MatchSetting: operation.MatchSetting{Setting: operation.Setting{DryRun: change.DryRun}}}
		in.Body.Reason = change.Why()
		in.Body.Criteria = operation.Criteria{
			Users: given(k, "users", distinct(k.Users)), ExcludeUsers: given(k, "exclude-users", k.ExcludeUsers), Preferred: given(k, "preferred", distinct(k.Preferred)),
			MaxSize: given(k, "max-size", k.MaxSize), Workers: given(k, "workers", k.Workers), Stopped: given(k, "stopped", k.Stopped),
		}
		return request{name, in}
	}
}

func given[T any](k *criteria, flag string, value T) *T {
	if !k.given(flag) {
		return nil
	}
	return &value
}

func (p *program) processorAdd() *cobra.Command {
	k := &criteria{}
	return p.processorVerb(verb[string]{
		name: "add", reason: true, flags: k.flags,
		short: "Add processors to a deposit queue",
		long: `Add processors to a deposit queue, metadata, query, or all. Without flags they serve
every user. Lists of users are separated by commas.`,
		example: "  accession processor add metadata films --users ana,ben --workers 2 --reason \"large deposits\"\n  accession processor add query small --max-size 1000000 --preferred ana --reason \"quick answers\"",
		as:      k.as("processor.add"),
	})
}

func (p *program) processorSet() *cobra.Command {
	k := &criteria{}
	return p.processorVerb(verb[string]{
		name: "set", reason: true, flags: k.flags,
		short:   "Change what processors ask for",
		long:    "Change the criteria of processors, also of those of the configuration. What no flag\nnames stays as it is.",
		example: "  accession processor set metadata films --users ana --reason \"ben is done\"\n  accession processor set metadata films --users= --reason \"for every user\"",
		as:      k.as("processor.set"),
	})
}

func (p *program) processorRm() *cobra.Command {
	return p.processorVerb(verb[string]{
		name: "rm", reason: true,
		short:   "Remove processors that were added",
		long:    "Remove processors that were added, or what was set of processors of the configuration,\nwhich then count as it says. What they work on ends.",
		example: "  accession processor rm metadata films --reason \"no more large deposits\"",
		as:      processorChange("processor.rm"),
	})
}

func (p *program) processorLs() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the processors of the deposit queues",
		Long:    "List the processors of both deposit queues, what they ask for, and what says so.",
		Example: "  accession processor ls\n  accession processor ls -o json | jq '.items[] | select(.stopped)'",
		Args:    cobra.NoArgs,
		RunE:    whole(p, func([]string) request { return request{"processor.ls", &operation.None{}} }, views.Processors),
	}
}

func (p *program) processorShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show QUEUE NAME",
		Short:   "Show a processor",
		Long:    "Show what a processor of a deposit queue asks for, and what says so.",
		Example: "  accession processor show metadata default",
		Args:    aQueue(1, "a processor"),
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			var all []queues.Processor
			for _, queue := range named(args) {
				one, err := door.Carry[queues.Processor](ctx, d, "processor.show", &operation.ProcessorName{Name: queue, Processor: args[1]})
				if err != nil {
					return err
				}
				all = append(all, one)
			}
			return listed(p, all, views.Processors)
		}),
	}
}
