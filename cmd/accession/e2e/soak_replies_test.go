//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/repocheck"
)

// TestSoakLostReplies loses all answers from a point before a request on, until the
// connections break, at each point where a server answers. The first process is
// killed then; the one that tries again loses its answers too, and goes on by itself.
// Shows: P1 P2 P3 C2 C5
func TestSoakLostReplies(t *testing.T) {
	var c counts
	everyPoint(t, func(o *crashInstallation) {
		w := o.wires()
		o.interrupt = func(o *crashInstallation, point string, at func(*os.Process, <-chan struct{}), args []string) {
			o.t.Helper()
			c.add(&c.points)
			args = append(args, w.via...)
			if lost, _ := w.loses(point, at, args, true); !lost {
				o.t.Errorf("%v was to lose an answer at %s and did not", args, point)
			}
			again, end := false, gaveUp
			for late := time.Now().Add(retrying / 2); !again && end == gaveUp && time.Now().Before(late); <-time.After(200 * time.Millisecond) {
				again, end = w.loses(point, at, retryOf(args), false)
			}
			if again {
				c.add(&c.again)
			} else {
				c.add(&c.passed)
			}
		}
	}, func(point string) bool { return replyAt(t, point).From != "" })
	silent, err := repocheck.Points(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	silent = slices.DeleteFunc(silent, func(p repocheck.Point) bool { return replyAt(t, p.Name).From != "" })
	figure(t, "answers lost at %d points and the process killed, at %d again on the retry, which went on; %d were not met again; at %d others nobody answers",
		c.points, c.again, c.passed, len(silent))
	if c.again < c.points*3/4 {
		t.Errorf("only %d of %d points were met on a retry", c.again, c.points)
	}
}

func replyAt(t testing.TB, point string) repocheck.Reply {
	t.Helper()
	r, err := repocheck.ReplyAt(point)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wires are cables between a crashInstallation's processes and all who answer them, by their
// names; settings lead there.
type wires struct {
	o   *crashInstallation
	to  map[string]*cable
	via []string
}

func (o *crashInstallation) wires() *wires {
	o.t.Helper()
	postgres, err := url.Parse(o.settings["postgres"])
	o.must(err)
	natsURL, err := url.Parse(o.settings["nats"])
	o.must(err)
	w := &wires{o: o, to: map[string]*cable{
		repocheck.ZooKeeper:  newCable(o.t, o.settings["zookeeper"]),
		repocheck.NATS:       newCable(o.t, natsURL.Host),
		repocheck.PostgreSQL: newCable(o.t, postgres.Host),
		repocheck.Receiver:   newCable(o.t, strings.TrimPrefix(o.base, "http://")),
	}}
	natsURL.Host = w.to[repocheck.NATS].address()
	postgres.Host = w.to[repocheck.PostgreSQL].address()
	w.via = []string{"--set=zookeeper=" + w.to[repocheck.ZooKeeper].address(), "--set=nats=" + natsURL.String(), "--set=postgres=" + postgres.String()}
	o.editProfile(o.base+"/callback", "http://"+w.to[repocheck.Receiver].address()+"/callback")
	return w
}

// loses runs the program to a point and lets its answers be lost from there on, until
// one of those that are asked at the point was; then it is killed, or goes on until
// nothing is left to do. It reports whether one was, and how the process ended.
func (w *wires) loses(point string, at func(*os.Process, <-chan struct{}), args []string, kill bool) (lost bool, end ending) {
	w.o.t.Helper()
	within := reaching
	if !kill {
		within = retrying
	}
	end, said := w.o.armed("ACCESSION_STOP="+point, time.Nanosecond, func(p *os.Process, dead <-chan struct{}) {
		if at != nil {
			at(p, dead)
		}
		if stopsItself(p, dead, within) {
			for _, c := range w.to {
				c.lose()
			}
			_ = p.Signal(syscall.SIGCONT)
			lost = w.silence(w.to[replyAt(w.o.t, point).From], dead)
			if kill {
				_ = p.Kill()
			}
			for _, c := range w.to {
				c.cut()
			}
		}
		if !kill {
			w.ends(p, dead, point, serves(args), at == nil)
		}
	}, args...)
	if kill && !lost {
		w.o.t.Logf("%v said\n%s", args, said)
	}
	return lost, end
}

// silence lasts until an answer was lost, and so long that it was not only that to a
// sign of life.
func (w *wires) silence(from *cable, dead <-chan struct{}) (lost bool) {
	const least, most = 300 * time.Millisecond, 10 * time.Second
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for {
		select {
		case <-tick.C:
		case <-dead:
			return from.hasLost()
		}
		if long := time.Since(begun); long > most || long > least && from.hasLost() {
			return from.hasLost()
		}
	}
}

// ends lets a process go on until it ends; a service stops by a signal, after
// all is done if it is to work.
func (w *wires) ends(p *os.Process, dead <-chan struct{}, point string, service, works bool) {
	w.o.t.Helper()
	if service {
		if works && w.o.live != nil { // nothing was opened yet, and there is no deposit
			w.o.still()
		}
		_ = p.Signal(syscall.SIGTERM)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		select {
		case <-tick.C: // the point may be on the way to the end
			_ = p.Signal(syscall.SIGCONT)
		case <-dead:
			return
		case <-end:
			w.o.t.Errorf("a process went on after lost answers at %s and does not end", point)
			return
		}
	}
}

// serves reports whether the command is a service, which does not end by itself.
func serves(args []string) bool { return args[0] == "serve" }

// retryOf is how a command is given again that was interrupted.
func retryOf(args []string) []string {
	if args[0] == "rebuild" && !slices.Contains(args, "--resume") {
		return append([]string{"rebuild", "--resume"}, args[1:]...)
	}
	return args
}

// stopsItself waits until a process has stopped at its point.
func stopsItself(p *os.Process, dead <-chan struct{}, within time.Duration) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(within); ; {
		select {
		case <-tick.C:
			if stopped(p) {
				return true
			}
		case <-dead:
			return false
		case <-late:
			return false
		}
	}
}

func stopped(p *os.Process) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	_, state, ok := strings.Cut(string(text), ") ")
	return ok && strings.HasPrefix(state, "T")
}
