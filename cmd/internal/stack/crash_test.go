//go:build linux

package stack

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// When the process that started a stack is killed, its servers die with it, and
// the next stack in the directory has their data.
func TestServersDieWithTheirParent(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	parent, _, out := inRole(t, "parent", dir)
	var told parentReport
	if err := json.NewDecoder(out).Decode(&told); err != nil {
		t.Fatal(err)
	}
	connect(t, told.Addresses).write(t, "of the killed")
	var watched []int
	for _, pid := range told.PIDs {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		watched = append(watched, fd)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for i, fd := range watched {
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || n != 1 {
				t.Fatalf("process %d outlived its parent by 20 s (%v)", told.PIDs[i], err)
			}
			break
		}
	}
	s := start(t, Options{Dir: dir})
	if s.Addresses() != told.Addresses {
		t.Errorf("addresses changed from %v to %v", told.Addresses, s.Addresses())
	}
	connect(t, s.Addresses()).check(t, "of the killed")
}

// Of the recorded processes those are ended whose command line says that they are
// ours; a stranger that got the id of one of ours lives on.
func TestLeftoversAreEnded(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	d, err := openDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close() //nolint:errcheck // the directory goes with the test
	left, _, leftOut := inRole(t, "idle", "-store-dir="+dir)
	stranger, strangerIn, strangerOut := inRole(t, "idle", "-store-dir=/elsewhere")
	for name, pid := range map[Server]int{NATS: left.Process.Pid, ZooKeeper: stranger.Process.Pid} {
		if err := d.addProcess(name, processInfo{PID: pid, Marker: "-store-dir=" + dir}); err != nil {
			t.Fatal(err)
		}
	}
	for _, out := range []*bufio.Reader{bufio.NewReader(leftOut), bufio.NewReader(strangerOut)} {
		if line, err := out.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if err := d.endLeftovers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := left.Wait(); err == nil {
		t.Error("the left-over process ended by itself")
	}
	if err := strangerIn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Wait(); err != nil {
		t.Errorf("the stranger was not left alone: %v", err)
	}
	st, err := readState(dir)
	if err != nil || len(st.Processes) != 0 {
		t.Errorf("still recorded: %v (%v)", st.Processes, err)
	}
}

// A recorded port is kept, unless another process has it by now. Other programs may
// take one meanwhile, hence three tries.
func TestPortsAreKeptWhenFree(t *testing.T) {
	t.Parallel()
	var first, second map[Server]int
	for range 3 {
		d, err := openDirectory(newDir(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.close() })
		if first, err = d.choosePorts(); err != nil {
			t.Fatal(err)
		}
		thief, err := net.Listen("tcp4", loopback(first[NATS]))
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = thief.Close() })
		if second, err = d.choosePorts(); err != nil {
			t.Fatal(err)
		}
		if second[ZooKeeper] == first[ZooKeeper] && second[PostgreSQL] == first[PostgreSQL] && second[NATS] != first[NATS] {
			return
		}
	}
	t.Errorf("ports %v became %v with %d taken", first, second, first[NATS])
}

// A damaged state file stops everything that would build on it.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{", `{"id": ""}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, startErr := Start(t.Context(), Options{Dir: dir})
		_, _, findErr := Find(dir)
		for op, err := range map[string]error{"Start": startErr, "Find": findErr, "Remove": Remove(t.Context(), dir)} {
			if err == nil || !strings.Contains(err.Error(), stateFile) {
				t.Errorf("%s with %q: %v, want an error that names the file", op, content, err)
			}
		}
	}
}

// A directory that is not a stack's is not deleted.
func TestRemoveLeavesStrangersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Remove(t.Context(), dir); err == nil {
		t.Error("Remove of a stranger's directory succeeded")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := Remove(t.Context(), dir+"/missing"); err != nil {
		t.Errorf("Remove of nothing: %v", err)
	}
}
