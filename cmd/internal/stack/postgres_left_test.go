//go:build linux

package stack

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A killed PostgreSQL is started again when the last of its processes is gone, and
// not before: one that lingers keeps its memory.
func TestKilledPostgresIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: newDir(t)})
	conn, err := pgx.Connect(t.Context(), s.Addresses().Postgres)
	if err != nil {
		t.Fatal(err)
	}
	lingering := int(conn.PgConn().PID())
	if err := syscall.Kill(lingering, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	gone := false
	end := func() {
		if !gone {
			gone = true
			_ = syscall.Kill(lingering, syscall.SIGKILL)
		}
	}
	t.Cleanup(end)
	if err := s.Kill(PostgreSQL); err != nil {
		t.Fatal(err)
	}
	p := s.members[PostgreSQL].service.(*postgres)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.awaitLeft(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a process left: %v", err)
	}
	started := make(chan error, 1)
	go func() { started <- s.StartServer(t.Context(), PostgreSQL) }()
	end()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}
