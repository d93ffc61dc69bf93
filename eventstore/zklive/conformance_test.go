package zklive_test

import (
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, suite := range map[string]func(*testing.T, func(*testing.T) storetest.Env){
		"live": storetest.RunLive, "claims": storetest.RunClaims, "outbox": storetest.RunOutbox, "handler": storetest.RunHandler,
	} {
		for position, cfg := range positions {
			t.Run(name+"/"+position, func(t *testing.T) {
				t.Parallel()
				suite(t, func(t *testing.T) storetest.Env { return openWorld(t, cfg) })
			})
		}
	}
}

// positions of the switches in which everything must hold.
var positions = map[string]zklive.Config{
	"fast":  {GroupCommit: true, RelayHints: true},
	"plain": {},
}

// openWorld gives a tree of its own. Each process reaches ZooKeeper through a
// proxy of its own, so that its session can be made to expire.
func openWorld(t *testing.T, cfg zklive.Config) storetest.Env {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	removedAfter(t, w.root)
	w.open(t, zklive.Config{Shards: 2})
	var mu sync.Mutex
	lines := map[storetest.Store]*line{}
	return storetest.Env{
		Open: func(t testing.TB) storetest.Store {
			l, cfg := newLine(t), cfg
			cfg.Servers, cfg.Root, cfg.SessionTimeout = []string{l.address()}, w.root, 4*time.Second
			s, err := zklive.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			store := storetest.StoreOf(s)
			lines[store] = l
			return store
		},
		Expire: func(t testing.TB, s storetest.Store) {
			mu.Lock()
			l := lines[s]
			mu.Unlock()
			expire(t, l, w.root+"/workers/"+s.Live.(*zklive.Store).WorkerID())
		},
		FixHolds: func(s storetest.Store, known eventstore.Holds) { s.Live.(*zklive.Store).SetHolds(known) },
		Traits:   storetest.Traits{Shards: 2, KeepsSent: true},
	}
}

// expire cuts a process off until the server has given up its session.
func expire(t testing.TB, l *line, fence string) {
	t.Helper()
	expireDuring(t, l, fence, func() {}, func() {})
}

// expireDuring does something when the line is cut, and something when the session
// is over, before it is repaired.
func expireDuring(t testing.TB, l *line, fence string, cut, over func()) {
	t.Helper()
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	there, _, gone, err := conn.ExistsW(fence)
	if err != nil {
		t.Fatal(err)
	}
	l.cut()
	defer l.mend()
	cut()
	if !there {
		return
	}
	select {
	case <-gone:
		over()
	case <-t.Context().Done():
		t.Fatal("the session did not expire")
	}
}

// line is a TCP proxy to the test's ZooKeeper that can be cut and repaired.
type line struct {
	ln    net.Listener
	mu    sync.Mutex
	conns map[net.Conn]bool
	off   bool
	// What the line loses: answers, or a large request (a write) and all after it.
	answers, writes bool
	over            int
	deaf            bool
	lost            chan struct{} // closed when the first was lost
	once            sync.Once
}

// aClaim is longer than the reads that a store sends at once before it, in bytes.
const aClaim = 450

// lose makes the line lose either the next request over so many bytes, or the
// answer to it, and all that follows until it is repaired.
func (l *line) lose(answers bool, over int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers, l.writes, l.over = answers, !answers, over
}

func newLine(t testing.TB) *line {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{ln: ln, conns: map[net.Conn]bool{}, lost: make(chan struct{})}
	t.Cleanup(func() { _ = ln.Close(); l.cut() })
	go l.serve(os.Getenv("ACCESSION_TEST_ZOOKEEPER"))
	return l
}

func (l *line) address() string { return l.ln.Addr().String() }

func (l *line) serve(target string) {
	for {
		in, err := l.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", target)
		if err != nil || !l.add(in, out) {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
			continue
		}
		go l.pipe(in, out, func(n int) bool {
			l.deaf = l.deaf || l.answers && n > l.over
			return l.writes && n > l.over
		})
		go l.pipe(out, in, func(int) bool { return l.deaf })
	}
}

func (l *line) add(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = true
	}
	return !l.off
}

// pipe passes on until the end, or until loses says so: from then on it swallows.
func (l *line) pipe(from, to net.Conn, loses func(n int) bool) {
	buf, deaf := make([]byte, 64<<10), false
	for {
		n, err := from.Read(buf)
		if err != nil {
			break
		}
		l.mu.Lock()
		deaf = deaf || loses(n)
		l.mu.Unlock()
		if deaf {
			l.once.Do(func() { close(l.lost) })
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			break
		}
	}
	_ = from.Close()
	_ = to.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, from)
	delete(l.conns, to)
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = true
	for c := range l.conns {
		_ = c.Close()
	}
}

// mend ends what was cut or lost: connections so far are gone, new ones work.
func (l *line) mend() {
	l.cut()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off, l.answers, l.writes, l.deaf = false, false, false, false
}
