//go:build !race

// The ZooKeeper client has a data race of its own when it takes up a session again.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/domain"
)

// storm is a crashInstallation with servers of its own, which it may break.
type storm struct {
	*crashInstallation
	t       testing.TB
	servers *stack.Stack
	kept    string // where ZooKeeper's log is kept
	cables  map[stack.Server]*cable
	via     []string // settings of the workers
	workers []*service
	random  *rand.Rand
}

// newStorm makes one; settings returns those of the shortcuts.
func newStorm(t testing.TB, settings func(r *rand.Rand) []string) *storm {
	t.Helper()
	servers, err := stack.Start(t.Context(), stack.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(servers.Stop(ctx), stack.Remove(ctx, servers.Dir())); err != nil {
			t.Error(err)
		}
	})
	at := servers.Addresses()
	s := &storm{t: t, servers: servers, random: seed(t), kept: filepath.Join(servers.Dir(), "kept")}
	if err := os.Mkdir(s.kept, 0o700); err != nil {
		t.Fatal(err)
	}
	postgres, err := url.Parse(at.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	natsURL, err := url.Parse(at.NATS)
	if err != nil {
		t.Fatal(err)
	}
	s.cables = map[stack.Server]*cable{stack.ZooKeeper: newCable(t, at.ZooKeeper), stack.NATS: newCable(t, natsURL.Host),
		stack.PostgreSQL: newCable(t, postgres.Host)}
	there := *postgres
	there.Host = s.cables[stack.PostgreSQL].address()
	natsThere := *natsURL
	natsThere.Host = s.cables[stack.NATS].address()
	s.via = []string{"--set=zookeeper=" + s.cables[stack.ZooKeeper].address(), "--set=nats=" + natsThere.String(),
		"--set=postgres=" + there.String()}
	s.crashInstallation = newCrashInstallation(t, func(o *crashInstallation) {
		o.settings["zookeeper"], o.settings["nats"], o.settings["postgres"] = at.ZooKeeper, at.NATS, at.Postgres
		o.set(append(settings(s.random), "zookeeper_session_timeout=4s", "listen_ops=127.0.0.1:0", "ops_pprof=true")...)
		o.begun = 0
		o.db, err = pgxpool.New(t.Context(), at.Postgres)
		o.must(err)
		t.Cleanup(o.db.Close)
		o.run("migrate")
	})
	return s
}

// serves starts so many workers.
func (s *storm) serves(n int) {
	for range n {
		s.workers = append(s.workers, s.serve(s.via...))
	}
}

// pause waits between two faults, or while one lasts.
func (s *storm) pause(least, most time.Duration) {
	<-time.After(least + time.Duration(s.random.Int64N(int64(most-least))))
}

// again starts a server that was killed.
func (s *storm) again(name stack.Server) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if name == stack.ZooKeeper {
		s.links(s.zooKeeperLog(), s.kept) // at its start it removes the oldest
	}
	s.must(s.servers.StartServer(ctx, name))
}

func (s *storm) zooKeeperLog() string {
	return filepath.Join(s.servers.Dir(), "zookeeper", "version-2")
}

// links returns the files of ZooKeeper's log a name in another directory too.
func (s *storm) links(from, to string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "log.*"))
	s.must(err)
	for _, f := range files {
		if err := os.Link(f, filepath.Join(to, filepath.Base(f))); !errors.Is(err, os.ErrExist) {
			s.must(err)
		}
	}
}

// sound checks all, with the whole log of ZooKeeper.
func (s *storm) sound() {
	s.t.Helper()
	s.links(s.kept, s.zooKeeperLog())
	s.crashInstallation.sound()
}

// offers submits a deposit as often as it takes. One whose answer got lost may be
// there twice: each is a batch of its own.
func (s *storm) offers(what string) {
	s.t.Helper()
	kind, mode := domain.TypeFileBatchManifest, "update"
	if what == "mixed" {
		kind, mode = domain.TypeBatchManifest, "add"
	}
	s.n++
	for end := time.Now().Add(patience); ; {
		cmd := s.command("submit", fmt.Sprintf("%s/%s?n=%d", s.base, what, s.n), "--type", string(kind), "--mode", mode, "--profile", "test")
		ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
		stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
		out, err := cmd.CombinedOutput()
		stop()
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("nothing can be submitted: %v\n%s", err, out)
		}
	}
}

