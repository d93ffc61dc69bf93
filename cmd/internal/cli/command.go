package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/servers"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// runE is the work of a command, as cobra calls it.
type runE = func(c *cobra.Command, args []string) error

// run returns the work of a command under a context that the first signal ends. What
// a signal ends returns exit.ErrInterrupted, unless it has to report how far it came.
func (p *program) run(do func(ctx context.Context, args []string) error) runE {
	return p.anywhere(func(ctx context.Context, args []string) error {
		if named := p.servers["server"]; named != nil && *named != "" {
			return errNotOverHTTP
		}
		return do(ctx, args)
	})
}

// anywhere is run for a command to which --server makes no difference, or that looks itself.
func (p *program) anywhere(do func(ctx context.Context, args []string) error) runE {
	return func(c *cobra.Command, args []string) error {
		p.running = true
		ctx, stop := untilSignal(c.Context())
		defer stop()
		err := do(ctx, args)
		if err != nil && exit.Known(err).Kind != app.Interrupted && errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
			return exit.ErrInterrupted
		}
		return err
	}
}

// using returns the work of a command that calls the use cases, which are not over HTTP.
func (p *program) using(do func(ctx context.Context, a *app.App, args []string) error) runE {
	return p.over(func(ctx context.Context, d door.Door, args []string) error {
		if d.There != nil {
			return errNotOverHTTP
		}
		return do(ctx, d.Here, args)
	})
}

// answer returns the work of a command that asks the use cases for a value and shows
// it; see show.
func answer[V any](p *program, ask func(ctx context.Context, a *app.App, args []string) (V, error), write func(io.Writer, V)) runE {
	return p.using(func(ctx context.Context, a *app.App, args []string) error {
		v, err := ask(ctx, a, args)
		if err != nil {
			return err
		}
		return show(p, v, write)
	})
}

// show writes v as JSON with -o json, else with write.
func show[V any](p *program, v V, write func(io.Writer, V)) error {
	if p.output == "json" {
		enc := json.NewEncoder(export.NewEscaping(p.Out))
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	write(p.Out, v)
	return nil
}

// listed shows a list without further pages.
func listed[T any](p *program, all []T, write func(io.Writer, []T)) error {
	page, _ := operation.Whole(all, nil)
	return show(p, page, func(w io.Writer, page app.Page[T]) { write(w, page.Items) })
}

// more writes how to see what is not on a page.
func more[T any](w io.Writer, page app.Page[T], what string) {
	if page.Next == "" {
		return
	}
	of := ""
	if page.Total != nil {
		of = fmt.Sprintf(" of %d", *page.Total)
	}
	fmt.Fprintf(w, "\n%d%s %s; --limit or --cursor %s for more\n", len(page.Items), of, what, page.Next)
}

// note writes a line that is for people only.
func (p *program) note(format string, args ...any) {
	if p.output == "table" {
		fmt.Fprintf(p.Out, format+"\n", args...)
	}
}

// write has do write to a new file, or to Out when name is "".
func (p *program) write(name string, do func(io.Writer) error) error {
	if name != "" {
		return export.File(name, do)
	}
	out := bufio.NewWriterSize(export.Unwrapped(p.Out), 1<<16) // it may be no text; export makes text safe
	return cmp.Or(do(out), out.Flush())
}

// draws reports whether progress is drawn: for people at a terminal who wait for a
// table.
func (p *program) draws() bool { return p.Terminal && p.LogTerminal && p.output == "table" }

// counter is render.Counter when Err is a terminal and the output goes elsewhere.
func (p *program) counter(ctx context.Context, toOut bool, unit string, total uint64) (at func(uint64), end func()) {
	if !p.LogTerminal || toOut && p.Terminal || total == 0 {
		return func(uint64) {}, func() {}
	}
	return render.Counter(ctx, p.Err, unit, total)
}

// steps is render.Steps when progress is drawn; else write is told of the steps.
func steps[R any](ctx context.Context, p *program, write func(render.Step), do func(report func(render.Step)) (R, error)) (R, error) {
	if p.draws() {
		return render.Steps(ctx, p.Err, do)
	}
	return do(write)
}

// one returns the check of a command that takes one argument, which parse accepts.
func one[T any](what string, parse func(string) (T, error)) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("give one %s, not %d arguments", what, len(args))
		}
		return each(args, parse)
	}
}

// some is like one for a command that takes one argument or more.
func some[T any](what string, parse func(string) (T, error)) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("give at least one %s", what)
		}
		return each(args, parse)
	}
}

func each[T any](args []string, parse func(string) (T, error)) error {
	for _, arg := range args {
		if _, err := parse(arg); err != nil {
			return err
		}
	}
	return nil
}

// anyName accepts any argument: the use case checks it.
func anyName(s string) (string, error) { return s, nil }

// settings reads the settings from all four sources.
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
	file := p.configFile
	if file == "" {
		if file = servers.Here(flags, p.Environ); file != "" && p.running && p.output == "table" && !p.found {
			p.found = true
			fmt.Fprintf(p.Err, "using the servers that run in %s\n", filepath.Dir(file))
		}
	}
	cfg, err := config.Load(config.Sources{File: file, Environ: p.Environ, Flags: flags})
	var more config.Faults
	if errors.As(err, &more) {
		faults = append(faults, more...)
	}
	if len(faults) > 0 {
		return cfg, faults
	}
	return cfg, err
}

// logger returns a logger to the error stream, in the format of the settings, whose
// level can be changed later.
func (p *program) logger(cfg config.Config, level *slog.LevelVar) *slog.Logger {
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level.Set(slog.LevelInfo)
	}
	opts := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewJSONHandler(export.NewEscaping(p.Err), opts)
	if cfg.LogFormat == "text" || cfg.LogFormat == "auto" && p.LogTerminal {
		handler = slog.NewTextHandler(p.Err, opts)
	}
	return export.ForLibraries(slog.New(handler))
}

// quiet returns the logger of a command that reports its own errors: what the drivers
// log is shown at level debug only.
func (p *program) quiet(cfg config.Config) *slog.Logger {
	if cfg.LogLevel == "debug" {
		return p.logger(cfg, &slog.LevelVar{})
	}
	return export.ForLibraries(slog.New(slog.DiscardHandler))
}

// userName returns the name of the user who runs the program, as events record it.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "unknown"
}

// untilSignal returns a context that ends, with cause exit.ErrInterrupted, at the first
// SIGINT or SIGTERM. The second one ends the program at once: the next start finishes
// what was interrupted.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var listening sync.WaitGroup
	listening.Go(func() {
		interrupted := false
		for range signals {
			if interrupted {
				os.Exit(exit.Interrupted)
			}
			interrupted = true
			cancel(exit.ErrInterrupted)
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		listening.Wait()
		cancel(nil)
	}
}
