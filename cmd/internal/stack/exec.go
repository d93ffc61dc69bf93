package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// Prefix begins the names of the variables that carry the addresses.
type Prefix string

// Tests delete what they find; so what the service reads and what tests read have
// different names, and a command gets only the ones it was meant to have.
const (
	TestPrefix    Prefix = "ACCESSION_TEST_"
	ServicePrefix Prefix = "ACCESSION_"
)

// Environ returns the addresses as NAME=value: prefix and then ZOOKEEPER, NATS,
// POSTGRES.
func (a Addresses) Environ(prefix Prefix) []string {
	p := string(prefix)
	return []string{p + "ZOOKEEPER=" + a.ZooKeeper, p + "NATS=" + a.NATS, p + "POSTGRES=" + a.Postgres}
}

// Exec runs argv with our standard streams and environment, and the addresses
// under prefix, and returns its exit status as a shell does (128 + signal when
// a signal ended it). Addresses under the other prefix are taken out.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT that reach us go to the command and do
// nothing else; ctx should not be cancelled by them. When ctx ends, the command
// gets SIGTERM, and SIGKILL after 30 s. It dies with us. The error is one of
// starting it.
func Exec(ctx context.Context, at Addresses, prefix Prefix, argv []string) (int, error) {
	if len(argv) == 0 {
		return 0, errors.New("stack: no command given")
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), isAddress), at.Environ(prefix)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	n := newLauncher()
	defer n.close()
	p, err := n.start(cmd, syscall.SIGTERM)
	if err != nil {
		return 0, fmt.Errorf("stack: start %s: %w", argv[0], err)
	}
	// What the keyboard sends, the terminal has sent to the command already.
	keyboard := term.IsTerminal(int(os.Stdin.Fd()))
	for {
		select {
		case sig := <-signals:
			if keyboard && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) {
				continue
			}
			_ = cmd.Process.Signal(sig) // it may have ended in this instant
		case <-p.done:
			return exitStatus(cmd.ProcessState), nil
		}
	}
}

// isAddress reports whether NAME=value is one that Environ makes.
func isAddress(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	own := slices.Concat(Addresses{}.Environ(TestPrefix), Addresses{}.Environ(ServicePrefix))
	return slices.Contains(own, name+"=")
}

func exitStatus(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
