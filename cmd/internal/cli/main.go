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
