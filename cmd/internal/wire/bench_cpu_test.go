package wire

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// cpu is the processor time that this process and the servers have used. Unlike a
// rate it does not depend on what else the machine does.
type cpu struct{ ours, zookeeper, nats, postgres time.Duration }

func (c cpu) since(before cpu) cpu {
	return cpu{c.ours - before.ours, c.zookeeper - before.zookeeper, c.nats - before.nats, c.postgres - before.postgres}
}

// per returns microseconds for each of n.
func per(d time.Duration, n int) float64 { return float64(d.Microseconds()) / float64(n) }

// used looks now. The servers must be on this machine.
func used(b *testing.B, db *pgxpool.Pool) (c cpu) {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	c.ours = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	c.zookeeper = listener(b, os.Getenv("ACCESSION_TEST_ZOOKEEPER"))
	c.nats = listener(b, os.Getenv("ACCESSION_TEST_NATS"))
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
			c.postgres += ticks(f[11] + f[12] + f[13] + f[14]) // with those that have ended
		case f[1] == postmaster[1]:
			c.postgres += ticks(f[11] + f[12])
		}
	}
	return c
}

// listener returns what the process has used that listens at the address.
func listener(b *testing.B, address string) time.Duration {
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
