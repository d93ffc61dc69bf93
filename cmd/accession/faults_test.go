//go:build !race

// The ZooKeeper client has a data race of its own when it takes up a session again.

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/domain"
)

// storm is an office with servers of its own, which it may break.
type storm struct {
	*office
	t       *testing.T
	servers *stack.Stack
	cables  map[stack.Server]*cable
	via     []string // settings of the workers
	workers []*service
	random  *rand.Rand
}

// seed gives what the test's choices follow from, and prints it.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("ACCESSION_TEST_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (ACCESSION_TEST_SEED repeats it)", n)
	return rand.New(rand.NewPCG(n, 0))
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	servers, err := stack.Start(t.Context(), stack.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := servers.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	at := servers.Addresses()
	s := &storm{t: t, servers: servers, random: seed(t)}
	postgres, err := url.Parse(at.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	s.cables = map[stack.Server]*cable{stack.ZooKeeper: newCable(t, at.ZooKeeper), stack.NATS: newCable(t, strings.TrimPrefix(at.NATS, "nats://")),
		stack.PostgreSQL: newCable(t, postgres.Host)}
	there := *postgres
	there.Host = s.cables[stack.PostgreSQL].address()
	s.via = []string{"--set=zookeeper=" + s.cables[stack.ZooKeeper].address(), "--set=nats=nats://" + s.cables[stack.NATS].address(),
		"--set=postgres=" + there.String()}
	s.office = newOffice(t, func(o *office) {
		o.settings["zookeeper"], o.settings["nats"], o.settings["postgres"] = at.ZooKeeper, at.NATS, at.Postgres
		o.settings["zookeeper_session_timeout"] = "4s"
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
	s.must(s.servers.StartServer(ctx, name))
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

// heals waits until all is at rest, and checks everything.
func (s *storm) heals(within time.Duration) {
	s.t.Helper()
	healed := time.Now()
	s.still()
	if took := time.Since(healed); took > within {
		s.t.Errorf("at rest only %v after the last fault", took)
	} else {
		s.t.Logf("at rest %v after the last fault", took)
	}
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
func TestFaultsAtRandom(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	s.serves(3)
	s.rests(s.deposit("again"))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		s.offers("mixed")
		s.offers("again")
		t.Log(s.fault())
	}
	s.heals(time.Minute)
}

// TestFaultsOfOneServer kills each server in the middle of a run, and starts it
// again.
func TestFaultsOfOneServer(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	s.serves(2)
	s.rests(s.deposit("again"))
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
	s.heals(time.Minute)
}
