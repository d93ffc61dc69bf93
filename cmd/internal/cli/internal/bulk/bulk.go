// Package bulk has the commands about bulk actions: one command about all batches, jobs, files,
// entries, queries, deposits in the drop folder, slots or open directories that a filter selects.
package bulk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// Env is what the commands have of the program.
type Env struct {
	In       io.Reader
	Err      io.Writer
	Terminal bool // In and Err are terminals: the program may ask
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
	// Note writes a line about progress, for people.
	Note func(format string, args ...any)
}

const sample = "0198c5f3-7b1e-7c50-a6ff-6f3f5b1f7c21"

// Command returns the command bulk.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "bulk",
		Short: "Give a command to all that a filter selects",
		Long: `A bulk action gives one command, such as requeue, to all batches, jobs, files, entries of
the compute queue, queries, deposits in the drop folder, slots or open directories that a
filter selects. The service carries it out (the role daemons), each thing once, also when
a process is killed in the middle; what could not be changed is kept with its reason.`,
		Example: "  accession bulk begin job requeue --state failed --code checksum --dry-run\n  accession bulk items " + sample + " --outcome refused",
	}, e.begin(), e.ls(), e.show(), e.items(), e.cancel())
}

// verbs lists the commands that may be given, a line for each kind.
func verbs() string {
	var b strings.Builder
	for _, kind := range bulk.Kinds {
		var names []string
		for _, v := range bulk.Verbs {
			if v.Kind == kind {
				names = append(names, v.Name)
			}
		}
		fmt.Fprintf(&b, "  %-8s  %s\n", kind, strings.Join(names, ", "))
	}
	return b.String()
}

func (e Env) begin() *cobra.Command {
	var r bulk.Request
	var f app.Filter
	var to string
	var dryRun, yes, noWait bool
	c := &cobra.Command{
		Use:   "begin KIND COMMAND",
		Short: "Begin a bulk action",
		Long: `Give a command to all that a filter selects: first it says how many these are and what
would become of the first of them, and asks. What is given must all hold, and at least
one condition is needed. Things that come after the request are not selected. An
interruption (Ctrl-C) ends the waiting, not the action. Exit code 3: some were refused.

` + verbs(),
		Example: "  accession bulk begin job requeue --state failed --code checksum --reason \"the source is repaired\"\n" +
			"  accession bulk begin job hold --batch bid0000000001 --state pending --yes\n" +
			"  accession bulk begin entry retry --dataset tides --state FAILED --code exit_status --yes\n" +
			"  accession bulk begin drop retry --state refused --profile maps --reason \"the profile is there\"\n" +
			"  accession bulk begin slot open --dataset nights --state DONE --to 2026-11-29T09:00Z --reason \"the link was down\"\n" +
			"  accession bulk begin discover pause --host data.example.org --reason \"the server is being moved\"\n" +
			"  accession bulk begin batch cleanup --state completed --older-than 90d --dry-run -o json",
		Args: flags.Exactly(2),
	}
	c.Flags().StringVar(&r.Filter.Batch, "batch", "", "only jobs or files of this `BID`")
	c.Flags().StringVar(&r.Filter.Job, "job", "", "only files of this `JID`")
	c.Flags().StringVar(&r.Filter.State, "state", "", "only those in this `STATE`")
	c.Flags().StringVar(&r.Filter.Name, "name", "", "only files with this `TEXT` in their path")
	c.Flags().StringVar(&r.Filter.Dataset, "dataset", "", "only files, entries, slots or directories of this `DATASET`")
	flags.Filter(c, &f, "those")
	c.Flags().StringVar(&to, "to", "", "with the command priority the new priority `N`, 0 to 99 (lower runs first); with open the time at which windows end then (default: as before)")
	c.Flags().StringVar(&r.Reason, "reason", "", "record this `TEXT` as the reason")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would happen, and change nothing")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().BoolVar(&noWait, "no-wait", false, "return when the request is kept, and do not wait for its end")
	c.PreRunE = func(_ *cobra.Command, args []string) error {
		r.Kind, r.Verb = domain.Kind(args[0]), args[1]
		if err := towards(&r, to); err != nil {
			return err
		}
		if !dryRun && !yes && !e.Terminal {
			return errors.New("this changes many things, and there is no terminal to ask at: try it with --dry-run, then add --yes")
		}
		return nil
	}
	c.RunE = e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		r.Filter.Profile, r.Filter.Collection, r.Filter.Submitter, r.Filter.Code, r.Filter.Host = f.Profile, f.Collection, f.Submitter, f.Code, f.Host
		r.Filter.Since, r.Filter.OlderThan = f.Since, f.Until
		if dryRun || !yes {
			would, err := door.Carry[bulk.Action](ctx, d, "bulk.begin", &operation.BulkBegin{DryRun: true, Body: r})
			if err != nil {
				return err
			}
			if dryRun {
				return e.Show(would, func(w io.Writer) { tried(w, would) })
			}
			tried(e.Err, would)
			if !e.confirmed(r) {
				return errors.New("not confirmed: nothing was changed")
			}
		}
		begun, err := door.Carry[bulk.Action](ctx, d, "bulk.begin", &operation.BulkBegin{Body: r})
		switch {
		case err != nil:
			return err
		case noWait:
			return e.shown(begun)
		}
		return e.await(ctx, d, begun)
	})
	return c
}

