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
	"github.com/accession-ingest/accession/domain"
)

// verb is an operator's command about one thing or several of its kind.
type verb struct {
	use, short, long, example string

	noun  string             // what it is about: batch, job, collection, queue
	check func(string) error // of an argument
	final bool               // it cannot be undone: it asks first
	wants bool               // it needs a reason
	do    func(ctx context.Context, a *app.App, id, why string) (app.Changed, error)
	flags func(c *cobra.Command) // further flags; nil = none
}

// operation is how a verb was asked for.
type operation struct {
	verb
	command  string // as it was called
	why      string
	dry, yes bool
}

// operating makes the command of a verb.
func (p *program) operating(v verb) *cobra.Command {
	o := operation{verb: v}
	c := &cobra.Command{Use: v.use, Short: v.short, Long: v.long, Example: v.example, Args: func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("say which %s", v.noun)
		}
		for _, arg := range args {
			if err := v.check(arg); err != nil {
				return err
			}
		}
		return nil
	}}
	c.RunE = p.stoppable(func(ctx context.Context, args []string) error {
		o.command = c.CommandPath()
		return p.operate(ctx, o, args)
	})
	reason := "why, in `WORDS`, for the history"
	if v.wants {
		reason += " (required)"
	}
	f := c.Flags()
	f.StringVar(&o.why, "reason", "", reason)
	f.BoolVar(&o.dry, "dry-run", false, "tell what would happen, and do nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask before what cannot be undone")
	if v.flags != nil {
		v.flags(c)
	}
	return c
}

// outcome is what became of one of the things that a command was about.
type outcome struct {
	ID           string   `json:"id"`
	*app.Changed          // nil when it failed
	Error        *failure `json:"error,omitempty"`
	err          error
}

// failure is an error as programs read it.
type failure struct {
	Kind    app.Kind `json:"kind"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty"`
}

// operate does the operation to each, asking first where it has to. Each has its
// own line; the exit code is that of the worst.
func (p *program) operate(ctx context.Context, o operation, ids []string) error {
	ask := o.final && !o.dry && !o.yes
	if ask && !p.Interactive {
		return &usageError{errors.New("this cannot be undone, and there is no terminal to ask at: try it with --dry-run, then say --yes"), o.command}
	}
	return p.using(ctx, func(ctx context.Context, a *app.App) error {
		var failed []outcome
		if ask {
			a.DryRun = true
			tried := o.each(ctx, a, ids)
			failed = slices.DeleteFunc(slices.Clone(tried), func(t outcome) bool { return t.err == nil })
			tried = slices.DeleteFunc(tried, func(t outcome) bool { return t.err != nil })
			o.tell(p.Err, tried)
			if ids = idsOf(tried); len(ids) > 0 && !p.confirmed(o, ids) {
				return errors.New("not confirmed: nothing was done")
			}
		}
		a.DryRun = o.dry
		all := append(o.each(ctx, a, ids), failed...)
		if err := p.show(all, func(w io.Writer) { o.tell(w, all) }); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		codes := []int{exitOK}
		for _, done := range all {
			codes = append(codes, p.report(done.err))
		}
		if code := worst(codes); code != exitOK {
			return exitError(code)
		}
		return nil
	})
}

// each does the operation to one after the other, and goes on after a refusal, but
// not when a server is away.
func (o operation) each(ctx context.Context, a *app.App, ids []string) []outcome {
	all := make([]outcome, 0, len(ids))
	for i, id := range ids {
		changed, err := o.do(ctx, a, id, o.why)
		if err == nil {
			all = append(all, outcome{ID: id, Changed: &changed})
			continue
		}
		all = append(all, failedOutcome(id, err))
		var known *app.Error
		if errors.As(err, &known) && known.Kind == app.Unavailable {
			for _, left := range ids[i+1:] {
				all = append(all, failedOutcome(left, &app.Error{Kind: app.Unavailable, What: left, Err: errors.New("not tried, for a server cannot be reached")}))
			}
			break
		}
		if ctx.Err() != nil {
			break
		}
	}
	return all
}

func failedOutcome(id string, err error) outcome {
	f := &failure{Kind: app.Failed, Message: err.Error()}
	var known *app.Error
	if errors.As(err, &known) {
		f.Kind, f.Hint = known.Kind, known.Hint
	}
	return outcome{ID: id, Error: f, err: err}
}

func idsOf(all []outcome) []string {
	ids := make([]string, len(all))
	for i, o := range all {
		ids[i] = o.ID
	}
	return ids
}

// tell writes what was done, one line each. What follows from it stands below when
// somebody wants to know: before it is done, when it cannot be undone, or of one.
func (o operation) tell(w io.Writer, all []outcome) {
	for _, done := range all {
		if done.err != nil {
			continue // told on the error stream
		}
		how := ""
		if done.Row != "" {
			how = " (" + done.Row + ")"
		}
		switch {
		case done.DryRun && done.From == done.State:
			fmt.Fprintf(w, "%s would stay %s%s\n", done.ID, done.State, how)
		case done.DryRun:
			fmt.Fprintf(w, "%s would go from %s to %s%s\n", done.ID, done.From, done.State, how)
		case done.From == done.State:
			fmt.Fprintf(w, "%s stays %s%s\n", done.ID, done.State, how)
		default:
			fmt.Fprintf(w, "%s is %s now, was %s%s\n", done.ID, done.State, done.From, how)
		}
		if done.DryRun || o.final || len(all) == 1 {
			for _, e := range done.Effects {
				fmt.Fprintf(w, "  %s\n", printable(e))
			}
		}
	}
}

// confirmed asks at the terminal.
func (p *program) confirmed(o operation, ids []string) bool {
	what := ids[0]
	if len(ids) > 1 {
		what = fmt.Sprintf("these %d", len(ids))
	}
	fmt.Fprintf(p.Err, "Shall `%s` do this to %s? It cannot be undone. [y/N] ", o.command, what)
	answer, _ := bufio.NewReader(p.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// bySeverity orders the exit codes of what can happen to one of several, the worst
// last.
var bySeverity = []int{exitOK, exitRefused, exitNotFound, exitFull, exitUsage, exitFailed, exitUnavailable, exitLost}

// worst gives the exit code for several.
func worst(codes []int) int {
	return slices.MaxFunc(codes, func(a, b int) int { return slices.Index(bySeverity, a) - slices.Index(bySeverity, b) })
}

// checkBatch and checkJob are the checks of verbs about batches and jobs; anything
// goes as the name of a collection or queue, which the rules check.
func checkBatch(s string) error { _, err := domain.ParseBatchID(s); return err }
func checkJob(s string) error   { _, err := domain.ParseJobID(s); return err }
func anyName(string) error      { return nil }
