//go:build linux

package stack

import (
	"syscall"
	"testing"
	"time"

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
	// Its parent alone: Kill would end this one too.
	parent := s.members[PostgreSQL].proc
	if err := syscall.Kill(parent.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-parent.done
	started := make(chan error, 1)
	go func() { started <- s.StartServer(t.Context(), PostgreSQL) }()
	refused := time.NewTicker(20 * time.Millisecond)
	defer refused.Stop()
	for {
		select {
		case err := <-started:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-refused.C:
			if s.members[PostgreSQL].service.(*postgres).busy(tail(s.members[PostgreSQL].logFile)) {
				end()
			}
		}
	}
}
