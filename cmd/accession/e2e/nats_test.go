package e2e

import (
	"errors"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// natsServer is a NATS of a test's own, which it may kill.
type natsServer struct {
	t    *testing.T
	dir  string
	port int
	pass string    // "" = it asks for none
	cmd  *exec.Cmd // nil when it is down
}

func newNATS(t *testing.T) *natsServer {
	t.Helper()
	return newNATSWith(t, "")
}

// newNATSWith starts one that asks for a password.
func newNATSWith(t *testing.T, pass string) *natsServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &natsServer{t: t, dir: t.TempDir(), port: l.Addr().(*net.TCPAddr).Port, pass: pass}
	_ = l.Close()
	n.start()
	t.Cleanup(n.kill)
	return n
}

func (n *natsServer) url() string {
	u := url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port))}
	if n.pass != "" {
		u.User = url.UserPassword("accession", n.pass)
	}
	return u.String()
}

// start runs the server that the test binary holds, with the data that is there,
// and waits until it answers.
func (n *natsServer) start() {
	n.t.Helper()
	if n.cmd != nil {
		return
	}
	n.cmd = exec.Command(os.Args[0], "-store-dir="+n.dir, "-port="+strconv.Itoa(n.port), "-name=test") //nolint:noctx // the test ends it
	n.cmd.Env = append(os.Environ(), "ACCESSION_STACK_CHILD=nats", "ACCESSION_STACK_PASSWORD="+n.pass)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	waitFor(n.t, "the test's NATS", func() bool {
		conn, err := nats.Connect(n.url(), nats.NoReconnect())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// keep copies the data that the server has now; forget puts that in place of what it
// has then: the stream loses its tail.
func (n *natsServer) keep() (forget func()) {
	n.t.Helper()
	copied := filepath.Join(n.t.TempDir(), "copy")
	n.kill()
	if err := os.CopyFS(copied, os.DirFS(n.dir)); err != nil {
		n.t.Fatal(err)
	}
	n.start()
	return func() {
		n.t.Helper()
		n.kill()
		if err := errors.Join(os.RemoveAll(n.dir), os.CopyFS(n.dir, os.DirFS(copied))); err != nil {
			n.t.Fatal(err)
		}
		n.start()
	}
}

// kill ends it as a power cut would.
func (n *natsServer) kill() {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
	n.cmd = nil
}

// signal stops or continues it.
func (n *natsServer) signal(sig syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(sig); err != nil {
		n.t.Error(err)
	}
}