// towards sets what the flag --to says: a priority, or with the command open a time.
func towards(r *bulk.Request, to string) (err error) {
	switch {
	case to == "":
	case r.Verb == "open":
		r.To, err = flags.ParseTime(to)
	default:
		n, wrong := strconv.Atoi(to)
		if r.Priority = &n; wrong != nil {
			err = fmt.Errorf("%q is no priority: give a number from 0 to 99", to)
		}
	}
	return err
}

func (e Env) confirmed(r bulk.Request) bool {
	fmt.Fprintf(e.Err, "%s all of them? [y/N] ", r.Verb)
	answer, _ := bufio.NewReader(e.In).ReadString('\n')
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// tried writes what a bulk action would be about.
func tried(w io.Writer, would bulk.Action) {
	fmt.Fprintf(w, "the filter selects %s\n", count(would.Matched, would.Request.Kind))
	for _, t := range would.First {
		if t.Change == nil {
			fmt.Fprintf(w, "%s would be refused: %s\n", t.ID, export.Line(t.Refusal))
			continue
		}
		views.Changed(w, t.ID, *t.Change, false)
	}
	if would.Matched == nil || *would.Matched > int64(len(would.First)) {
		fmt.Fprintln(w, "…")
	}
}

func count(n *int64, kind domain.Kind) string {
	switch {
	case n == nil:
		return "more than 10,000 " + bulk.Plural(kind)
	case *n == 1:
		return "1 " + bulk.Singular(kind)
	}
	return fmt.Sprintf("%d %s", *n, bulk.Plural(kind))
}

// lookPause is how often a waiting command looks how far an action is.
const lookPause = 300 * time.Millisecond

// await waits for the end of a bulk action, and shows it.
func (e Env) await(ctx context.Context, d door.Door, now bulk.Action) (err error) {
	e.Note("bulk action %s is kept; the service carries it out, also when this command ends", now.ID)
	last := now.Done + now.Refused
	for now.EndedAt == nil {
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
			e.Note("it goes on: `accession bulk show %s` shows it, `accession bulk cancel` ends it early", now.ID)
			return ctx.Err()
		}
		if now, err = door.Carry[bulk.Action](ctx, d, "bulk.show", &operation.BulkID{ID: now.ID}); err != nil {
			return err
		}
		if at := now.Done + now.Refused; at != last {
			last = at
			e.Note("%d done, %d refused of %s", now.Done, now.Refused, count(now.Matched, now.Request.Kind))
		}
	}
	if err := e.shown(now); err != nil {
		return err
	}
	return exit.If(now.Refused > 0, exit.Refused)
}

// shown shows an action.
func (e Env) shown(now bulk.Action) error {
	return e.Show(now, func(w io.Writer) { view(w, now) })
}

func view(w io.Writer, now bulk.Action) {
	render.Pairs(w, [][2]any{
		{"bulk action", now.ID}, {"state", now.State}, {"command", now.Request.Verb + " of " + bulk.Plural(now.Request.Kind)}, {"where", export.Line(filter(now.Request.Filter))}, {"new end of windows", render.Time(now.Request.To)},
		{"reason", export.Line(now.Request.Reason)}, {"by", export.Line(now.By)}, {"requested", render.Time(now.RequestedAt)}, {"ended", render.Time(render.Deref(now.EndedAt))},
		{"selected", count(now.Matched, now.Request.Kind)}, {"done", now.Done}, {"refused", now.Refused}, {"cancelled by", export.Line(now.CancelledBy)},
	}...)
	if now.Refused > 0 {
		fmt.Fprintf(w, "\naccession bulk items %s --outcome refused says which, and why\n", now.ID)
	}
}

