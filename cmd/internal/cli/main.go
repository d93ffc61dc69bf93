package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	bulkcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/bulk"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/complete"
	computecli "github.com/accession-ingest/accession/cmd/internal/cli/internal/computing"
	directorycli "github.com/accession-ingest/accession/cmd/internal/cli/internal/directories"
	eventcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/events"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	intakecli "github.com/accession-ingest/accession/cmd/internal/cli/internal/intake"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/login"
	manifestcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/manifests"
	objectcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/objects"
	peoplecli "github.com/accession-ingest/accession/cmd/internal/cli/internal/people"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/poison"
	profilecli "github.com/accession-ingest/accession/cmd/internal/cli/internal/profiles"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/schema"
	slotcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/slots"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/text"
)

// Version is what `accession version` shows; the build sets it.
var Version = "unknown"

// IO is what the program reads and writes besides files and servers.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // NAME=value
	Program  string   // how this program was called; "" = accession
	Width    int      // columns of Out; 0 = not a terminal
	// Interactive means that In and Err are terminals: the program may ask.
	Interactive bool
	// Terminal means that Out is a terminal: bars and colours make sense.
	Terminal bool
	// LogTerminal means that Err is a terminal.
	LogTerminal bool
}

// System returns the streams and the environment of this process.
func System() IO {
	in, out, errs := term.IsTerminal(int(os.Stdin.Fd())), term.IsTerminal(int(os.Stdout.Fd())), term.IsTerminal(int(os.Stderr.Fd()))
	width, _, _ := term.GetSize(int(os.Stdout.Fd())) // 0 after an error
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Program: os.Args[0], Width: width, Interactive: in && errs, Terminal: out, LogTerminal: errs}
}

// Main runs one command line, without the program's name, and returns its exit
// code.
func Main(ctx context.Context, args []string, std IO) int {
	p := &program{IO: std}
	p.Out, p.Err = export.NewPlain(std.Out), export.NewPlain(std.Err)
	if std.Width > 0 {
		p.Out = render.Screen{Writer: p.Out, Columns: std.Width}
	}
	return p.execute(ctx, p.root(), args)
}

// program is one run: its streams and the flags of every command.
type program struct {
	IO
	configFile string
	set        []string
	servers    map[string]*string // flags that are settings of the same name
	output     string
	running    bool // the command line was accepted
	found      bool // it was said which servers were found
}

// execute runs a command line, reports its error, and returns the exit code. An
// error from before the command ran is one of usage.
func (p *program) execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	c, err := root.ExecuteContextC(ctx)
	if err != nil && !p.running {
		if asksForJSON(args) { // -o may stand behind what is wrong
			p.output = "json"
		}
		err = &exit.UsageError{Err: err}
	}
	var usage *exit.UsageError
	if errors.As(err, &usage) {
		usage.Command = c.CommandPath()
	}
	return p.report(err)
}

// asksForJSON reports whether a command line has -o json, wherever.
func asksForJSON(args []string) bool {
	line := strings.Join(args, "\x00") + "\x00"
	for _, flag := range []string{"-o\x00", "-o=", "-o", "--output\x00", "--output="} {
		if strings.Contains("\x00"+line, "\x00"+flag+"json\x00") {
			return true
		}
	}
	return false
}

