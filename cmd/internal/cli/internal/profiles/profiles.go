// Package profiles has the commands about profiles.
package profiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Env is what the commands have of the program.
type Env struct {
	In io.Reader
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// NotOverHTTP is the error of a command that needs files of a machine of the service.
	NotOverHTTP error
	// Dir returns the directory of the profiles.
	Dir func() (string, error)
	// Anywhere returns the work of a command that needs no server.
	Anywhere func(do func(ctx context.Context, args []string) error) func(c *cobra.Command, args []string) error
	Out      io.Writer
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
}

// Command returns the command profile.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "profile",
		Short: "List, show, check and change profiles",
		Long: `A profile describes a collection and what its deposits may do. It is a YAML file in
profiles_dir, or was set while the service runs.`,
		Example: "  accession profile ls\n  accession profile check\n  accession profile set maps maps.yaml --reason \"larger maps\" --dry-run",
	}, e.init(), e.check(), e.ls(), e.show(), e.set(), e.rm())
}

func (e Env) ls() *cobra.Command {
	in := &operation.ProfileList{}
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List profiles",
		Long:    "List the profiles: those in profiles_dir, and those that were set.",
		Example: "  accession profile ls\n  accession profile ls -o json | jq -r '.items[].collection'",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			list, err := door.Carry[app.Page[operation.ProfileItem]](ctx, d, "profile.ls", in)
			if err != nil {
				return err
			}
			return e.Show(list, func(w io.Writer) {
				render.Rows(w, "no profiles", render.Row{"profile", "collection", "owner", "priority"}, list.Items, func(s operation.ProfileItem) render.Row {
					return render.Row{s.Name, s.Collection, export.Line(s.Owner), s.Priority}
				})
			})
		}),
	}
	c.Flags().StringVar(&in.Collection, "collection", "", "only profiles of this `COLLECTION`")
	return c
}

func (e Env) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show PROFILE",
		Short: "Show a profile with its defaults, and what says so",
		Long: `Show a profile as YAML, including the defaults of what it leaves out. Its first line says
whether a file says so, or who set it, when and why. Over HTTP it is for operators of the
collection; mail addresses and the query of the callback are shown to administrators
alone. What is shown to them can be changed and set again.`,
		Example: "  accession profile show maps\n  accession profile show maps -o json",
		Args:    exactly(1, "one profile"),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			s, err := door.Carry[profiles.Shown](ctx, d, "profile.show", &operation.ProfileName{Name: args[0]})
			if err != nil {
				return err
			}
			text, err := s.YAML()
			if err != nil {
				return err
			}
			return e.Show(s, func(w io.Writer) {
				fmt.Fprintf(w, "# %s\n", said(s))
				if s.Note != "" {
					fmt.Fprintf(w, "# %s\n", export.Line(s.Note))
				}
				fmt.Fprintf(w, "%s", text)
			})
		}),
	}
}

// said says on a line what says what a profile is.
func said(s profiles.Shown) string {
	if s.Source == profiles.SourceFile {
		return "version " + s.Version + ", file " + s.File
	}
	text := fmt.Sprintf("version %s, set at run time (version %d of the setting)", s.Version, s.Setting)
	if s.By != "" {
		text += fmt.Sprintf(" by %s, %s: %s", s.By, render.Time(s.When), export.Line(s.Why))
	}
	return text
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("give %s, not %d arguments", what, len(args))
		}
		return nil
	}
}

// flags adds the flags of a change.
func flags(c *cobra.Command) func() (operation.Setting, string, string) {
	why := c.Flags().String("reason", "", "record this `TEXT` as the reason (required)")
	match := c.Flags().Int64("if-version", 0, "only if the setting has this `VERSION`, as shown")
	dryRun := c.Flags().Bool("dry-run", false, "show what would change, and change nothing")
	return func() (operation.Setting, string, string) {
		ifMatch := ""
		if *match > 0 {
			ifMatch = fmt.Sprintf("%q", fmt.Sprint(*match))
		}
		return operation.Setting{DryRun: *dryRun}, ifMatch, *why
	}
}