// filter returns the conditions of a filter as text.
func filter(f bulk.Filter) string {
	var all []string
	for _, c := range [][2]string{{"batch", f.Batch}, {"job", f.Job}, {"state", f.State}, {"name", f.Name}, {"dataset", f.Dataset}, {"profile", f.Profile}, {"collection", f.Collection},
		{"submitter", f.Submitter}, {"code", f.Code}, {"host", f.Host}} {
		if c[1] != "" {
			all = append(all, c[0]+"="+c[1])
		}
	}
	for _, c := range []struct {
		name string
		at   time.Time
	}{{"since", f.Since}, {"older_than", f.OlderThan}} {
		if !c.at.IsZero() {
			all = append(all, c.name+"="+c.at.UTC().Format(time.RFC3339))
		}
	}
	return strings.Join(all, ", ")
}

func (e Env) ls() *cobra.Command {
	var in operation.BulkList
	var from app.Cursor
	var limit int
	c := &cobra.Command{
		Use: "ls", Short: "List bulk actions", Long: "List bulk actions, newest first.", Example: "  accession bulk ls --state running -o json", Args: cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			in.Page = operation.Page{Limit: limit, Cursor: string(from)}
			page, err := door.Carry[app.Page[bulk.Action]](ctx, d, "bulk.ls", &in)
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) {
				render.Rows(w, "no bulk actions", render.Row{"bulk action", "requested", "by", "command", "where", "state", "selected", "done", "refused"}, page.Items, func(b bulk.Action) render.Row {
					return render.Row{b.ID, render.Time(b.RequestedAt), export.Line(b.By), string(b.Request.Kind) + " " + b.Request.Verb, export.Line(filter(b.Request.Filter)),
						b.State, count(b.Matched, b.Request.Kind), b.Done, b.Refused}
				})
				more(w, page.Next)
			})
		}),
	}
	flags.Parsed(c, &in.State, "state", "", "only those in this `STATE`: "+flags.Joined(bulk.States), flags.Optional(flags.Among(bulk.States...)))
	flags.Age(c, &in.Since, &in.OlderThan, "those", "requested")
	flags.Cursor(c, &from)
	flags.Limit(c, &limit, flags.ListLimit, "bulk actions")
	return c
}

func more(w io.Writer, next app.Cursor) {
	if next != "" {
		fmt.Fprintf(w, "\n--limit or --cursor %s for more\n", next)
	}
}

// about returns a command about one bulk action.
func (e Env) about(name, short, long string, in func(id operation.BulkID) any) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID", Short: short, Long: long, Example: "  accession bulk " + name + " " + sample, Args: flags.Exactly(1),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			now, err := door.Carry[bulk.Action](ctx, d, "bulk."+name, in(operation.BulkID{ID: args[0]}))
			if err != nil {
				return err
			}
			return e.shown(now)
		}),
	}
}

func (e Env) show() *cobra.Command {
	return e.about("show", "Show a bulk action and how far it is", "Show a bulk action, and how many things it has changed.", func(id operation.BulkID) any { return &id })
}

func (e Env) cancel() *cobra.Command {
	return e.about("cancel", "End a bulk action early", "End a bulk action early: no further things are taken. What it has changed stays changed.", func(id operation.BulkID) any { return &operation.BulkCancel{BulkID: id} })
}

func (e Env) items() *cobra.Command {
	var from app.Cursor
	var limit int
	var outcome string
	c := &cobra.Command{
		Use: "items ID", Short: "List what a bulk action has taken", Long: "List the things that a bulk action has taken, in the order of their ids: what\nbecame of each, and why it was refused.",
		Example: "  accession bulk items " + sample + " --outcome refused -o json", Args: flags.Exactly(1),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			page, err := door.Carry[app.Page[bulk.Item]](ctx, d, "bulk.items", &operation.BulkItems{BulkID: operation.BulkID{ID: args[0]},
				Page: operation.Page{Limit: limit, Cursor: string(from)}, Outcome: outcome})
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) {
				render.Rows(w, "nothing was taken", render.Row{"id", "outcome", "state", "code", "why"}, page.Items, func(i bulk.Item) render.Row {
					return render.Row{i.ID, i.Outcome, i.State, i.Code, export.Line(i.Message)}
				})
				more(w, page.Next)
			})
		}),
	}
	flags.Parsed(c, &outcome, "outcome", "", "only those with this `OUTCOME`: begun, done or refused", flags.Optional(flags.Among("begun", "done", "refused")))
	flags.Cursor(c, &from)
	flags.Limit(c, &limit, flags.ListLimit, "things")
	return c
}
