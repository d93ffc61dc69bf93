package directories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

func (e Env) add() *cobra.Command {
	in := &operation.DiscoveryAdd{}
	var every time.Duration
	c := &cobra.Command{
		Use:   "add URL",
		Short: "Have an open directory polled for files of a dataset",
		Long: `Have an open directory polled. Each file that the rules leave becomes known once, by its
path; what a rule leaves out is counted. discover look shows what would be found. A
directory needs no password: a URL with one, or with a query, is refused.

Its name is that of the dataset, with --group followed by - and the group; --name gives
another.

With --deposit each group of the dataset becomes one deposit when it is complete: when
its slot is DONE, or before that when all of --complete-files, --complete-marker and
--complete-quiet hold that are given. Its files are downloaded and validated first. Files
that come later, and those that are missing, are in report reconciliation.`,
		Example: "  accession discover add https://data.example.org/night/ --dataset nights --reason \"the survey begins\"\n" +
			"  accession discover add https://data.example.org/ --dataset nights --name old --recursive --pattern '*.fits' --every 1h --reason \"older nights too\"\n" +
			"  accession discover add https://data.example.org/night/ --dataset nights --group-by '^([0-9]{8})_' --deposit maps --complete-marker '*.done' --reason \"archive whole nights\"",
		Args: flags.Exactly(1),
	}
	name := c.Flags().String("name", "", "its `NAME`")
	c.Flags().StringVar(&in.Body.Dataset, "dataset", "", "the `DATASET` of its files; required")
	_ = c.MarkFlagRequired("dataset") // it is there
	c.Flags().StringVar(&in.Body.Group, "group", "", "the `GROUP` of all its files")
	flags.Within(c, &every, "every", "5m", setting.LongestInterval, "`TIME` from one poll to the next")
	c.Flags().StringVar(&in.Body.GroupBy, "group-by", "", "regular `PATTERN` whose first parentheses match the group in a path")
	deposit := &setting.GroupDeposit{}
	var quiet time.Duration
	c.Flags().StringVar(&deposit.Profile, "deposit", "", "deposit each complete group under this `PROFILE`")
	c.Flags().StringVar(&deposit.Submitter, "submitter", "", "`NAME` of the depositor of groups (default your user name)")
	c.Flags().BoolVar(&deposit.Each, "each", false, "deposit each file as an object of its own, not a group as one")
	c.Flags().IntVar(&deposit.Files, "complete-files", 0, "a group is complete with this `NUMBER` of files")
	c.Flags().StringVar(&deposit.Marker, "complete-marker", "", "a group is complete when a file with such a `NAME` is listed")
	flags.Within(c, &quiet, "complete-quiet", "0s", 366*24*time.Hour, "a group is complete when nothing has come for this `TIME`")
	most := rules(c, &in.Body.Pattern, &in.Body.Recursive, &in.Body.NewerThan)
	reason(c, &in.Body.Reason, &in.DryRun)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		in.Name = *name
		if in.Name == "" {
			in.Name = in.Body.Dataset
			if in.Body.Group != "" {
				in.Name += "-" + in.Body.Group
			}
		}
		deposit.QuietSeconds = int64(quiet / time.Second)
		if *deposit != (setting.GroupDeposit{}) {
			if deposit.Profile == "" {
				return &app.Error{Kind: app.Invalid, Err: errors.New("it is said when groups are complete, and not what becomes of them"), Hint: "name the profile of their deposits with --deposit"}
			}
			in.Body.Deposit = deposit
		}
		in.Body.URL, in.Body.MaxSize, in.Body.Every = args[0], int64(*most), int64(every/time.Second)
		return e.change(ctx, d, "discover.add", in, in.Name)
	})
	return c
}

func (e Env) ls() *cobra.Command {
	in := &operation.DiscoveryLs{}
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List the open directories that are polled",
		Long:    "List the open directories that are polled, as the tables have them.",
		Example: "  accession discover ls\n  accession discover ls --dataset nights -o json | jq -r '.items[].url'",
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&in.Dataset, "dataset", "", "only those of this `DATASET`")
	flags.InCollection(c, &in.Profile, &in.Collection, "those")
	flags.Parsed(c, &in.State, "state", "", "only those in this `STATE`: polled or paused", flags.Optional(flags.Among("polled", "paused")))
	c.Flags().StringVar(&in.Host, "host", "", "only directories of this `HOST`")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		page, err := door.Carry[app.Page[directories.Discovery]](ctx, d, "discover.ls", in)
		if err != nil {
			return err
		}
		return e.Show(page, func(w io.Writer) {
			render.Rows(w, "no directories are polled", render.Row{"discovery", "dataset", "group", "every", "status", "directory"}, page.Items, func(s directories.Discovery) render.Row {
				return render.Row{s.Name, s.Dataset, orDash(s.Group), every(s), status(s), export.Line(s.URL)}
			})
		})
	})
	return c
}

func every(s directories.Discovery) time.Duration { return time.Duration(s.Every) * time.Second }

func status(s directories.Discovery) string {
	if s.Paused {
		return "paused"
	}
	return "polled"
}

func (e Env) show() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Show an open directory that is polled",
		Long:    "Show which directory is polled, how often, which of its files count, and who said so.",
		Example: "  accession discover show nights\n  accession discover show nights -o json",
		Args:    named("discovery"),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			s, err := door.Carry[directories.Discovery](ctx, d, "discover.show", &operation.DiscoveryName{Name: args[0]})
			if err != nil {
				return err
			}
			return e.Show(s, func(w io.Writer) { writeDiscovery(w, s) })
		}),
	}
}

