// Package cputime tells how much processor time the servers of a test and a process have
// used, from /proc: unlike a rate, it does not depend on what else the machine does.
package cputime

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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
func Now(b testing.TB, pid int, db *pgxpool.Pool) (u Used) {
	b.Helper()
	f := stat(pid)
	if f == nil {
		b.Fatalf("there is no process %d", pid)
	}
	u.Ours = ticks(f[11] + f[12])
	u.ZooKeeper = listener(b, os.Getenv("ACCESSION_TEST_ZOOKEEPER"))
	u.NATS = listener(b, os.Getenv("ACCESSION_TEST_NATS"))
	var child int
	if err := db.QueryRow(context.Background(), "select pid from pg_stat_activity where backend_type = 'checkpointer'").Scan(&child); err != nil {
		b.Fatal(err)
	}
	postmaster := stat(child)
	if postmaster == nil {
		b.Fatal("PostgreSQL does not run on this machine")
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range all {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		f := stat(pid)
		switch {
		case f == nil: // it has ended
		case pid == postmaster[1]:
			u.Postgres += ticks(f[11] + f[12] + f[13] + f[14]) // with those that have ended
		case f[1] == postmaster[1]:
			u.Postgres += ticks(f[11] + f[12])
		}
	}
	return u
}

// listener returns what the process has used that listens at the address.
func listener(b testing.TB, address string) time.Duration {
	b.Helper()
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		b.Fatal(err)
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
		b.Fatal(err)
	}
	for _, name := range open {
		if to, err := os.Readlink(name); err == nil && sockets[to] {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			if f := stat(pid); f != nil {
				return ticks(f[11] + f[12])
			}
		}
	}
	b.Fatalf("nothing on this machine listens at %s", address)
	return 0
}

// ticks of the kernel's clock, a hundred a second.
func ticks(n int) time.Duration { return time.Duration(n) * 10 * time.Millisecond }

// stat returns the numbers of /proc/PID/stat from the third field on; [1] is the
// parent, [11] to [14] are times.
func stat(pid int) []int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	var list []int
	for _, word := range strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:])) {
		n, _ := strconv.Atoi(word) // the state is a letter
		list = append(list, n)
	}
	return list
}