// faults are what may happen to a server or to a worker.
func (s *storm) fault() string {
	servers := []stack.Server{stack.ZooKeeper, stack.NATS, stack.PostgreSQL}
	name := servers[s.random.IntN(len(servers))]
	worker := s.random.IntN(len(s.workers))
	switch s.random.IntN(6) {
	case 0:
		s.must(s.servers.Kill(name))
		s.pause(100*time.Millisecond, 2*time.Second)
		s.again(name)
		return "killed " + string(name)
	case 1:
		pid := s.servers.PID(name)
		s.must(syscall.Kill(pid, syscall.SIGSTOP))
		s.pause(500*time.Millisecond, 6*time.Second)
		s.must(syscall.Kill(pid, syscall.SIGCONT))
		return "stopped " + string(name)
	case 2:
		s.cables[name].cut()
		return "cut off " + string(name)
	case 3:
		s.cables[name].slow(time.Duration(1+s.random.IntN(200)) * time.Millisecond)
		s.pause(500*time.Millisecond, 3*time.Second)
		s.cables[name].slow(0)
		return "slowed down " + string(name)
	case 4:
		s.workers[worker].kill()
		s.workers[worker] = s.serve(s.via...)
		// One that starts without a server ends, for its supervisor to start it again.
		s.workers[worker].tells(`"msg":"ready"`)
		return fmt.Sprintf("killed worker %d", worker)
	default:
		p := s.workers[worker].cmd.Process
		err := p.Signal(syscall.SIGSTOP)
		if errors.Is(err, os.ErrProcessDone) {
			s.t.Errorf("worker %d ended by itself", worker)
			return ""
		}
		s.pause(500*time.Millisecond, 6*time.Second)
		s.should(p.Signal(syscall.SIGCONT))
		return fmt.Sprintf("stopped worker %d", worker)
	}
}

// heals waits until all is at rest, and checks everything; the installation takes what
// it took before.
func (s *storm) heals(within time.Duration, before footprint) {
	s.t.Helper()
	healed := time.Now()
	s.still()
	if took := time.Since(healed); took > within {
		s.t.Errorf("at rest only %v after the last fault", took)
	} else {
		s.t.Logf("at rest %v after the last fault", took)
	}
	s.back(before, moreHeap, s.workers...)
	s.sound()
	for i, w := range s.workers {
		if err := w.cmd.Process.Signal(syscall.Signal(0)); err != nil {
			s.t.Errorf("worker %d ended by itself: %v", i, err)
		}
		w.stop()
	}
}

// TestFaultsAtRandom breaks servers, connections and workers for a minute while
// deposits come in. A minute later everything is at rest, and whole.
// Shows: P1 P2 P3 P4 P5 P7 P8
func TestFaultsAtRandom(t *testing.T) {
	t.Parallel()
	newStorm(t, func(r *rand.Rand) []string { return drawn(t, r) }).rages(time.Minute)
}

// rages breaks things for a time, and returns how many.
func (s *storm) rages(long time.Duration) (faults int) {
	s.t.Helper()
	s.serves(3)
	s.rests(s.deposit("again"))
	s.still()
	before := s.takes(s.workers...)
	for end := time.Now().Add(long); time.Now().Before(end); faults++ {
		s.offers("mixed")
		s.offers("again")
		s.t.Log(s.fault())
	}
	s.heals(time.Minute, before)
	return faults
}

// TestFaultsOfOneServer kills each server in the middle of a run, and starts it
// again. The shortcuts are off, so that a run has them in both positions, whatever
// is drawn.
// Shows: P1 P2 P3 P4 P5 P7 P8
func TestFaultsOfOneServer(t *testing.T) {
	t.Parallel()
	s := newStorm(t, func(*rand.Rand) []string { return without() })
	s.serves(2)
	s.rests(s.deposit("again"))
	s.still()
	before := s.takes(s.workers...)
	for _, name := range []stack.Server{stack.ZooKeeper, stack.NATS, stack.PostgreSQL} {
		for range 3 {
			s.deposit("mixed")
		}
		s.must(s.servers.Kill(name))
		s.pause(time.Second, 2*time.Second)
		s.again(name)
		begun := time.Now()
		s.offers("again")
		t.Logf("%s was killed: deposits are taken %v after it was back", name, time.Since(begun).Round(time.Millisecond))
		s.still()
		t.Logf("%s was killed: all is at rest %v after it was back", name, time.Since(begun).Round(time.Millisecond))
	}
	s.heals(time.Minute, before)
}
