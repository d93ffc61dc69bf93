package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// Version is what `accession version` shows; the build sets it.
var Version = "unknown"

// IO is what the program reads and writes besides files and servers.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // NAME=value
	// Program is how this program was called, "" = accession.
	Program string
	// Width is how many columns Out has, 0 = it is no terminal.
	Width int
	// Interactive says that somebody sits there and can be asked: In and Err are
	// terminals.
	Interactive bool
	// Terminal says that Out is one: bars and colours make sense.
	Terminal bool
	// LogTerminal says that Err is one.
	LogTerminal bool
}

// System gives the process's own.
func System() IO {
	in, out, errs := term.IsTerminal(int(os.Stdin.Fd())), term.IsTerminal(int(os.Stdout.Fd())), term.IsTerminal(int(os.Stderr.Fd()))
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Program: os.Args[0], Width: columnsOf(os.Stdout), Interactive: in && errs, Terminal: out, LogTerminal: errs}
}

// Main runs one command line, without the program's name, and returns its exit
// code.
func Main(ctx context.Context, args []string, std IO) int {
	p := &program{IO: std}
	if std.Width > 0 {
		p.Out = screen{std.Out, std.Width}
	}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	return p.report(root.ExecuteContext(ctx))
}

// program is one run: its streams and what the flags of all commands say.
type program struct {
	IO
	configFile string
	set        []string
	servers    map[string]*string // flags that are settings of the same name
	output     string
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "accession",
		Short: "Take deposits in: fetch, check, identify, store, record, report",
		Long: `Accession takes deposits in. A deposit is a file, a manifest of files, or a
manifest of many objects; each object becomes a job that is fetched, checked,
identified, stored and recorded, and each deposit ends with a report.

ZooKeeper holds the live state, NATS JetStream the history, PostgreSQL the
reports. On a laptop, ` + "`accession demo`" + ` shows all of it.`,
		Example: `  accession demo
  accession submit --profile maps https://example.org/deposit.checkm --watch
  accession batch report bid0000000001`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}

	flags := root.PersistentFlags()
	flags.StringVar(&p.configFile, "config", "", "file with settings (YAML)")
	flags.StringArrayVar(&p.set, "set", nil, "a setting as `KEY=VALUE`; may be repeated")
	flags.StringVarP(&p.output, "output", "o", "table", "`FORMAT` of the answer: table or json")
	p.servers = map[string]*string{}
	for _, s := range []struct{ key, help string }{
		{"zookeeper", "`HOST:PORT` of ZooKeeper, several with commas"},
		{"nats", "`URL` of NATS, several with commas"},
		{"postgres", "`URL` of PostgreSQL"},
		{"log_level", "debug, info, warn or error"},
	} {
		p.servers[s.key] = flags.String(strings.ReplaceAll(s.key, "_", "-"), "", s.help)
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &usageError{err, c.CommandPath()} })
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if p.output != "table" && p.output != "json" {
			return &usageError{fmt.Errorf("-o %s: there is only table and json", p.output), c.CommandPath()}
		}
		return nil
	}
	root.AddGroup(&cobra.Group{ID: "try", Title: "Try:"}, &cobra.Group{ID: "deposit", Title: "Deposit and look:"},
		&cobra.Group{ID: "operate", Title: "Operate:"})
	root.SetHelpCommandGroupID("operate")
	root.SetCompletionCommandGroupID("operate")
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("try", p.demo(), p.stack())
	add("deposit", p.submit(), p.batch(), p.job(), p.file(), p.events(), p.replay(), p.reports(), p.status())
	add("operate", p.serve(), p.sweep(), p.migrate(), p.poison(), p.rebuild(), p.diff(), p.config(), p.version())
	add("operate", p.collection(), p.queue(), p.profile(), p.verify())
	add("operate", p.restore())
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: "Exit codes of every command:\n\n" + exitCodesText()})
	p.strict(root)
	return root
}

