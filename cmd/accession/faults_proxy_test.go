//go:build !race

package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// cable stands between the workers and one server. It can be cut, and slowed down.
type cable struct {
	listener net.Listener
	server   string
	all      sync.WaitGroup

	mu    sync.Mutex
	delay time.Duration
	open  map[net.Conn]bool
	shut  bool
}

func newCable(t *testing.T, server string) *cable {
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
		w.mu.Lock()
		w.shut = true
		w.mu.Unlock()
		_ = l.Close()
		w.cut()
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
		w.all.Go(func() { w.copy(client, server) })
		w.copy(server, client)
	}
	_, _ = client.Close(), server.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, client)
	delete(w.open, server)
}

func (w *cable) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		delay := w.delay
		w.mu.Unlock()
		if delay > 0 {
			<-time.After(delay)
		}
		if n > 0 {
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

// cut breaks all connections.
func (w *cable) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.(io.Closer).Close()
	}
}
