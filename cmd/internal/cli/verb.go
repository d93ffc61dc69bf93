package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// verb is a command that changes one thing or several of a kind.
type verb[ID ~string] struct {
	name, short, long, example string
	final                      bool                         // it cannot be undone: it asks first
	reason                     bool                         // --reason is required
	as                         as[ID]                       // what is asked for
	flags                      func(c *cobra.Command)       // further flags; nil = none
	ids                        func(args []string) []string // what the arguments name; nil = themselves
}

// as says what is asked for to change one thing.
type as[ID ~string] func(id ID, change operation.Change) request

// of returns the verbs of a noun; those that say nothing else ask for the operation of their
// name, with the input that in returns.
func of[ID ~string](noun string, in func(id ID, change operation.Change) any, list ...verb[ID]) []verb[ID] {
	for i, v := range list {
		if v.as == nil {
			list[i].as = func(id ID, change operation.Change) request { return request{noun + "." + v.name, in(id, change)} }
		}
	}
	return list
}

// verbs returns the commands of a noun that change it. arg is its argument in help
// texts, what is the argument in messages, and parse checks it.
func verbs[ID ~string](p *program, arg, what string, parse func(string) (ID, error), list ...verb[ID]) []*cobra.Command {
	commands := make([]*cobra.Command, len(list))
	for i, v := range list {
		commands[i] = changing(p, v, arg+"...", some(what, parse), v.ids)
	}
	return commands
}

// changing returns the command of a verb; args are its arguments in help texts, check
// checks them, and ids, unless nil, returns what they name.
func changing[ID ~string](p *program, v verb[ID], args string, check cobra.PositionalArgs, ids func(args []string) []string) *cobra.Command {
	o := act[ID]{verb: v}
	c := &cobra.Command{Use: v.name + " " + args, Short: v.short, Long: v.long, Example: v.example, Args: check}
	c.PreRunE = func(*cobra.Command, []string) error {
		if o.asks() && !p.Interactive {
			return errors.New("this cannot be undone, and there is no terminal to ask at: try it with --dry-run, then add --yes")
		}
		return nil
	}
	c.RunE = p.over(func(ctx context.Context, d door.Door, args []string) error {
		o.command = c.CommandPath()
		if ids != nil {
			args = ids(args)
		}
		return o.run(ctx, p, d, args)
	})
	reason := "record this `TEXT` as the reason"
	if v.reason {
		reason += " (required)"
	}
	c.Flags().StringVar(&o.why, "reason", "", reason)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would happen, and change nothing")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	if v.flags != nil {
		v.flags(c)
	}
	return c
}

// act is a verb as it was called.
type act[ID ~string] struct {
	verb[ID]
	command     string
	why         string
	dryRun, yes bool
}

// asks reports whether the operation has to be confirmed.
func (o *act[ID]) asks() bool { return o.final && !o.dryRun && !o.yes }

// outcome is the result of an operation on one thing: the answer of the operation, or the
// problem.
type outcome struct {
	ID           string           `json:"id"` // as the command line has it
	*app.Changed                  // nil after an error
	Error        *problem.Problem `json:"error,omitempty"`
	err          error
}

// run does the operation to each id, after a confirmation where it has to. The exit
// code is that of the worst outcome.
func (o *act[ID]) run(ctx context.Context, p *program, d door.Door, ids []string) error {
	var failed []outcome
	if o.asks() {
		tried := o.each(ctx, d, ids, true)
		o.write(p.Err, tried)
		ids = ids[:0:0]
		for _, t := range tried {
			if t.err != nil {
				failed = append(failed, t)
				continue
			}
			ids = append(ids, t.ID)
		}
		if len(ids) > 0 && !o.confirmed(p, ids) {
			return errors.New("not confirmed: nothing was changed")
		}
	}
	all := append(o.each(ctx, d, ids, o.dryRun), failed...)
	if err := listed(p, all, o.write); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	worst := exit.OK
	for _, done := range all {
		worst = exit.Worse(worst, p.report(done.err))
	}
	return exit.If(worst != exit.OK, worst)
}

// each does the operation to one id after the other. It goes on after a refusal, but
// not when a server does not answer.
func (o *act[ID]) each(ctx context.Context, d door.Door, ids []string, dryRun bool) []outcome {
	all := make([]outcome, 0, len(ids))
	away := false
	for _, id := range ids {
		result := outcome{ID: id, err: &app.Error{Kind: app.Unavailable, What: id, Err: errors.New("not tried: a server cannot be reached")}}
		if !away {
			changed, err := o.one(ctx, d, ID(id), dryRun)
			result.Changed, result.err = &changed, err
		}
		if result.err != nil {
			result.Changed, result.Error = nil, exit.Problem(result.err)
			away = exit.Kind(result.err) == app.Unavailable
		}
		if all = append(all, result); ctx.Err() != nil {
			break
		}
	}
	return all
}

// one does the operation to one thing.
func (o *act[ID]) one(ctx context.Context, d door.Door, id ID, dryRun bool) (app.Changed, error) {
	change := operation.Change{DryRun: dryRun}
	if o.why != "" {
		change.Body = &operation.Reason{Reason: o.why}
	}
	r := o.as(id, change)
	return door.Carry[app.Changed](ctx, d, r.name, r.in)
}

// write writes a line for each outcome but the errors, which run reports. Effects are
// shown before they happen, of what cannot be undone, and of a single change.
func (o *act[ID]) write(w io.Writer, all []outcome) {
	for _, done := range all {
		if done.err != nil {
			continue
		}
		views.Changed(w, done.ID, *done.Changed, done.DryRun || o.final || len(all) == 1)
		for _, also := range done.Also {
			views.Changed(w, also.ID, also, false)
		}
	}
}

// confirmed asks at the terminal.
func (o *act[ID]) confirmed(p *program, ids []string) bool {
	what := ids[0]
	if len(ids) > 1 {
		what = fmt.Sprintf("these %d", len(ids))
	}
	fmt.Fprintf(p.Err, "Run `%s` on %s? This cannot be undone. [y/N] ", o.command, what)
	answer, _ := bufio.NewReader(p.In).ReadString('\n')
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}