func (p *program) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "accession",
		Short: "Ingest deposits: fetch, check, identify, store, record, report",
		Long: `Accession ingests deposits. A deposit is a file, a manifest of files, or a
manifest of many objects. Each object becomes a job that is fetched, checked,
identified, stored and recorded; each deposit ends with a report.

ZooKeeper holds the live state, NATS JetStream the event log, PostgreSQL the
tables for reports. To see all of it on one machine, run ` + "`accession demo`" + `.`,
		Example: `  accession demo
  accession submit --profile maps https://example.org/deposit.checkm --watch
  accession batch report bid0000000001`,
		Version:           Version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: checkTexts,
	})
	root.SetVersionTemplate(versionLine(Version))
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "show the program's version"
	global := root.PersistentFlags()
	global.StringVar(&p.configFile, "config", "", "settings `FILE` (YAML)")
	global.StringArrayVar(&p.set, "set", nil, "a setting as `KEY=VALUE`; may be repeated")
	p.output = "table"
	global.VarP(flags.Value(&p.output, "table", flags.Among("table", "json")), "output", "o", "output `FORMAT`: table or json")
	p.servers = map[string]*string{}
	for key, help := range map[string]string{
		"zookeeper": "`HOST:PORT` of ZooKeeper, several separated by commas",
		"nats":      "`URL` of NATS, several separated by commas",
		"postgres":  "`URL` of PostgreSQL",
		"server":    "`URL` of a service, which is asked over HTTP in place of the three",
		"log_level": "log `LEVEL`: debug, info, warn or error",
	} {
		p.servers[key] = global.String(strings.ReplaceAll(key, "_", "-"), "", help)
	}
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"try", "Try:", []*cobra.Command{p.demo(), p.stack()}},
		{"deposit", "Deposit and follow:", []*cobra.Command{p.submit(), p.query(), p.batch(), p.job(), p.file(), manifestcli.Command(p.manifests()), objectcli.Command(p.objects(), p.withdrawing()...), eventcli.Command(p.events()), eventcli.Replay(p.events()), p.reports(), p.status()}},
		{"people", "People and programs over HTTP:", append(peoplecli.Commands(p.people()), login.Commands(p.login())...)},
		{"operate", "Operate:", []*cobra.Command{p.serve(), p.sweep(), p.migrate(), poison.Command(poison.Env{Over: p.over, Show: p.showAs, Group: group}), p.rebuild(), p.diff(), p.config(), p.version(), schema.Command(p.Out, p.anywhere),
			bulkcli.Command(p.bulk()), p.collection(), p.queue(), p.processor(), p.drop(), directorycli.Dataset(p.directories()), directorycli.Command(p.directories()), slotcli.Command(slotcli.Env{Over: p.over, Show: p.showAs, Group: group}), computecli.Command(computecli.Env{Out: p.Out, Screen: p.Terminal, Over: p.over, Show: p.showAs, Group: group, Working: computecli.Working{Run: p.run, Settings: p.settings, Logger: p.logger, Version: Version}}), intakecli.Command(p.intake()), p.timeouts(), profilecli.Command(p.profiles()), p.verify(), p.restore()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
		}
		root.AddCommand(g.commands...)
	}
	root.SetHelpCommandGroupID("operate")
	root.SetCompletionCommandGroupID("operate")
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "Explain the exit codes", Long: "Exit codes of every command:\n\n" + exit.Text()})
	complete.Add(root, p.over)
	return root
}

// people is what the commands about users, keys and the audit have of the program.
func (p *program) people() peoplecli.Env {
	return peoplecli.Env{In: p.In, Err: p.Err, Terminal: p.Interactive, Over: p.over, Write: p.write, Group: group,
		Show: p.showAs}
}

// objects is what the commands about stored objects have of the program.
func (p *program) objects() objectcli.Env {
	return objectcli.Env{Out: p.Out, Screen: p.Terminal, Over: p.over, Group: group, Note: p.note, Show: p.showAs}
}

// events is what the commands about events have of the program.
func (p *program) events() eventcli.Env {
	return eventcli.Env{Out: p.Out, Err: p.Err, Screen: p.Terminal, JSON: func() bool { return p.output == "json" }, Over: p.over, NotOverHTTP: errNotOverHTTP,
		Show: p.showAs, Note: p.note, Write: p.write, Counter: p.counter, Group: group}
}

