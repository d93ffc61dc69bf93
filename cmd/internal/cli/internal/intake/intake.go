// Package intake has the commands that close and open the intake of deposits.
package intake

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// Env is what the commands have of the program.
type Env struct {
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
	// Changing returns the command of a verb that needs a reason.
	Changing func(v Verb) *cobra.Command
}

// Verb is a command that changes intakes.
type Verb struct {
	Name, Short, Long, Example string
	Args                       cobra.PositionalArgs
	Flags                      func(c *cobra.Command)
	// IDs returns the settings that the arguments name; As says what is asked for to change
	// one of them.
	IDs func(args []string) []string
	As  func(id string, change operation.Change) (name string, in any)
}

// Command returns the command intake.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "intake",
		Short: "Close and open the intake of deposits",
		Long: `While an intake is closed nothing is accepted: no deposits of the deposit queue metadata,
or no queries of query, of one user or of all. Depositors are told a message. What was
accepted before goes on. It lasts until ` + "`accession intake open`" + `, also over restarts, and
counts in every process.`,
		Example: "  accession intake show\n  accession intake close --message \"closed for an upgrade until 18:00\" --reason \"upgrade\"",
	}, e.close(), e.open(), e.show())
}

// chosen is whose intake a command is about.
type chosen struct{ user string }

func (k *chosen) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.user, "user", "", "only of this `NAME` (default all users)")
}

// check checks the argument, a deposit queue.
func (*chosen) check(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) > 1 {
		return fmt.Errorf("%d arguments: give one deposit queue, or none for all", len(args))
	}
	_, err := queues.Named(args[0])
	return err
}

// ids returns the names of the settings, each that of a queue and of the user if there is one.
func (k *chosen) ids(args []string) (ids []string) {
	list, _ := queues.Named(strings.Join(append(args, queues.All)[:1], "")) // checked before
	for _, queue := range list {
		if k.user != "" {
			queue = domain.UserLimitName(queue, k.user)
		}
		ids = append(ids, queue)
	}
	return ids
}

// settings returns what is asked for to change a setting.
func (k *chosen) settings(id string, change operation.Change) operation.Settings {
	if k.user != "" {
		id, _, _ = domain.SplitQueueName(domain.SettingUserLimit, id)
	}
	return operation.Settings{QueueName: operation.QueueName{Name: id}, MatchSetting: operation.MatchSetting{Setting: operation.Setting{DryRun: change.DryRun}}}
}

func (e Env) close() *cobra.Command {
	k, message := &chosen{}, ""
	return e.Changing(Verb{
		Name:  "close",
		Short: "Accept no more deposits, with a message to depositors",
		Long: `Close the intake of a deposit queue, metadata or query, or of both: all, or no argument.
Deposits are refused over HTTP (status 503 with Retry-After) and on the command line
(exit code 12), with the code intake_closed and the message. An upload in pieces that has
begun may end; what waits in the drop folder is transferred. While ZooKeeper does not
answer, ` + "`accession submit --drop`" + ` accepts files all the same.`,
		Example: `  accession intake close --message "closed for an upgrade until 18:00" --reason "upgrade"
  accession intake close metadata --user ana --message "please call us" --reason "broken files"`,
		Args: k.check, IDs: k.ids,
		Flags: func(c *cobra.Command) {
			k.flags(c)
			c.Flags().StringVar(&message, "message", "", "tell depositors this `TEXT`, of one line (required)")
			_ = c.MarkFlagRequired("message") // it is there
		},
		As: func(id string, change operation.Change) (string, any) {
			in := &operation.IntakeClose{Settings: k.settings(id, change)}
			in.Body.User, in.Body.Message, in.Body.Reason = k.user, message, change.Why()
			return "intake.close", in
		},
	})
}

func (e Env) open() *cobra.Command {
	k := &chosen{}
	return e.Changing(Verb{
		Name:  "open",
		Short: "Accept deposits again",
		Long: `Open the intake of a deposit queue, metadata or query, or of both: all, or no argument. A
user for whom it was closed alone stays closed out until it is opened with --user.`,
		Example: "  accession intake open --reason \"the upgrade is done\"\n  accession intake open metadata --user ana --reason \"the files are repaired\"",
		Args:    k.check, Flags: k.flags, IDs: k.ids,
		As: func(id string, change operation.Change) (string, any) {
			in := &operation.IntakeOpen{Settings: k.settings(id, change)}
			in.Body.User, in.Body.Reason = k.user, change.Why()
			return "intake.open", in
		},
	})
}

func (e Env) show() *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Show which intakes are closed",
		Long:    "Show which intakes are closed, for whom, with the message, and who closed them, when and\nwhy.",
		Example: "  accession intake show\n  accession intake show -o json",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			list, err := door.Carry[app.Page[queues.Closed]](ctx, d, "intake.show", &operation.None{})
			if err != nil {
				return err
			}
			return e.Show(list, func(w io.Writer) {
				render.Rows(w, "every intake is open", render.Row{"queue", "user", "message", "since", "by", "why"}, list.Items, func(c queues.Closed) render.Row {
					return render.Row{c.Queue, export.Line(c.User), export.Line(c.Message), c.When, c.By, export.Line(c.Why)}
				})
			})
		}),
	}
}
