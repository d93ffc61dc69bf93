package stack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

// Ports are taken below the range from which systems serve outgoing connections
// (32768 and up on Linux): a killed server finds its port free again.
const (
	firstPort = 20000
	lastPort  = 32000
)

// portAttempts is how often a start is tried with other ports, when another process
// takes one between its choice and the server's start.
const portAttempts = 3

// portTaken reports whether a server could not start because its port was taken.
func portTaken(err error) bool {
	var fault *ServerError
	return errors.As(err, &fault) && fault.Op == "start" &&
		strings.Contains(strings.ToLower(fault.Tail), "address already in use")
}

// choosePorts keeps the recorded port of each server when it is free and takes
// another one otherwise.
func (d *directory) choosePorts() (map[Server]int, error) {
	ports := map[Server]int{}
	var taken []net.Listener
	defer func() {
		for _, l := range taken {
			_ = l.Close()
		}
	}()
	for _, name := range []Server{ZooKeeper, PostgreSQL, NATS} {
		l, err := listenFree(d.state.Ports[name])
		if err != nil {
			return nil, err
		}
		taken = append(taken, l) // so that the next server cannot choose it too
		ports[name] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, d.update(func(st *state) { st.Ports = ports })
}

func listenFree(wanted int) (net.Listener, error) {
	if wanted != 0 {
		if l, err := net.Listen("tcp4", loopback(wanted)); err == nil {
			return l, nil
		}
	}
	var last error
	for range 200 {
		l, err := net.Listen("tcp4", loopback(firstPort+rand.IntN(lastPort-firstPort)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("stack: no free loopback port between %d and %d: %w", firstPort, lastPort, last)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