// manifests is what the commands about manifests have of the program.
func (p *program) manifests() manifestcli.Env {
	return manifestcli.Env{In: p.In, Out: p.Out, Anywhere: p.anywhere, Show: p.showAs, Group: group,
		Steps: func(ctx context.Context, do func(report func(render.Step)) error) error {
			_, err := steps(ctx, p, func(render.Step) {}, func(report func(render.Step)) (struct{}, error) { return struct{}{}, do(report) })
			return err
		}}
}

// profiles is what the commands about profiles have of the program.
func (p *program) profiles() profilecli.Env {
	return profilecli.Env{In: p.In, Out: p.Out, Anywhere: p.anywhere, Over: p.over, NotOverHTTP: errNotOverHTTP, Show: p.showAs, Group: group, Dir: func() (string, error) {
		cfg, err := p.settings()
		return cfg.ProfilesDir, err
	}}
}

func (p *program) directories() directorycli.Env {
	return directorycli.Env{Over: p.over, Show: p.showAs, Group: group}
}

// intake is what the commands about the intake have of the program.
func (p *program) intake() intakecli.Env {
	return intakecli.Env{Over: p.over, Show: p.showAs, Group: group, Changing: func(v intakecli.Verb) *cobra.Command {
		return changing(p, verb[string]{name: v.Name, short: v.Short, long: v.Long, example: v.Example, reason: true, flags: v.Flags, as: func(id string, change operation.Change) request {
			name, in := v.As(id, change)
			return request{name, in}
		}}, "[QUEUE]", v.Args, v.IDs)
	}}
}

// login is what the commands that sign in have of the program.
func (p *program) login() login.Env {
	return login.Env{In: p.In, Err: p.Err, Terminal: p.Interactive, At: p.atServer,
		Show: p.showAs}
}

// showAs is show for commands of other packages.
func (p *program) showAs(v any, write func(io.Writer)) error {
	return show(p, v, func(w io.Writer, _ any) { write(w) })
}

// bulk is what the commands about bulk actions have of the program.
func (p *program) bulk() bulkcli.Env {
	return bulkcli.Env{In: p.In, Err: p.Err, Terminal: p.Interactive, Over: p.over, Group: group, Note: p.note, Show: p.showAs}
}

// flagsOfFiles are flags whose values are names of files or whole settings, which need
// not be text.
var flagsOfFiles = []string{"config", "dir", "out", "plot", "set"}

// maxReason is the most bytes of --reason, which is kept in events.
const maxReason = 1 << 10

// checkTexts refuses flags whose values are not text: they are compared with texts in the
// tables, or kept for ever.
func checkTexts(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch {
		case err != nil, slices.Contains(flagsOfFiles, f.Name):
		case f.Name == "reason" && len(value) > maxReason:
			err = fmt.Errorf("--reason has %d bytes; use at most %d", len(value), maxReason)
		default:
			if fault := text.Check(value); fault != nil {
				err = fmt.Errorf("--%s %w", f.Name, fault)
			}
		}
	})
	return err
}

// group returns a command that only groups others: alone it shows its help.
func group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.AddCommand(commands...)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		c.SuggestionsMinimumDistance = min(2, len(args[0])/3) // two of three letters make another word
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return fmt.Errorf("unknown command %q for %q; did you mean %s?", args[0], c.CommandPath(), strings.Join(near, " or "))
		}
		return fmt.Errorf("unknown command %q for %q", args[0], c.CommandPath())
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return c
}

// report writes an error and its hint, with -o json the problem on one line, and returns
// the exit code.
func (p *program) report(err error) int {
	code, hint := exit.Explain(err)
	var silent exit.Error
	if err == nil || errors.As(err, &silent) {
		return code
	}
	if p.output == "json" {
		enc := json.NewEncoder(export.NewEscaping(p.Err))
		enc.SetEscapeHTML(false)
		_ = enc.Encode(exit.Problem(err)) // a broken error stream: the exit code says it
		return code
	}
	fmt.Fprintf(p.Err, "accession: %v\n", err)
	if hint != "" {
		fmt.Fprintf(p.Err, "hint: %s\n", hint)
	}
	return code
}
