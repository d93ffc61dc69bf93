package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// depositQueue returns the commands of `accession queue` for the deposit queues.
func (p *program) depositQueue() []*cobra.Command {
	return []*cobra.Command{p.queueSuspend(), p.queueProhibit(false), p.queueProhibit(true), p.queueDefaults(), p.queueLimit(), p.queueUnlimit(), p.queueFree(), p.queuePark(), p.queueUnpark(), p.queueBoard(), p.queueShow()}
}

// aQueue checks the first argument, a deposit queue or all, and that at least so many
// follow.
func aQueue(others int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("give a deposit queue: %s or %s", strings.Join(domain.DepositQueues, ", "), queues.All)
		}
		if len(args) <= others {
			return errors.New("give " + what + " after the queue")
		}
		_, err := queues.Named(args[0])
		return err
	}
}

// named returns the queues that the first argument stands for.
func named(args []string) []string {
	list, _ := queues.Named(args[0]) // checked before
	return list
}

// usersOf returns the users that arguments name, each once. An argument is a list separated
// by commas, as that of a flag is; blanks within a name are of it, and quotes keep a name
// with a comma together.
func usersOf(args []string) (users []string) {
	for _, arg := range args {
		list, err := csv.NewReader(strings.NewReader(arg)).Read()
		if err != nil { // such as a single quote, which is of the name
			list = []string{arg}
		}
		users = append(users, list...)
	}
	return distinct(users)
}

