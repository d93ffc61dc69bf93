package stack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
	natsclient "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// childVariable is set for a process that is a server of a stack.
	childVariable = "ACCESSION_STACK_CHILD"
	// passwordVariable is its password: a command line can be read by every user.
	passwordVariable = "ACCESSION_STACK_PASSWORD"
	// natsUser is the one user of NATS.
	natsUser = "accession"
)

type nats struct {
	dir  string
	port int
	id   string // the server's name, by which it is recognised
	pass string
}

func (n *nats) address() string            { return "nats://" + natsUser + ":" + n.pass + "@" + loopback(n.port) }
func (n *nats) data() string               { return n.dir }
func (n *nats) marker() string             { return "-store-dir=" + n.dir }
func (n *nats) stopSignal() syscall.Signal { return syscall.SIGTERM }

func (n *nats) fresh() bool {
	_, err := os.Stat(n.dir)
	return errors.Is(err, os.ErrNotExist)
}

func (n *nats) prepare(context.Context, *launcher) error { return os.MkdirAll(n.dir, 0o700) }

func (n *nats) command() (*exec.Cmd, error) {
	exe, err := selfExe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Args = []string{"accession-nats", n.marker(), "-port=" + strconv.Itoa(n.port), "-name=" + n.id}
	cmd.Env = append(os.Environ(), childVariable+"="+string(NATS), passwordVariable+"="+n.pass)
	return cmd, nil
}

func (n *nats) healthy(ctx context.Context) error {
	conn, err := natsclient.Connect(n.address(), natsclient.NoReconnect(), natsclient.Name("accession stack"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.ConnectedServerName() != n.id {
		return fmt.Errorf("another server answers at %s", loopback(n.port))
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	_, err = js.AccountInfo(ctx)
	return err
}

// ChildMain runs the server that this process was started for, if it was started
// as a child of a stack, and then reports true: the caller returns at once. Call it
// first in main and in TestMain. Exits with status 1 when the server cannot run.
func ChildMain() bool {
	if os.Getenv(childVariable) != string(NATS) {
		return false
	}
	if err := serveNATS(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
	return true
}

// serveNATS runs NATS with JetStream until a signal ends it: the server stops in order
// and ends the process.
func serveNATS(args []string) error {
	flags := flag.NewFlagSet(string(NATS), flag.ContinueOnError)
	dir := flags.String("store-dir", "", "where JetStream keeps its data")
	port := flags.Int("port", 0, "loopback port")
	name := flags.String("name", "", "name of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	srv, err := server.NewServer(natsOptions(*dir, *port, *name, os.Getenv(passwordVariable)))
	if err != nil {
		return err
	}
	srv.ConfigureLogger()
	srv.Start()
	srv.WaitForShutdown() // its log says why
	return nil
}

// natsOptions configures the server; it logs to standard error, which is its log
// file.
func natsOptions(dir string, port int, name, password string) *server.Options {
	user := natsUser
	if password == "" { // a test's own server
		user = ""
	}
	return &server.Options{
		Username:   user,
		Password:   password,
		ServerName: name,
		Host:       "127.0.0.1",
		Port:       port,
		JetStream:  true,
		StoreDir:   dir,
		// Off, an acknowledged message can be lost when the power fails.
		SyncAlways:         true,
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  1 << 40,
		MaxPayload:         8 << 20,
		Logtime:            true,
		LogtimeUTC:         true,
	}
}
