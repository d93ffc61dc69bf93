package jslog_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a client and a server and loses what it is told to lose.
type proxy struct {
	t        testing.TB
	listener net.Listener
	server   string // host and port
	user     *url.Userinfo

	mu     sync.Mutex
	calm   *sync.Cond
	pairs  []*pair
	asks   bool // hold back what clients send
	answer bool // lose what the server sends
}

// pair is one connection through the proxy.
type pair struct {
	client, server net.Conn
	held           bytes.Buffer // of the client, not yet sent
	answers        bytes.Buffer // of the server, after the client was cut off
	cut            bool
}

func newProxy(t testing.TB) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(natsURL(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: l, server: at.Host, user: at.User}
	p.calm = sync.NewCond(&p.mu)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.server)
			if err != nil {
				client.Close()
				continue
			}
			c := &pair{client: client, server: server}
			p.mu.Lock()
			p.pairs = append(p.pairs, c)
			p.mu.Unlock()
			all.Go(func() { p.copy(client, c.toServer(p)) })
			all.Go(func() { p.copy(server, c.toClient(p)) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.pairs {
			c.client.Close()
			c.server.Close()
		}
		p.mu.Unlock()
		all.Wait()
	})
	return p
}

func (p *proxy) url() string {
	return (&url.URL{Scheme: "nats", User: p.user, Host: p.listener.Addr().String()}).String()
}

func (p *proxy) copy(from io.Reader, to func([]byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		to(buf[:n])
		p.calm.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *pair) toServer(p *proxy) func([]byte) {
	return func(b []byte) {
		if p.asks {
			c.held.Write(b)
		} else if !c.cut {
			_, _ = c.server.Write(b)
		}
	}
}

func (c *pair) toClient(p *proxy) func([]byte) {
	return func(b []byte) {
		if c.cut {
			c.answers.Write(b)
		} else if !p.answer {
			_, _ = c.client.Write(b)
		}
	}
}

// lose says which direction is lost from now on.
func (p *proxy) lose(asks, answers bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks, p.answer = asks, answers
}

// cut ends the clients' connections, lets new ones through, and waits first until
// something was held back if asks were lost.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.asks && !p.holds("HPUB") {
		p.calm.Wait()
	}
	p.asks, p.answer = false, false
	for _, c := range p.pairs {
		c.cut = true
		c.client.Close()
	}
}

func (p *proxy) holds(word string) bool {
	for _, c := range p.pairs {
		if bytes.Contains(c.held.Bytes(), []byte(word)) {
			return true
		}
	}
	return false
}

// release lets the server have what was held back, and waits until it has read
// it all.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.pairs {
		if c.held.Len() == 0 {
			continue
		}
		c.answers.Reset()
		_, _ = c.server.Write(append(c.held.Bytes(), "PING\r\n"...))
		for !bytes.Contains(c.answers.Bytes(), []byte("PONG")) {
			p.calm.Wait()
		}
	}
}