func writeDiscovery(w io.Writer, s directories.Discovery) {
	fmt.Fprintf(w, "%s: %s\n", s.Name, export.Line(s.URL))
	fmt.Fprintf(w, "%s every %v, for files of the dataset %s\n", status(s), every(s), s.Dataset)
	for _, rule := range []struct {
		set  bool
		says string
	}{
		{s.Group != "", "group " + s.Group},
		{s.GroupBy != "", "the group of a file is what " + export.Line(s.GroupBy) + " matches in its path"},
		{s.Recursive, "also the directories below"},
		{s.Pattern != "", "only files with names as " + export.Line(s.Pattern)},
		{s.NewerThan != nil, "only files modified from " + fmt.Sprint(render.Or(s.NewerThan, "-")) + " on"},
		{s.MaxSize > 0, "only files of at most " + render.Size(s.MaxSize)},
	} {
		if rule.set {
			fmt.Fprintln(w, rule.says)
		}
	}
	if d := s.Deposit; d != nil {
		what := "one object"
		if d.Each {
			what = "objects, one for each file,"
		}
		fmt.Fprintf(w, "each group becomes a deposit of %s under the profile %s by %s when %s\n", what, d.Profile, export.Line(d.Submitter), export.Line(d.Text()))
	}
	said(w, s.Version, s.By, s.When, s.Why)
	writePoll(w, s)
	if g := s.Groups; g != nil {
		fmt.Fprintf(w, "groups: %d deposited, %d waiting\n", g.Deposited, g.Waiting)
		for _, one := range g.First {
			fmt.Fprintf(w, "  %s waits: %s\n", export.Line(one.Group), export.Line(one.Waits))
		}
	}
}

// writePoll says how the last poll ended, what it found, and what comes next.
func writePoll(w io.Writer, s directories.Discovery) {
	p := s.Last
	switch {
	case p == nil || p.Begun == nil:
		fmt.Fprintln(w, "\nit was never polled")
		return
	case p.Ended == nil || p.Ended.Before(p.Begun.Time):
		fmt.Fprintf(w, "\na poll began %s and has not ended\n", render.Time(*p.Begun))
	default:
		fmt.Fprintf(w, "\nlast poll: %s, %s\n", p.Outcome, render.Time(*p.Ended))
	}
	if p.Error != "" {
		fmt.Fprintf(w, "  %s\n", export.Line(p.Error))
	}
	if p.Complete != nil {
		fmt.Fprintf(w, "last complete poll: %s\n  %d files in %d directories: %d new, %d known, %d changed at their source; %d gone\n", render.Time(*p.Complete), p.Files, p.Directories, p.New, p.Known, p.Changed, p.Gone)
		if out := p.LeftOut; out != (directories.LeftOut{}) {
			fmt.Fprintf(w, "  left out: %d by their name, %d by their age, %d by their size; %d links that are no files\n", out.Pattern, out.Age, out.Size, out.Links)
		}
		fmt.Fprintf(w, "in all: %d listed, %d no more, %d changed\n", p.Listed, p.Vanished, p.Altered)
	}
	if !s.Paused {
		fmt.Fprintf(w, "next poll: %s\n", render.Time(p.Next))
	}
}

// said says who set something, when and why.
func said(w io.Writer, version int64, by string, when domain.Time, why string) {
	if by != "" {
		fmt.Fprintf(w, "version %d, set by %s, %s: %s\n", version, by, render.Time(when), export.Line(why))
	}
}

func (e Env) run() *cobra.Command {
	in := &operation.DiscoveryChange{}
	c := &cobra.Command{
		Use:     "run NAME",
		Short:   "Poll an open directory now",
		Long:    "Have an open directory polled now, by the process with the role discover that polls. It\nis read as a whole, whatever its server says of changes.",
		Example: "  accession discover run nights",
		Args:    named("discovery"),
	}
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would happen, and do nothing")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		in.Name = args[0]
		return e.change(ctx, d, "discover.run", in, args[0])
	})
	return c
}

func (e Env) pause() *cobra.Command {
	return e.verb("pause", "Do not poll an open directory until it is resumed", "Do not poll an open directory until discover resume. Files that were found go on.")
}

func (e Env) resume() *cobra.Command {
	return e.verb("resume", "Poll an open directory again", "Poll an open directory again that was paused.")
}

func (e Env) rm() *cobra.Command {
	return e.verb("rm", "Do not poll an open directory any more", "Do not poll an open directory any more. Files that were found go on, and stay known.")
}

func (e Env) verb(verb, short, long string) *cobra.Command {
	in := &operation.DiscoveryChange{}
	in.Change.Body = &operation.Reason{}
	c := &cobra.Command{
		Use:     verb + " NAME",
		Short:   short,
		Long:    long,
		Example: "  accession discover " + verb + " nights --reason \"the server is moved\"",
		Args:    named("discovery"),
	}
	version := c.Flags().Int64("if-version", 0, "only if the setting has this `VERSION`, as shown")
	reason(c, &in.Change.Body.Reason, &in.DryRun)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		in.Name, in.IfMatch = args[0], match(*version)
		return e.change(ctx, d, "discover."+verb, in, args[0])
	})
	return c
}

// reason adds the flags of a change.
func reason(c *cobra.Command, why *string, dryRun *bool) {
	c.Flags().StringVar(why, "reason", "", "record this `TEXT` as the reason (required)")
	c.Flags().BoolVar(dryRun, "dry-run", false, "show what would change, and change nothing")
}

func match(version int64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("%q", fmt.Sprint(version))
}

// named returns the check of a command that takes one name.
func named(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("give one %s, not %d arguments", what, len(args))
		}
		return nil
	}
}

func orDash(text string) string { return cmp.Or(export.Line(text), "-") }
