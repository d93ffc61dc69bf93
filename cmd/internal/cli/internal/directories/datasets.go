package directories

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/setting"
)

// Dataset returns the command dataset.
func Dataset(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "dataset",
		Short: "Make and show datasets, to which files of open directories belong",
		Long: `A dataset is what files of open directories belong to. It is of the collection of its
profile, whose limits hold for its files.`,
		Example: "  accession dataset add nights --profile maps --group-pattern '^([0-9]{8})_' --reason \"the survey begins\"",
	}, e.addDataset(), e.lsDatasets(), e.showDataset(), e.setDataset())
}

func (e Env) addDataset() *cobra.Command {
	in := &operation.DatasetAdd{}
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a dataset",
		Long: `Make a dataset in the collection of a profile. With --group-pattern a file belongs to
the group that the first parentheses of the regular expression match in its path; else
to that of discover add. With --by-version a file whose size or time changes at its
source is a new file; without it that is noted as a change of the file. With --rules
only some files are processed, or they wait for others; docs/files.md has an example.`,
		Example: "  accession dataset add nights --profile maps --group-pattern '^([0-9]{8})_' --reason \"the survey begins\"",
		Args:    named("dataset"),
	}
	c.Flags().StringVar(&in.Body.Profile, "profile", "", "the `PROFILE` of its files; required")
	_ = c.MarkFlagRequired("profile") // it is there
	c.Flags().StringVar(&in.Body.GroupPattern, "group-pattern", "", "regular `EXPRESSION` with parentheses around the group in the path of a file")
	c.Flags().BoolVar(&in.Body.ByVersion, "by-version", false, "a file whose size or time changes is a new one")
	reason(c, &in.Body.Reason, &in.DryRun)
	rules := rulesFlag(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) (err error) {
		if in.Body.Rules, err = readRules(*rules); err != nil {
			return err
		}
		in.Name = args[0]
		return e.change(ctx, d, "dataset.add", in, args[0])
	})
	return c
}

func (e Env) setDataset() *cobra.Command {
	in := &operation.DatasetSet{}
	var profile, pattern string
	c := &cobra.Command{
		Use:     "set NAME",
		Short:   "Change the profile or the groups of a dataset",
		Long:    "Change the profile of a dataset, within its collection, or the pattern of its groups. It\ncounts for files that are found from then on.",
		Example: "  accession dataset set nights --group-pattern '' --reason \"no groups\"",
		Args:    named("dataset"),
	}
	c.Flags().StringVar(&profile, "profile", "", "another `PROFILE` of the same collection")
	c.Flags().StringVar(&pattern, "group-pattern", "", "regular `EXPRESSION` of groups; empty = none")
	version := c.Flags().Int64("if-version", 0, "only if the setting has this `VERSION`, as shown")
	reason(c, &in.Body.Reason, &in.DryRun)
	rules := rulesFlag(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) (err error) {
		if in.Body.Rules, err = readRules(*rules); err != nil {
			return err
		}
		in.Name, in.IfMatch = args[0], match(*version)
		if c.Flags().Changed("profile") {
			in.Body.Profile = &profile
		}
		if c.Flags().Changed("group-pattern") {
			in.Body.GroupPattern = &pattern
		}
		return e.change(ctx, d, "dataset.set", in, args[0])
	})
	return c
}

func (e Env) lsDatasets() *cobra.Command {
	in := &operation.InCollection{}
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List datasets",
		Long:    "List the datasets, as the tables have them.",
		Example: "  accession dataset ls\n  accession dataset ls -o json | jq -r '.items[].name'",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			page, err := door.Carry[app.Page[directories.Dataset]](ctx, d, "dataset.ls", in)
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) {
				render.Rows(w, "no datasets", render.Row{"dataset", "collection", "profile", "group pattern"}, page.Items, func(s directories.Dataset) render.Row {
					return render.Row{s.Name, s.Collection, s.Profile, orDash(s.GroupPattern)}
				})
			})
		}),
	}
	c.Flags().StringVar(&in.Profile, "profile", "", "only datasets of this `PROFILE`")
	c.Flags().StringVar(&in.Collection, "collection", "", "only datasets of this `COLLECTION`")
	return c
}

func (e Env) showDataset() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a dataset",
		Long:    "Show what becomes of the files of a dataset, and who said so.",
		Example: "  accession dataset show nights\n  accession dataset show nights -o json",
		Args:    named("dataset"),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			s, err := door.Carry[directories.Dataset](ctx, d, "dataset.show", &operation.DatasetName{Name: args[0]})
			if err != nil {
				return err
			}
			return e.Show(s, func(w io.Writer) {
				fmt.Fprintf(w, "%s: files of the collection %s, by the profile %s\n", s.Name, s.Collection, s.Profile)
				if s.GroupPattern != "" {
					fmt.Fprintf(w, "groups by %s\n", export.Line(s.GroupPattern))
				}
				if s.ByVersion {
					fmt.Fprintln(w, "a file whose size or time changes is a new one")
				}
				if s.Rules != nil {
					text, _ := json.Marshal(s.Rules) // plain values
					fmt.Fprintf(w, "rules %s\n", export.Line(string(text)))
				}
				if s.Rules != nil && s.Rules.Slots != nil {
					fmt.Fprintln(w, slotsOf(*s.Rules.Slots))
				}
				if s.WithoutSlot != nil && *s.WithoutSlot > 0 {
					fmt.Fprintf(w, "%d files have no slot and wait: `accession file show` says why, `accession slot add` gives their group one\n", *s.WithoutSlot)
				}
				said(w, s.Version, s.By, s.When, s.Why)
			})
		}),
	}
}

// slotsOf says how slots are made from the names of groups.
func slotsOf(r setting.SlotRule) string {
	return fmt.Sprintf("the window of a group begins %s after the time of its name, %s, and is %s long",
		time.Duration(r.OffsetSeconds)*time.Second, r.Layout, time.Duration(r.LengthSeconds)*time.Second)
}

func rulesFlag(c *cobra.Command) *string {
	return c.Flags().String("rules", "", "a `FILE` with rules as JSON: which files are processed, and what they wait for")
}

// readRules reads a file of rules, "" = none is given.
func readRules(name string) (*setting.Rules, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &app.Error{Kind: app.NotFound, What: "read the rules", Err: err, Hint: "give the name of a file with JSON, such as {\"min_files\": 2}"}
	}
	defer f.Close() //nolint:errcheck // only read
	rules, from := &setting.Rules{}, json.NewDecoder(io.LimitReader(f, 1<<20))
	from.DisallowUnknownFields()
	if err = from.Decode(rules); err == nil {
		err = rules.Check()
	}
	if err != nil {
		return nil, &app.Error{Kind: app.Invalid, What: "read the rules", Err: err, Hint: "docs/files.md says what rules may hold"}
	}
	return rules, nil
}

func (e Env) change(ctx context.Context, d door.Door, name string, in any, of string) error {
	changed, err := door.Carry[app.Changed](ctx, d, name, in)
	if err != nil {
		return err
	}
	return e.Show(changed, func(w io.Writer) { views.Changed(w, of, changed, true) })
}
