package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var servers = []Server{ZooKeeper, PostgreSQL, NATS}

// A stack comes up, refuses a second one beside it, stops, and comes up again at
// the same addresses with its data; Find knows when it runs; Remove leaves nothing.
func TestStackKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	phases := map[Server][]Phase{}
	opts := Options{Dir: dir, Progress: func(s Server, p Phase) { phases[s] = append(phases[s], p) }}
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	at := s.Addresses()
	w := connect(t, at)
	w.write(t, "first life")
	w.durability(t)

	if _, err := Start(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Start: %v, want ErrLocked with the directory's name", err)
	}
	if err := Remove(t.Context(), dir); !errors.Is(err, ErrLocked) {
		t.Errorf("Remove of a running stack: %v, want ErrLocked", err)
	}
	if found, ok, err := Find(dir); found != at || !ok || err != nil {
		t.Errorf("Find while it runs = %v, %v, %v", found, ok, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("second Stop: %v", err)
	}
	if err := s.StartServer(t.Context(), NATS); !errors.Is(err, errStopped) {
		t.Errorf("StartServer after Stop: %v, want %v", err, errStopped)
	}
	select {
	case <-s.Done():
	default:
		t.Error("Done is open after Stop")
	}
	if err := s.Err(); err != nil {
		t.Errorf("Err after Stop: %v", err)
	}
	if _, ok, err := Find(dir); ok || err != nil {
		t.Errorf("Find after Stop = %v, %v", ok, err)
	}
	for _, name := range servers {
		if want := []Phase{Preparing, Starting, Healthy, Stopping, Stopped}; !slices.Equal(phases[name][:len(want)], want) {
			t.Errorf("%s went through %v, want %v", name, phases[name], want)
		}
	}

	again := start(t, Options{Dir: dir})
	if again.Addresses() != at {
		t.Errorf("addresses changed from %v to %v", at, again.Addresses())
	}
	connect(t, at).check(t, "first life")
	if err := again.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// Killed servers come back at their addresses with what they had acknowledged;
// only a death that was not ordered ends the stack. The directory is one that
// PostgreSQL's user cannot enter: its data lies elsewhere, and goes with Remove.
func TestKilledServersComeBack(t *testing.T) {
	t.Parallel()
	closed := newDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "stack")
	s, err := Start(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		data := s.dir.state.Postgres
		if outside := !strings.HasPrefix(data, dir); outside != (os.Geteuid() == 0) {
			t.Errorf("PostgreSQL's data is in %s", data)
		}
		if err := errors.Join(s.Stop(context.Background()), Remove(context.Background(), dir)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("PostgreSQL's data is still in %s", data)
		}
	}()
	at := s.Addresses()
	connect(t, at).write(t, "survives")
	for _, name := range servers {
		old := s.PID(name)
		if err := s.Kill(name); err != nil {
			t.Fatal(err)
		}
		if s.PID(name) != 0 || commandLine(old) != "" {
			t.Errorf("%s is still there after Kill", name)
		}
		if err := s.Kill(name); err != nil {
			t.Errorf("second Kill of %s: %v", name, err)
		}
	}
	for _, name := range servers {
		if err := s.StartServer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		pid := s.PID(name)
		if err := s.StartServer(t.Context(), name); err != nil || s.PID(name) != pid {
			t.Errorf("StartServer of the running %s: %v, process %d became %d", name, err, pid, s.PID(name))
		}
	}
	if s.Addresses() != at {
		t.Errorf("addresses changed from %v to %v", at, s.Addresses())
	}
	connect(t, at).check(t, "survives")
	if err := s.Err(); err != nil {
		t.Errorf("ordered deaths were reported: %v", err)
	}

	if err := syscall.Kill(s.PID(NATS), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	var fault *ServerError
	if !errors.As(s.Err(), &fault) || fault.Server != NATS || fault.Op != "run" {
		t.Errorf("Err = %v, want the death of %s", s.Err(), NATS)
	}
}
