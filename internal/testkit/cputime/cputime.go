// Package cputime tells how much processor time the servers of a test and a process have
// used, from /proc: unlike a rate, it does not depend on what else the machine does.
package cputime

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Used is the processor time that a process and the servers have used.
type Used struct{ Ours, ZooKeeper, NATS, Postgres time.Duration }

// Since returns what was used since before.
func (u Used) Since(before Used) Used {
	return Used{u.Ours - before.Ours, u.ZooKeeper - before.ZooKeeper, u.NATS - before.NATS, u.Postgres - before.Postgres}
}

// Per returns microseconds for each of n.
func Per(d time.Duration, n int) float64 { return float64(d.Microseconds()) / float64(n) }

// Now returns what the process and the servers of the test have used until now. The servers
// must be on this machine.
func Now(t testing.TB, pid int) (u Used) {
	t.Helper()
	f := stat(pid)
	if f == nil {
		t.Fatalf("there is no process %d", pid)
	}
	at, err := url.Parse(os.Getenv("ACCESSION_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	u.Ours = f.own()
	u.ZooKeeper = stat(listener(t, os.Getenv("ACCESSION_TEST_ZOOKEEPER"))).own()
	u.NATS = stat(listener(t, os.Getenv("ACCESSION_TEST_NATS"))).own()
	postmaster := listener(t, at.Host)
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		switch f := stat(pid); {
		case f == nil: // it has ended
		case pid == postmaster:
			u.Postgres += f.own() + f.ended()
		case f[1] == postmaster:
			u.Postgres += f.own()
		}
	}
	return u
}

// listener returns the process that listens at the address; of several, that which came first.
func listener(t testing.TB, address string) (first int) {
	t.Helper()
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	sockets := map[string]bool{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(name) // the second may be missing
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) && f[3] == "0A" {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	open, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range open {
		to, err := os.Readlink(name)
		if err != nil || !sockets[to] {
			continue
		}
		if pid, _ := strconv.Atoi(strings.Split(name, "/")[2]); first == 0 || pid < first {
			first = pid
		}
	}
	if first == 0 {
		t.Fatalf("nothing on this machine listens at %s", address)
	}
	return first
}

// numbers are those of /proc/PID/stat from the third field on: [1] is the parent.
type numbers []int

// own is the time of the process itself, ended that of its children that have ended.
func (f numbers) own() time.Duration   { return ticks(f[11] + f[12]) }
func (f numbers) ended() time.Duration { return ticks(f[13] + f[14]) }

// ticks of the kernel's clock, a hundred a second.
func ticks(n int) time.Duration { return time.Duration(n) * 10 * time.Millisecond }

// stat returns the numbers of a process, nil when it has ended.
func stat(pid int) (list numbers) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	for _, word := range strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) {
		n, _ := strconv.Atoi(word) // the state is a letter
		list = append(list, n)
	}
	return list
}