// distinct returns the users that are named, each once.
func distinct(names []string) (users []string) {
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			users = append(users, name)
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

func (p *program) queueSuspend() *cobra.Command {
	return changing(p, verb[string]{
		name: "suspend", reason: true,
		short: "Suspend a deposit queue: no deposits are grabbed",
		long: `Suspend deposit queues: metadata, query, or all. No deposits are grabbed from them; new
ones are accepted, and what runs ends. It lasts until ` + "`accession queue resume`" + `, also over
restarts.`,
		example: "  accession queue suspend metadata --reason \"the store is full\"\n  accession queue suspend all --reason \"upgrade\" --dry-run",
		as: func(queue string, change operation.Change) request {
			return request{"queue.suspend", queueChange(queue, change)}
		},
	}, "QUEUE", aQueue(0, ""), named)
}

func (p *program) queueProhibit(allow bool) *cobra.Command {
	var users []string
	v := verb[string]{
		name: "prohibit", reason: true,
		short: "Let only processors that require them serve users",
		long: `Prohibit users of a deposit queue, metadata, query, or all: only processors that require
them serve them. Lists are separated by commas; quote a name with blanks. What is set
wins over prohibited_users of the configuration, whose users are the start of the list.`,
		example: "  accession queue prohibit all ana,ben --reason \"their tests have a processor of their own\"",
	}
	if allow {
		v.name, v.short = "allow", "Let every processor serve users again"
		v.long = "Allow users of a deposit queue, metadata, query, or all: they are prohibited no more."
		v.example = "  accession queue allow metadata ana --reason \"the tests are over\""
	}
	v.as = func(queue string, change operation.Change) request {
		in := &operation.QueueUsers{Settings: settingsOf(queue, change)}
		in.Body.Users, in.Body.Reason = users, change.Why()
		return request{"queue." + v.name, in}
	}
	return changing(p, v, "QUEUE USER...", aQueue(1, "a user"), func(args []string) []string {
		users = usersOf(args[1:])
		return named(args)
	})
}

// numbers are the flags of an allocation and a concurrency.
type numbers struct{ allocation, concurrency flags.Number }

func (n *numbers) flags(c *cobra.Command, others ...string) {
	c.Flags().Var(&n.allocation, "allocation", "grab `N` deposits of a user in one visit of round robin: 0 = none, unset = as the configuration says")
	c.Flags().Var(&n.concurrency, "concurrency", "run `N` deposits of a user at once: 0 = none, unset = as the configuration says")
	c.MarkFlagsOneRequired(append(others, "allocation", "concurrency")...)
}

func (p *program) queueDefaults() *cobra.Command {
	n, synchronous := &numbers{}, flags.Number{}
	return changing(p, verb[string]{
		name: "defaults", reason: true,
		short: "Set the limits of every user of a deposit queue",
		long: `Set the allocation and the concurrency of the users of a deposit queue, metadata, query,
or all, who have none of their own, and how many synchronous deposits of all users run at
once. What is not named stays as it is.`,
		example: "  accession queue defaults metadata --concurrency 10 --reason \"more workers\"\n  accession queue defaults metadata --synchronous 20 --reason \"an import waits for each answer\"\n  accession queue defaults all --allocation unset --reason \"as before\"",
		flags: func(c *cobra.Command) {
			c.Flags().Var(&synchronous, "synchronous", "run `N` synchronous deposits of metadata at once: 0 = none, unset = as the configuration says")
			n.flags(c, "synchronous")
		},
		as: func(queue string, change operation.Change) request {
			in := &operation.QueueDefaults{Settings: settingsOf(queue, change)}
			in.Body.Allocation, in.Body.Concurrency, in.Body.Synchronous, in.Body.Reason = n.allocation.Is, n.concurrency.Is, synchronous.Is, change.Why()
			return request{"queue.defaults", in}
		},
	}, "QUEUE", aQueue(0, ""), named)
}

// limited returns the names of the settings of users in queues.
func limited(args []string) (names []string) {
	for _, queue := range named(args) {
		for _, user := range usersOf(args[1:]) {
			names = append(names, domain.UserLimitName(queue, user))
		}
	}
	return names
}

func (p *program) queueLimit() *cobra.Command {
	n := &numbers{}
	return changing(p, verb[string]{
		name: "limit", reason: true,
		short: "Set the limits of users of a deposit queue",
		long: `Give users of a deposit queue, metadata, query, or all, an allocation or a concurrency of
their own. Lists are separated by commas; quote a name with blanks. All users get the
same number. Allocation 0 means never by round robin, concurrency 0 never at all.`,
		example: "  accession queue limit metadata ana,ben --allocation 3 --reason \"a deadline\"\n  accession queue limit all eve --concurrency 0 --reason \"broken files\"",
		flags:   func(c *cobra.Command) { n.flags(c) },
		as: func(name string, change operation.Change) request {
			queue, user := limitOf(name)
			in := &operation.QueueLimit{Settings: settingsOf(queue, change)}
			in.Body.User, in.Body.Allocation, in.Body.Concurrency, in.Body.Reason = user, n.allocation.Is, n.concurrency.Is, change.Why()
			return request{"queue.limit", in}
		},
	}, "QUEUE USER...", aQueue(1, "a user"), limited)
}

func (p *program) queueUnlimit() *cobra.Command {
	return changing(p, verb[string]{
		name: "unlimit", reason: true,
		short:   "Remove the limits that were set of users of a deposit queue",
		long:    "Remove what was set of users of a deposit queue, metadata, query, or all. The\nconfiguration, or what holds for every user, counts again.",
		example: "  accession queue unlimit metadata ana --reason \"the deadline is over\"",
		as: func(name string, change operation.Change) request {
			queue, user := limitOf(name)
			in := &operation.QueueUnlimit{Settings: settingsOf(queue, change)}
			in.Body.User, in.Body.Reason = user, change.Why()
			return request{"queue.unlimit", in}
		},
	}, "QUEUE USER...", aQueue(1, "a user"), limited)
}

// limitOf splits a name that limited has made.
func limitOf(name string) (queue, user string) {
	queue, user, _ = domain.SplitQueueName(domain.SettingUserLimit, name)
	return queue, user
}

// settingsOf is what is asked for to change a deposit queue.
func settingsOf(queue string, change operation.Change) operation.Settings {
	return operation.Settings{QueueName: operation.QueueName{Name: queue}, MatchSetting: operation.MatchSetting{Setting: operation.Setting{DryRun: change.DryRun}}}
}

func (p *program) queueShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show QUEUE",
		Short: "Show what is in effect in a deposit queue, and what says so",
		Long: `Show the settings of a deposit queue, metadata, query, or all, and the source of each
value: run time (who set it, when and why), the configuration of this process, or built
in. A setting that cannot be read suspends its queue; it is named.`,
		Example: "  accession queue show metadata\n  accession queue show all -o json",
		Args:    aQueue(0, ""),
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			var all []queues.Shown
			for _, queue := range named(args) {
				s, err := door.Carry[queues.Shown](ctx, d, "queue.show", &operation.QueueName{Name: queue})
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			return listed(p, all, views.Settings)
		}),
	}
}
