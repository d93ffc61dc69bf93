package model_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"pgregory.net/rapid"
)

// line stands between a store and ZooKeeper. It knows the store's session, and can end
// it in the store's name.
type line struct {
	server   string
	listener net.Listener
	all      sync.WaitGroup

	mu      sync.Mutex
	greeted []byte // the server's answer to the last connection: timeout, session, password
	open    map[net.Conn]bool
}

func newLine(t *rapid.T, server string) *line {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{server: server, listener: listener, open: map[net.Conn]bool{}}
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

func (l *line) address() string { return l.listener.Addr().String() }

func (l *line) connect(client net.Conn) {
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.open[client], l.open[server] = true, true
	l.mu.Unlock()
	l.all.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	if greeting, err := packet(server); err == nil {
		l.mu.Lock()
		l.greeted = greeting
		l.mu.Unlock()
		if write(client, greeting) == nil {
			_, _ = io.Copy(client, server)
		}
	}
	_ = client.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, client)
	delete(l.open, server)
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
}

// end takes the session up on a connection of its own and closes it there.
func (l *line) end() error {
	l.mu.Lock()
	greeting := l.greeted
	l.mu.Unlock()
	if len(greeting) < 36 {
		return errors.New("the server's greeting is too short")
	}
	conn, err := net.Dial("tcp", l.server)
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
	l.cut() // the store hears of it when it connects again
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

func packet(from io.Reader) ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(from, n[:]); err != nil {
		return nil, err
	}
	if size := binary.BigEndian.Uint32(n[:]); size > 1<<20 {
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