func (e Env) set() *cobra.Command {
	c := &cobra.Command{
		Use:   "set PROFILE FILE",
		Short: "Make a profile, or replace what it says",
		Long: `Replace what a profile says by a YAML file, or by the standard input if FILE is -; a
profile of a new name is made. All of it is checked first, as profile check does, and
with a fault nothing changes. A profile keeps its collection, storage and working_dir.
Every process of the installation uses it within a second, also for deposits that are
under way; one that cannot read it keeps the old one and logs that. The event
setting.changed has version and SHA-256. A file of the same name in profiles_dir does
not count until profile rm removes what was set.`,
		Example: "  accession profile show maps > maps.yaml\n  accession profile set maps maps.yaml --reason \"larger maps\" --dry-run",
		Args:    exactly(2, "a profile and a file, or -"),
	}
	of := flags(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		content, err := e.read(args[1])
		if err != nil {
			return err
		}
		in := &operation.ProfileSet{ProfileName: operation.ProfileName{Name: args[0]}}
		in.Setting, in.IfMatch, in.Body.Reason = of()
		in.Body.Content = content
		return e.change(ctx, d, "profile.set", in, args[0])
	})
	return c
}

func (e Env) rm() *cobra.Command {
	c := &cobra.Command{
		Use:   "rm PROFILE",
		Short: "Remove what was set of a profile",
		Long: `Remove what was set of a profile: the file in profiles_dir counts again, in every
process within a second. A profile without a file is gone: the jobs of its deposits wait
until it is set again.`,
		Example: "  accession profile rm maps --reason \"the file has it now\" --dry-run",
		Args:    exactly(1, "one profile"),
	}
	of := flags(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		setting, ifMatch, why := of()
		in := &operation.ProfileRm{ProfileName: operation.ProfileName{Name: args[0]}}
		in.Once, in.DryRun, in.IfMatch, in.Change.Body = setting.Once, setting.DryRun, ifMatch, &operation.Reason{Reason: why}
		return e.change(ctx, d, "profile.rm", in, args[0])
	})
	return c
}

func (e Env) change(ctx context.Context, d door.Door, name string, in any, profile string) error {
	changed, err := door.Carry[app.Changed](ctx, d, name, in)
	if err != nil {
		return err
	}
	return e.Show(changed, func(w io.Writer) { views.Changed(w, profile, changed, true) })
}

// maxFile is more than any profile has, in bytes.
const maxFile = 1 << 20

// read returns what a file says.
func (e Env) read(name string) (string, error) {
	from := e.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", &app.Error{Kind: app.NotFound, What: "set", Err: err, Hint: "give the file of the profile, or - for the standard input"}
		}
		defer f.Close() //nolint:errcheck // only read
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, maxFile))
	if err == nil && len(data) == 0 {
		err = &app.Error{Kind: app.Invalid, What: "set", Err: errors.New("the file is empty")}
	}
	return string(data), err
}

func (e Env) check() *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIRECTORY|FILE]",
		Short: "Check profiles and report every fault",
		Long: `Check all profiles in a directory, by default profiles_dir, as the service does when it
starts; no server is contacted. Or check one file, or the standard input if it is -, as
profile set does: also against the profiles that there are, here or over HTTP. What it
would change is shown. Every fault is reported, with file, line and remedy; exit code 2.`,
		Example: "  accession profile check\n  accession profile check ./profiles\n  accession profile check maps.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			if len(args) == 1 {
				if is, err := os.Stat(args[0]); args[0] == "-" || err == nil && !is.IsDir() {
					return e.checkFile(ctx, d, args[0])
				}
			}
			if d.There != nil {
				return e.NotOverHTTP
			}
			dir, err := e.Dir()
			if err != nil {
				return err
			}
			names, err := profiles.Check(append(args, dir)[0])
			if err != nil {
				return err
			}
			return e.Show(Checked{OK: true, Profiles: names}, func(w io.Writer) {
				fmt.Fprintf(w, "the profiles are valid: %s\n", strings.Join(names, ", "))
			})
		}),
	}
}

// checkFile checks the content of a file.
func (e Env) checkFile(ctx context.Context, d door.Door, name string) error {
	in := &operation.ProfileCheck{}
	var err error
	if in.Body.Content, err = e.read(name); err != nil {
		return err
	}
	s, err := door.Carry[profiles.Sound](ctx, d, "profile.check", in)
	if err != nil {
		return err
	}
	return e.Show(s, func(w io.Writer) {
		fmt.Fprintf(w, "%s is valid: it would go from %s to %s\n", s.Profile, s.From, s.Version)
		for _, line := range s.Effects {
			fmt.Fprintf(w, "  %s\n", export.Line(line))
		}
	})
}

// Checked is the answer of the commands that check files.
type Checked struct {
	OK       bool     `json:"ok"`
	Profiles []string `json:"profiles"`
	// Warnings say what is valid and has no effect.
	Warnings []string `json:"warnings,omitempty"`
}

// Show writes it for people.
func (c Checked) Show(w io.Writer) {
	for _, warning := range c.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
	fmt.Fprintf(w, "the settings and the profiles are valid: %s\n", strings.Join(c.Profiles, ", "))
}
