package cli

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

// Version is what `accession version` shows; the build sets it.
var Version = "unknown"

// IO is what the program reads and writes besides files and servers.
type IO struct {
	Out, Err io.Writer
	Environ  []string // NAME=value
	// Terminal says that Out is one: bars and colours make sense.
	Terminal bool
	// LogTerminal says that Err is one.
	LogTerminal bool
}

// System gives the process's own.
func System() IO {
	return IO{Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
		Terminal: term.IsTerminal(int(os.Stdout.Fd())), LogTerminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// Main runs one command line, without the program's name, and returns its exit
// code.
func Main(ctx context.Context, args []string, std IO) int {
	p := &program{IO: std}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	return p.report(root.ExecuteContext(ctx))
}
