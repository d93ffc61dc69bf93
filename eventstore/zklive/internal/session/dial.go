package session

import (
	"context"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// dialer returns a dialer of connections that wait for an answer no longer than a
// session may last. A server that is just starting may take a connection and never
// answer; the client library would wait seven times as long for the first answer.
func dialer(longest time.Duration) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{Timeout: timeout}
		conn, err := d.DialContext(context.Background(), network, address)
		if err != nil {
			return nil, err
		}
		return impatient{conn, longest}, nil
	}
}

// impatient is a connection that limits its read deadlines.
type impatient struct {
	net.Conn
	longest time.Duration
}

func (c impatient) SetReadDeadline(t time.Time) error {
	if latest := time.Now().Add(c.longest); t.After(latest) {
		t = latest
	}
	return c.Conn.SetReadDeadline(t)
}
