package session

import (
	"context"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// dialer returns a dialer of connections that wait at most maxWait, the time that a
// session may last, for an answer. A server that is just starting may take a connection and never
// answer; the client library would wait seven times as long for the first answer.
func dialer(maxWait time.Duration) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{Timeout: timeout}
		conn, err := d.DialContext(context.Background(), network, address)
		if err != nil {
			return nil, err
		}
		return deadlineConn{conn, maxWait}, nil
	}
}

// deadlineConn is a connection that limits its read deadlines.
type deadlineConn struct {
	net.Conn
	maxWait time.Duration
}

func (c deadlineConn) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(c.maxWait); t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t)
}
