package zklive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
)

// TestNothingLateAfterAReconnect: what is looked up after a lost connection stays true. A request
// that was still on its way counts when it comes before the session goes on over another
// connection, and not when it comes later: ZooKeeper has closed the first one then.
// Shows: P5
func TestNothingLateAfterAReconnect(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := "/test-" + uuid.NewString()
			h := newHolder(t, path)
			conn, _, err := zk.Connect([]string{h.Addr().String()}, 20*time.Second, zk.WithLogInfo(false))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			made := make(chan error, 1)
			go func() {
				_, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				made <- err
			}()
			held := <-h.held
			if !late {
				if answered, err := held.arrives(); err != nil || !answered {
					t.Fatalf("answered: %v, %v", answered, err)
				}
			}
			close(h.others)
			if err := <-made; !errors.Is(err, zk.ErrConnectionClosed) {
				t.Fatalf("the request ends with %v", err)
			}
			there := func() bool {
				for {
					switch is, _, err := conn.Exists(path); {
					case err == nil:
						return is
					case !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrConnectionClosed): // else it has not connected again yet
						t.Fatal(err)
					}
				}
			}
			if is := there(); is == late {
				t.Fatalf("there: %v", is)
			}
			if late {
				if answered, err := held.arrives(); err != nil || answered {
					t.Fatalf("answered: %v, %v", answered, err)
				}
			}
			if is := there(); is == late {
				t.Errorf("then: there: %v", is)
			}
		})
	}
}

// holder stands before ZooKeeper. It holds the first request that has a text, and breaks the
// connection on the client's side only; others wait until they are let through.
type holder struct {
	net.Listener
	text   []byte
	held   chan heldRequest
	others chan struct{}
}

// heldRequest is a request that has not arrived, and its connection to the server.
type heldRequest struct {
	server  net.Conn
	request []byte
}

// arrives sends the request to the server, and reports whether it is answered.
func (h heldRequest) arrives() (answered bool, err error) {
	_, _ = h.server.Write(h.request) // it may be closed
	if err := h.server.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return false, err
	}
	_, err = io.ReadAtLeast(h.server, make([]byte, 1<<10), 4)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return false, err
	}
	return err == nil, nil
}

func newHolder(t *testing.T, text string) *holder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{listener, []byte(text), make(chan heldRequest, 1), make(chan struct{})}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for first := true; ; first = false {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", os.Getenv("ACCESSION_TEST_ZOOKEEPER"))
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			if first {
				go h.holds(client, server)
				continue
			}
			go func() {
				<-h.others
				go func() { _, _ = io.Copy(server, client) }()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
	return h
}

// holds passes on what the client says until the request comes.
func (h *holder) holds(client, server net.Conn) {
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		_, _ = io.Copy(client, server)
	}()
	for {
		var size [4]byte
		if _, err := io.ReadFull(client, size[:]); err != nil {
			return
		}
		request := append(size[:], make([]byte, binary.BigEndian.Uint32(size[:]))...)
		if _, err := io.ReadFull(client, request[len(size):]); err != nil {
			return
		}
		if bytes.Contains(request, h.text) {
			_ = server.SetReadDeadline(time.Now()) // ends what reads its answers
			<-answers
			_ = client.Close()
			h.held <- heldRequest{server, request}
			return
		}
		if _, err := server.Write(request); err != nil {
			return
		}
	}
}
