//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// stale counts what workers wrote that were stopped, and what else was seen.
type stale struct {
	stops   int // past the session
	inMid   int // of these, right before a write
	locks   int // held then
	taken   int // of these, held by a successor when they went on
	refused int // late writes
	inLog   int
	inTree  int
}

// TestSoakStoppedWorkers stops workers in the middle of what they do, rather right
// before a write, for longer than their sessions last. Continued, they must not
// change anything of what they had: neither while those who took it over stand
// before a write of their own, nor when these have finished.
// Shows: P5 C13
func TestSoakStoppedWorkers(t *testing.T) {
	stops := max(10, int(1000*soakTime(t)/(10*time.Minute)))
	random := seed(t)
	var found stale
	var events uint64
	for found.stops < stops {
		t.Run(fmt.Sprint(found.stops), func(t *testing.T) {
			o := newCrashInstallation(t, func(o *crashInstallation) { o.set(append(drawn(t, random), "zookeeper_session_timeout=2s")...) })
			o.stopsWorkers(random, min(200, stops-found.stops), &found)
			n, _ := o.logged()
			events += n
		})
		if t.Failed() {
			break
		}
	}
	figure(t, "%d stops past the session, %d right before a write, %d locks held then, %d by a successor when they went on; %d events; %d late writes were refused; stale writes: %d in the log, %d in the tree",
		found.stops, found.inMid, found.locks, found.taken, events, found.refused, found.inLog, found.inTree)
	if found.inMid == 0 || found.taken < found.stops/50 || found.refused == 0 {
		t.Error("hardly anybody was stopped at work, and tried a late write")
	}
}

// beforeWrite is the point right before a write to the tree, behind all decisions.
const beforeWrite = "zklive/deliver/multi/before"

// crew are workers that stop themselves before writes, each at every so many; who is
// not to sleep is waked at once.
type crew struct {
	all []*service

	mu     sync.Mutex
	sleeps []bool
}

// sleepers stop for long. The two others take over from them.
const sleepers, successors = 10, 2

func (o *crashInstallation) crew(random *rand.Rand) *crew {
	o.t.Helper()
	c := &crew{sleeps: make([]bool, sleepers+successors)}
	for n := range sleepers + successors {
		every := 1
		if n < sleepers {
			every += random.IntN(5)
		}
		c.all = append(c.all, o.serveAt(fmt.Sprintf("ACCESSION_STOP=%s:%d+", beforeWrite, every)))
	}
	done := make(chan struct{})
	var waking sync.WaitGroup
	waking.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.wake()
			case <-done:
				return
			}
		}
	})
	o.t.Cleanup(func() { close(done); waking.Wait() })
	return c
}

