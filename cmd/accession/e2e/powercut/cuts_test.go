//go:build soak && linux

package powercut_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/internal/testkit/powercut"
)

const (
	cuts     = 30
	patience = 2 * time.Minute
)

func TestMain(m *testing.M) {
	if stack.ChildMain() || carelessMain() {
		return
	}
	os.Exit(m.Run())
}

func owner(info os.FileInfo) (uid, gid uint32) {
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid
}

func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("ACCESSION_TEST_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (ACCESSION_TEST_SEED repeats it)", n)
	return n
}

// rig is a server whose disk loses power.
type rig struct {
	t      *testing.T
	random *rand.Rand
	disk   *powercut.Disk
	mount  *powercut.Mount
	kill   func() error
	start  func(context.Context) error
	dial   func(context.Context) (client, error)

	noted     map[string]bool // what was acknowledged and not yet missed
	forgotten int64           // bytes
	names     int
	lost      int
	back      time.Duration
	writes    int
}

// under puts a disk under the directory of a server that is down.
func (r *rig) under(dir string, full bool) {
	r.t.Helper()
	info, err := os.Stat(dir)
	r.must(err)
	r.disk = powercut.New(owner(info))
	if full {
		r.must(r.disk.Load(dir))
	}
	r.mount, err = r.disk.At(dir)
	r.must(err)
	r.t.Cleanup(func() {
		if err := errors.Join(r.kill(), r.mount.Close()); err != nil {
			r.t.Error(err)
		}
	})
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// round lets writers write, takes the power away at some moment and brings it back:
// what is missing then of all that was ever acknowledged is lost.
func (r *rig) round(n int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := r.dial(ctx)
	r.must(err)
	writing, stop := context.WithCancel(ctx)
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := make(chan struct{})
	first := sync.OnceFunc(func() { close(begun) })
	for w := range 4 {
		all.Go(func() {
			for i := 0; writing.Err() == nil; i++ {
				var entries []string
				for j := range 1 + 4*(w%2) {
					entries = append(entries, fmt.Sprintf("%d-%d-%d-%d", n, w, i, j))
				}
				if c.write(writing, entries) != nil {
					return
				}
				mu.Lock()
				for _, e := range entries {
					r.noted[e] = true
				}
				r.writes += len(entries)
				mu.Unlock()
				first()
			}
		})
	}
	select {
	case <-begun:
	case <-ctx.Done():
		r.t.Fatal("nothing can be written")
	}
	<-time.After(time.Duration(r.random.Int64N(int64(800 * time.Millisecond))))
	r.must(r.kill())
	stop()
	c.close()
	all.Wait()
	bytes, names := r.disk.Unsynced()
	r.forgotten += bytes
	r.names += names
	r.must(r.mount.Cut())
	off := time.Now()
	r.must(r.start(ctx))
	r.back += time.Since(off)
	r.check(ctx, n)
	if r.random.IntN(3) == 0 {
		r.disk.Settle() // what was written until now was written back in time
	}
}

func (r *rig) check(ctx context.Context, n int) {
	r.t.Helper()
	c, err := r.dial(ctx)
	r.must(err)
	defer c.close()
	there, err := c.all(ctx)
	r.must(err)
	missing, example := 0, ""
	for e := range r.noted {
		if !there[e] {
			missing, example = missing+1, e
			delete(r.noted, e)
		}
	}
	if r.lost += missing; missing > 0 {
		r.t.Logf("cut %d: %d acknowledged entries are lost, such as %s", n, missing, example)
	}
}

// tell writes the figures, also into the table at the end of `make soak`.
func (r *rig) tell(rounds int) {
	r.t.Helper()
	line := fmt.Sprintf("%s: %d cuts, %d acknowledged, %d lost; %d KiB and %d names forgotten, back after %v",
		r.t.Name(), rounds, r.writes, r.lost, r.forgotten>>10, r.names, (r.back / time.Duration(rounds)).Round(time.Millisecond))
	r.t.Log(line)
	if name := os.Getenv("SOAK_FIGURES"); name != "" {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		r.must(err)
		defer f.Close()
		_, err = fmt.Fprintln(f, line)
		r.must(err)
	}
}

// newRig puts a disk under one server of a stack. ZooKeeper and NATS begin on an
// empty one; PostgreSQL's is that of initdb, which syncs nothing.
func newRig(t *testing.T, s *stack.Stack, name stack.Server, number uint64) *rig {
	t.Helper()
	r := &rig{t: t, random: rand.New(rand.NewPCG(number, 0)), noted: map[string]bool{}}
	r.kill = func() error { return s.Kill(name) }
	r.start = func(ctx context.Context) error { return s.StartServer(ctx, name) }
	r.dial = func(ctx context.Context) (client, error) { return dial(ctx, name, s.Addresses()) }
	r.must(r.kill())
	r.under(filepath.Join(s.Dir(), string(name)), name == stack.PostgreSQL)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.must(r.start(ctx))
	return r
}

func newStack(t *testing.T) *stack.Stack {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "accession-powercut-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL's user must get in
		t.Fatal(err)
	}
	s, err := stack.Start(t.Context(), stack.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	return s
}

// TestSoakPowerCuts takes the power from each server thirty times while it is written
// to. Nothing that was acknowledged may be lost.
// Shows: P1
func TestSoakPowerCuts(t *testing.T) {
	number, s := seed(t), newStack(t)
	for _, name := range []stack.Server{stack.ZooKeeper, stack.NATS, stack.PostgreSQL} {
		t.Run(string(name), func(t *testing.T) {
			r := newRig(t, s, name, number)
			for n := range cuts {
				r.round(n)
			}
			if r.tell(cuts); r.lost > 0 {
				t.Errorf("%d acknowledged entries are lost", r.lost)
			}
			if r.forgotten == 0 {
				t.Error("the cuts took nothing: the disk was not under the server")
			}
		})
	}
}
