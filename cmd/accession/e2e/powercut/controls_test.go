//go:build soak && linux

package powercut_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// carelessVariable makes this test binary a NATS with the default sync interval;
// its value is the port and the directory.
const carelessVariable = "ACCESSION_TEST_CARELESS_NATS"

func carelessMain() bool {
	var port int
	var dir string
	if n, _ := fmt.Sscan(os.Getenv(carelessVariable), &port, &dir); n != 2 {
		return false
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, JetStream: true, StoreDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.Start()
	s.WaitForShutdown()
	return true
}

// careless is a NATS that syncs every two minutes.
func careless(t *testing.T, number uint64) *rig {
	r := &rig{t: t, random: rand.New(rand.NewPCG(number, 0)), noted: map[string]bool{}}
	dir := t.TempDir()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	r.must(err)
	port := l.Addr().(*net.TCPAddr).Port
	r.must(l.Close())
	var cmd *exec.Cmd
	r.kill = func() error {
		if cmd != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			cmd = nil
		}
		return nil
	}
	r.dial = func(ctx context.Context) (client, error) {
		return dialNATS(ctx, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	r.start = func(ctx context.Context) error {
		cmd = exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", carelessVariable, port, dir))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return err
		}
		for {
			c, err := r.dial(ctx)
			if err == nil {
				c.close()
				return nil
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	r.under(dir, false)
	r.must(r.start(t.Context()))
	return r
}

// TestSoakControls shows that the cuts find what they look for: a
// server that acknowledges before it syncs does lose.
func TestSoakControls(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dzookeeper.forceSync=no")
	number := seed(t)
	s := newStack(t)
	for _, c := range []struct {
		name string
		rig  func(t *testing.T) *rig
	}{
		{"nats, sync_interval 2m", func(t *testing.T) *rig { return careless(t, number) }},
		{"zookeeper, forceSync=no", func(t *testing.T) *rig { return newRig(t, s, stack.ZooKeeper, number) }},
		{"postgres, synchronous_commit=off", func(t *testing.T) *rig {
			r := newRig(t, s, stack.PostgreSQL, number)
			r.dial = func(ctx context.Context) (client, error) { return dialPostgres(ctx, s.Addresses().Postgres, "off") }
			return r
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			for n := range 3 {
				r.round(n)
			}
			if r.tell(3); r.lost == 0 {
				t.Error("nothing was lost: the power cuts of this rig prove nothing")
			}
		})
	}
}