func (c *crew) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, s := range c.all {
		if !c.sleeps[n] && stopped(s.cmd.Process) {
			_ = s.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}

// sleep says for some of them whether they sleep on when they have stopped.
func (c *crew) sleep(from, to int, yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := from; n < to; n++ {
		c.sleeps[n] = yes
	}
}

// halt waits a moment for some of them to stop before a write, and stops the others
// where they are; it returns how many did by themselves.
func (c *crew) halt(from, to int) (themselves int) {
	c.sleep(from, to, true)
	asleep := func() (n int) {
		for _, s := range c.all[from:to] {
			if stopped(s.cmd.Process) {
				n++
			}
		}
		return n
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(500 * time.Millisecond); asleep() < to-from && time.Now().Before(end); {
		<-tick.C
	}
	themselves = asleep()
	for _, s := range c.all[from:to] {
		_ = s.cmd.Process.Signal(syscall.SIGSTOP)
	}
	return themselves
}

// stopsWorkers stops the sleepers again and again.
func (o *crashInstallation) stopsWorkers(random *rand.Rand, stops int, found *stale) {
	t := o.t
	t.Helper()
	const alone = 4 // each so manieth time the successors finish all before the sleepers go on
	first := o.deposit("again")
	others := len(o.ephemerals("/workers")) // the test's own
	c := o.crew(random)
	for _, s := range c.all {
		s.works()
	}
	o.rests(first)
	for round, done := 0, 0; done < stops; round, done = round+1, done+sleepers {
		at, begun := o.last(), time.Now()
		for range 4 {
			o.deposit("mixed")
			o.deposit("again")
		}
		until := at + 5 + random.Uint64N(100) // all together make more
		o.await("work", at, func(r domain.Recorded) bool { return r.Seq >= until })
		found.inMid += c.halt(0, sleepers)
		had := o.locks()
		found.locks += len(had)
		if round%alone == alone-1 {
			waitFor(t, "the sessions of the workers", func() bool { return len(o.ephemerals("/workers")) <= others+successors })
			o.wakesAlone(c, others, found)
		} else {
			found.taken += o.takeOver(c, had)
			waitFor(t, "the sessions of the workers", func() bool { return len(o.ephemerals("/workers")) <= others+successors })
			before := o.ephemerals("/workers")
			c.sleep(0, sleepers, false)
			c.wake()
			waitFor(t, "the sessions of the workers", func() bool { // in new sessions
				now := o.ephemerals("/workers")
				maps.DeleteFunc(now, func(name, _ string) bool { _, old := before[name]; return old })
				return len(now) >= sleepers
			})
			<-time.After(100 * time.Millisecond) // for what they had in hand
			c.sleep(sleepers, sleepers+successors, false)
		}
		found.stops += sleepers
		t.Logf("%d stops, %4.1f s for the last %d", found.stops, time.Since(begun).Seconds(), sleepers)
	}
	o.rested()
	for _, s := range c.all {
		s.stop()
		found.refused += strings.Count(s.log.tail(1<<30), "the claim is lost")
	}
	o.finish()
	o.sound()
	found.inLog += o.late
}

// takeOver lets the successors go on write by write, until each holds something that
// a sleeper had, and has changed nothing of it yet; then they stand still. It returns
// how many do.
func (o *crashInstallation) takeOver(c *crew, had map[string]string) (taken int) {
	o.t.Helper()
	c.sleep(sleepers, sleepers+successors, true)
	known := map[string]bool{}
	again := func() bool { // one more of those is held
		for path, data := range had {
			now := o.ephemerals(path)[path]
			if now != "" && now != data && !known[path] {
				known[path] = true
				return true
			}
		}
		return false
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	holds := map[*service]bool{}
	for end := time.Now().Add(6 * time.Second); taken < successors && time.Now().Before(end); <-tick.C {
		for _, s := range c.all[sleepers:] {
			if holds[s] || !stopped(s.cmd.Process) {
				continue
			}
			_ = s.cmd.Process.Signal(syscall.SIGCONT)
			for next := time.Now().Add(50 * time.Millisecond); time.Now().Before(next); {
				if <-tick.C; stopped(s.cmd.Process) {
					break
				}
			}
			if again() {
				holds[s], taken = true, taken+1
			}
		}
	}
	for _, s := range c.all[sleepers:] {
		_ = s.cmd.Process.Signal(syscall.SIGSTOP)
	}
	return taken
}

// wakesAlone lets the sleepers go on when everything is at rest: whatever changes is
// theirs.
func (o *crashInstallation) wakesAlone(c *crew, others int, found *stale) {
	t := o.t
	t.Helper()
	o.rested() // the tables wait when their projector sleeps
	last, tree := o.last(), o.nodes()
	waitFor(t, "an installation that rests", func() bool { // a report's delivery is written down when all is at rest
		<-time.After(300 * time.Millisecond)
		was, before := last, tree
		last, tree = o.last(), o.nodes()
		return last == was && maps.Equal(tree, before)
	})
	c.sleep(0, sleepers, false)
	c.wake()
	waitFor(t, "the sessions of the workers", func() bool { return len(o.ephemerals("/workers")) == others+sleepers+successors }) // in new sessions
	now := o.nodes()
	for path, data := range now {
		if was, ok := tree[path]; !ok || was != data {
			found.inTree++
			t.Errorf("changed by a worker that was stopped: %s, from %s to %s", path, was, data)
		}
		delete(tree, path)
	}
	for path := range tree {
		found.inTree++
		t.Errorf("removed by a worker that was stopped: %s", path)
	}
	o.rested() // what changed has its event in the log
	for r, err := range o.log.Read(t.Context(), eventstore.ReadOptions{From: last + 1}) {
		o.must(err)
		found.inLog++
		t.Errorf("written by a worker that was stopped: %s %s", r.ID(), r.Type)
	}
}

// last is the number of the last event.
func (in *installation) last() uint64 {
	in.t.Helper()
	info, err := in.log.Info(in.t.Context())
	in.must(err)
	return info.Last
}

// ephemerals are the nodes from a path on that go with a session, and what they hold.
func (in *installation) ephemerals(path string) map[string]string {
	in.t.Helper()
	all := map[string]string{}
	for name, n := range in.nodesFrom(path) {
		if n.Ephemeral {
			all[name] = n.Data
		}
	}
	return all
}

// locks are those of batches and jobs that are held.
func (in *installation) locks() map[string]string {
	all := in.ephemerals("/batches")
	maps.Copy(all, in.ephemerals("/jobs"))
	return all
}

// nodes is all that lasts of batches, jobs, settings and numbers.
func (in *installation) nodes() map[string]string {
	in.t.Helper()
	all := map[string]string{}
	for _, top := range []string{"/batches", "/jobs", "/locks", "/config", "/ids"} {
		for path, n := range in.nodesFrom(top) {
			if !n.Ephemeral && path != "/config/high-water" {
				all[path] = n.Data
			}
		}
	}
	return all
}
