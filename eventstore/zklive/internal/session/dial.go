package session

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// dialer returns a dialer of connections that wait at most maxWait, the time that a
// session may last, for an answer. A server that is just starting may take a connection and never
// answer; the client library would wait seven times as long for the first answer. The
// contact learns what is answered.
func dialer(maxWait time.Duration, contact *contact) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{Timeout: timeout}
		conn, err := d.DialContext(context.Background(), network, address)
		if err != nil {
			return nil, err
		}
		return newWatchedConn(conn, maxWait, contact), nil
	}
}

// watchedConn is a connection that limits its read deadlines, and notes when requests are
// sent that are answered. One goroutine reads, one writes, and each write is one request.
//
// On a connection that takes up an old session it reads nothing more before the watches of
// that session were sent again. The client library says there which transaction it saw
// last; what it read before, on this connection, would be taken for seen, and a watch of it
// would never fire. (The library's read of that number is also a data race with its
// receiving goroutine: go-zookeeper/zk, pull request 35.)
type watchedConn struct {
	net.Conn
	maxWait time.Duration
	contact *contact

	head    []byte        // of the answer that is being read
	skip    int           // bytes left of it after its head
	watches chan struct{} // closed when the watches were sent, or the connection is closed
	settled bool          // watches is not waited for any more

	mu    sync.Mutex
	begun bool      // the first request was sent, which asks for the session
	old   bool      // it asks for one that there was before
	told  bool      // watches is closed
	met   bool      // it was answered
	asked int32     // number of the request that was sent at sent
	sent  time.Time // zero = no answer is waited for
	pings int       // requests without answers that have the number of pings
}

const (
	headSize = 12 // of an answer: its length, and eight bytes that each answer has
	pingXid  = -2
	// opSetWatches is the request that sets watches again.
	opSetWatches = 101
	// watchesWait is how long it is waited for: a session may have no watches.
	watchesWait = 200 * time.Millisecond
)

// newWatchedConn returns a connection whose answers the contact learns of.
func newWatchedConn(conn net.Conn, maxWait time.Duration, contact *contact) *watchedConn {
	return &watchedConn{Conn: conn, maxWait: maxWait, contact: contact, watches: make(chan struct{})}
}

func (c *watchedConn) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(c.maxWait); t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *watchedConn) Write(request []byte) (int, error) {
	c.sends(request, time.Now())
	return c.Conn.Write(request)
}

// sends notes a request, unless the answer to an earlier one is waited for.
func (c *watchedConn) sends(request []byte, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun { // the length, a version, the last transaction, a timeout, the session
		c.begun, c.sent = true, now
		c.old = len(request) >= 28 && binary.BigEndian.Uint64(request[20:]) != 0
		return
	}
	xid := int32(binary.BigEndian.Uint32(request[4:]))
	if len(request) >= 12 && binary.BigEndian.Uint32(request[8:]) == opSetWatches {
		c.watchesSent()
	}
	alone := true // what has this number and is answered is this request
	if xid == pingXid {
		alone = c.pings == 0
		c.pings++
	}
	if alone && c.sent.IsZero() {
		c.asked, c.sent = xid, now
	}
}

// watchesSent lets answers be read. The caller holds mu.
func (c *watchedConn) watchesSent() {
	if !c.told {
		c.told = true
		close(c.watches)
	}
}

// Close closes the connection.
func (c *watchedConn) Close() error {
	c.mu.Lock()
	c.watchesSent()
	c.mu.Unlock()
	return c.Conn.Close()
}

// settle waits until the watches of an old session were sent again.
func (c *watchedConn) settle() {
	c.mu.Lock()
	greeted, old := c.met && c.skip == 0, c.old
	c.mu.Unlock()
	if c.settled || !greeted {
		return
	}
	c.settled = true
	if !old {
		return
	}
	limit := time.NewTimer(watchesWait)
	defer limit.Stop()
	select {
	case <-c.watches:
	case <-limit.C:
	}
}

func (c *watchedConn) Read(to []byte) (int, error) {
	c.settle()
	n, err := c.Conn.Read(to)
	for p := to[:n]; len(p) > 0; {
		if c.skip > 0 {
			k := min(c.skip, len(p))
			c.skip, p = c.skip-k, p[k:]
			continue
		}
		k := min(headSize-len(c.head), len(p))
		c.head, p = append(c.head, p[:k]...), p[k:]
		if len(c.head) == headSize {
			c.answers(c.head)
			c.skip = int(binary.BigEndian.Uint32(c.head)) + 4 - headSize
			c.head = c.head[:0]
		}
	}
	return n, err
}

// answers notes an answer, of which it gets the head.
func (c *watchedConn) answers(head []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.met { // the length, a version, and how long the session lives
		c.met = true
		if ms := int32(binary.BigEndian.Uint32(head[8:])); ms > 0 { // 0 = it has ended
			c.contact.granted.Store(int64(time.Duration(ms) * time.Millisecond))
			c.contact.answered(c.sent)
		}
		c.sent = time.Time{}
		return
	}
	xid := int32(binary.BigEndian.Uint32(head[4:]))
	if xid == pingXid {
		c.pings--
	}
	if xid == c.asked && !c.sent.IsZero() {
		c.contact.answered(c.sent)
		c.sent = time.Time{}
	}
}
