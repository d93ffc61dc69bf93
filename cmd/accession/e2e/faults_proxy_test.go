package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// cable is the fault proxy: it stands between the workers and one server. It can be cut, slowed
// down, and made to lose what the server says.
type cable struct {
	listener net.Listener
	server   string
	all      sync.WaitGroup

	mu    sync.Mutex
	delay time.Duration
	deaf  bool
	lost  int // bytes thrown away since it is
	doom  int // so many answers are still to be lost, each with its connection
	open  map[net.Conn]bool
	shut  bool // new connections are closed at once
}

func newCable(t testing.TB, server string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &cable{listener: l, server: server, open: map[net.Conn]bool{}}
	w.all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.connect(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.shuts(true)
		w.all.Wait()
	})
	return w
}

func (w *cable) address() string { return w.listener.Addr().String() }

func (w *cable) connect(client net.Conn) {
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		_ = client.Close()
		return
	}
	w.mu.Lock()
	w.open[client], w.open[server] = true, true
	shut := w.shut
	w.mu.Unlock()
	if !shut {
		w.all.Go(func() { w.copy(client, server, true) })
		w.copy(server, client, false)
	}
	_, _ = client.Close(), server.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, client)
	delete(w.open, server)
}

func (w *cable) copy(to, from net.Conn, fromServer bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		delay, lost := w.delay, w.deaf && fromServer
		if lost {
			w.lost += n
		}
		if fromServer && n > 0 && w.doom > 0 {
			w.doom--
			lost, err = true, io.ErrUnexpectedEOF
		}
		w.mu.Unlock()
		if delay > 0 {
			<-time.After(delay)
		}
		if n > 0 && !lost {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// slow lets everything take so much longer.
func (w *cable) slow(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = by
}

// lose throws away what the server says, until the connections are cut.
func (w *cable) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf, w.lost = true, 0
}

// losesAnswers lets the server do what the next requests ask for, and cuts their connections at
// the first bytes of its answers.
func (w *cable) losesAnswers(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doom = n
}

// toLose returns how many answers are still to be lost.
func (w *cable) toLose() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doom
}

// hasLost reports whether anything was thrown away.
func (w *cable) hasLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost > 0
}

// shuts breaks all connections, and all new ones until it is called with false.
func (w *cable) shuts(shut bool) {
	w.mu.Lock()
	w.shut = shut
	w.mu.Unlock()
	w.cut()
}

// cut breaks all connections; new ones are whole.
func (w *cable) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = false
	for c := range w.open {
		_ = c.(io.Closer).Close()
	}
}
