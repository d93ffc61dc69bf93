package ops

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// hearing is a supervisor's socket.
func hearing(t *testing.T) (path string, next func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ops") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return path, func() string {
		t.Helper()
		buf := make([]byte, 100)
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func TestTheSupervisorIsTold(t *testing.T) {
	t.Parallel()
	path, next := hearing(t)
	s := SupervisedBy(func(name string) string {
		return map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000"}[name]
	})
	if err := s.Tell(t.Context(), "READY=1"); err != nil || next() != "READY=1" {
		t.Errorf("not told: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, signs := make(chan struct{}), make(chan struct{}, 100)
	go func() {
		defer close(ended)
		s.Watch(ctx, func() { signs <- struct{}{} })
	}()
	for range 2 {
		<-signs
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("a sign of life says %q", got)
		}
	}
	cancel()
	<-ended
}

func TestNobodySupervises(t *testing.T) {
	t.Parallel()
	s := SupervisedBy(func(string) string { return "" })
	if err := s.Tell(t.Context(), "READY=1"); err != nil {
		t.Error(err)
	}
	s.Watch(t.Context(), func() { t.Error("asked for a sign of life") })
}
