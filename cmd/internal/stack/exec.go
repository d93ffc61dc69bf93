package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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

// Redacted returns the addresses without passwords.
func (a Addresses) Redacted() Addresses {
	for _, address := range []*string{&a.NATS, &a.Postgres} {
		if u, err := url.Parse(*address); err == nil {
			*address = u.Redacted()
		}
	}
	return a
}

// Files are files of this user alone that hold the URLs with passwords, as the variables
// of the service whose names end in _FILE read them.
type Files struct {
	NATS     string `json:"nats_file"`
	Postgres string `json:"postgres_file"`
}

// WriteFiles writes the URLs with passwords into the stack's directory.
func (s *Stack) WriteFiles() (f Files, err error) {
	f = Files{NATS: filepath.Join(s.dir.path, "nats.url"), Postgres: filepath.Join(s.dir.path, "postgres.url")}
	at := s.Addresses()
	for file, url := range map[string]string{f.NATS: at.NATS, f.Postgres: at.Postgres} {
		err = errors.Join(err, os.WriteFile(file+".new", []byte(url+"\n"), 0o600), os.Rename(file+".new", file))
	}
	if err != nil {
		return f, fmt.Errorf("stack: %w", err)
	}
	return f, nil
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