// strict makes commands that only group others say what they want, and turns
// wrong arguments into usage errors.
func (p *program) strict(c *cobra.Command) {
	if c.HasSubCommands() && c.RunE == nil {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			err := fmt.Errorf("%s knows no command %q", c.CommandPath(), args[0])
			c.SuggestionsMinimumDistance = min(2, len(args[0])/3) // in three letters two are another word
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
			}
			return &usageError{err, c.CommandPath()}
		}
	} else if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &usageError{err, c.CommandPath()}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		p.strict(sub)
	}
}

// settings reads them from all four sources.
func (p *program) settings() (config.Resolved, error) {
	flags := map[string]string{}
	for key, value := range p.servers {
		if *value != "" {
			flags[key] = *value
		}
	}
	var faults config.Faults
	for _, s := range p.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			faults = append(faults, config.Fault{Key: s, Origin: "flag --set", Problem: "it has no =", Remedy: "write --set KEY=VALUE"})
			continue
		}
		flags[key] = value
	}
	cfg, err := config.Load(config.Sources{File: p.configFile, Environ: p.Environ, Flags: flags})
	var more config.Faults
	if errors.As(err, &more) {
		faults = append(faults, more...)
	}
	if len(faults) > 0 {
		return cfg, faults
	}
	return cfg, err
}

// logger writes to the error stream, as the settings say.
func (p *program) logger(cfg config.Config) *slog.Logger {
	return p.levelled(cfg, &slog.LevelVar{})
}

// levelled is logger with a level that can be changed later.
func (p *program) levelled(cfg config.Config, level *slog.LevelVar) *slog.Logger {
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level.Set(slog.LevelInfo)
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "text" || cfg.LogFormat == "auto" && p.LogTerminal {
		return slog.New(slog.NewTextHandler(p.Err, opts))
	}
	return slog.New(slog.NewJSONHandler(p.Err, opts))
}

// getenv looks into the environment that the program was given, "" = not set.
func (p *program) getenv(name string) (value string) {
	for _, v := range p.Environ {
		if key, is, _ := strings.Cut(v, "="); key == name {
			value = is
		}
	}
	return value
}

// exactly wants so many arguments and names them in the error.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fmt.Errorf("give %s, not %d arguments", strings.Join(names, " and "), len(args))
		}
		return nil
	}
}

// runE is the shape of a command's work.
type runE func(ctx context.Context, args []string) error

// stoppable runs f under a context that the first signal ends; see signals.go. What
// ended so says no more than that, unless it has to tell how things stand now.
func (p *program) stoppable(f runE) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		ctx, stop := untilSignal(c.Context())
		defer stop()
		err := f(ctx, args)
		var known *app.Error
		if errors.As(err, &known) && known.Kind == app.Interrupted {
			return err
		}
		if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
			return errInterrupted
		}
		return err
	}
}

// using opens the use cases for a command, under a context that the first signal
// ends, and closes what was opened behind it.
func (p *program) using(ctx context.Context, do func(ctx context.Context, a *app.App) error) error {
	cfg, err := p.settings()
	if err != nil {
		return err
	}
	return p.usingConfig(ctx, cfg, do)
}

func (p *program) usingConfig(ctx context.Context, cfg config.Resolved, do func(ctx context.Context, a *app.App) error) (err error) {
	a, closing := run.Open(cfg, domain.UserActor(userName()), p.quiet(cfg.Config))
	defer func() {
		if closed := closing(); err == nil {
			err = closed
		}
	}()
	return do(ctx, a)
}

// quiet gives a command's logger: it says in its error what went wrong, and the
// drivers' own remarks are for those who ask for them.
func (p *program) quiet(cfg config.Config) *slog.Logger {
	if cfg.LogLevel == "debug" {
		return p.logger(cfg)
	}
	return slog.New(slog.DiscardHandler)
}

// userName is who runs the program, as events tell it.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "unknown"
}

// untilSignal gives a context that ends, with cause errInterrupted, at the first
// SIGINT or SIGTERM. The second one ends the program at once: what was under way
// is found and finished by the next start.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n > 0 {
					os.Exit(exitInterrupted)
				}
				cancel(errInterrupted)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel(nil)
	}
}
