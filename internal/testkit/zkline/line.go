// Package zkline has lines that stand between a program and ZooKeeper, and end its session: at
// once, or at a certain write.
package zkline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// Test is the test that a line is part of.
type Test interface {
	Fatal(args ...any)
	Cleanup(end func())
}

// Line stands between a program and ZooKeeper. It knows the program's session, and can end it
// in the program's name.
type Line struct {
	server   string
	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	greeted []byte // the server's answer to the last connection: timeout, session, password
	open    map[net.Conn]bool
	ends    *end // what the session ends with, nil = nothing
	ended   int
}

// end is a write with which a session ends.
type end struct {
	texts   []string // all of which it has
	arrives bool
}

// New returns a line to a server, which lasts until the test ends.
func New(t Test, server string) *Line {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{server: server, listener: listener, open: map[net.Conn]bool{}}
	l.all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			l.all.Go(func() { l.connect(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut()
		l.all.Wait()
	})
	return l
}

// Address returns where the program finds ZooKeeper.
func (l *Line) Address() string { return l.listener.Addr().String() }

// EndAt lets the session end at the next request that has all the texts: before it arrives, or
// when the server has answered it; the program gets no answer. What was said before counts no
// more.
func (l *Line) EndAt(arrives bool, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = &end{texts, arrives}
}

// Ended returns how many sessions have ended at a request.
func (l *Line) Ended() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// connection is one of a program.
type connection struct {
	*Line
	client, server net.Conn
	mu             sync.Mutex
	last           []byte // number of the request whose answer does not arrive, nil = none
}

func (l *Line) connect(client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", l.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.open[client], l.open[server] = true, true
	l.mu.Unlock()
	c := &connection{Line: l, client: client, server: server}
	l.all.Go(func() {
		c.requests()
		_ = server.Close()
	})
	if greeting, err := packet(server); err == nil {
		l.mu.Lock()
		l.greeted = greeting
		l.mu.Unlock()
		if write(client, greeting) == nil {
			c.answers()
		}
	}
	_ = client.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, client)
	delete(l.open, server)
}

// requests passes on what the program says.
func (c *connection) requests() {
	for first := true; ; first = false {
		request, err := packet(c.client)
		if err != nil {
			return
		}
		if e := c.endsAt(request); !first && e != nil {
			if !e.arrives {
				c.over()
				return
			}
			c.mu.Lock()
			c.last = request[:numberSize]
			c.mu.Unlock()
		}
		if write(c.server, request) != nil {
			return
		}
	}
}

// numberSize is the size of the number with which requests and answers begin.
const numberSize = 4

// endsAt returns how the session ends at a request, nil = it does not.
func (l *Line) endsAt(request []byte) *end {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ends
	if e == nil || len(request) < numberSize {
		return nil
	}
	for _, text := range e.texts {
		if !bytes.Contains(request, []byte(text)) {
			return nil
		}
	}
	l.ends = nil
	return e
}

// answers passes on what the server says.
func (c *connection) answers() {
	for {
		answer, err := packet(c.server)
		if err != nil {
			return
		}
		c.mu.Lock()
		last := c.last
		c.mu.Unlock()
		if last != nil && bytes.HasPrefix(answer, last) {
			c.over()
			return
		}
		if write(c.client, answer) != nil {
			return
		}
	}
}

// over ends the session at a request.
func (l *Line) over() {
	if l.End() != nil {
		l.cut() // it has ended already
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended++
}

func (l *Line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
}

// End takes the session up on a connection of its own and closes it there.
func (l *Line) End() error {
	l.mu.Lock()
	greeting := l.greeted
	l.mu.Unlock()
	if len(greeting) < 36 {
		return errors.New("the server's greeting is too short")
	}
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", l.server)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it was told all
	// The greeting: version, timeout, session, password. A request to connect has the
	// last transaction seen before the timeout.
	request := append(make([]byte, 0, 48), greeting[:4]...)
	request = append(request, make([]byte, 8)...)
	request = append(append(request, greeting[4:16]...), greeting[16:36]...)
	if err := write(conn, request); err != nil {
		return err
	}
	answer, err := packet(conn)
	if err != nil {
		return err
	}
	if len(answer) < 16 || binary.BigEndian.Uint64(answer[8:]) != binary.BigEndian.Uint64(greeting[8:]) {
		return errors.New("the server does not know the session")
	}
	const closeSession = -11
	closing := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1), uint32(0xffffffff+1+closeSession))
	if err := write(conn, closing); err != nil {
		return err
	}
	_, err = packet(conn)
	l.cut() // the program hears of it when it connects again
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

func packet(from io.Reader) ([]byte, error) {
	var n [numberSize]byte
	if _, err := io.ReadFull(from, n[:]); err != nil {
		return nil, err
	}
	if size := binary.BigEndian.Uint32(n[:]); size > 64<<20 {
		return nil, errors.New("the packet is too large")
	}
	data := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(from, data)
	return data, err
}

func write(to io.Writer, data []byte) error {
	_, err := to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}
