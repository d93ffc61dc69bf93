package session

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestContact: a session is silent nine tenths of its time after the last request was
// sent that was answered, however late the answer came, and no longer when there is
// another.
// Shows: P11
func TestContact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cuts atomic.Int64
		c := newContact(10*time.Second, func() { cuts.Add(1) })
		defer c.stop()
		is := func(silent bool, times int64) {
			t.Helper()
			synctest.Wait()
			if got := Closed(c.now()); got != silent || cuts.Load() != times {
				t.Fatalf("silent: %v, cut %d times; want %v and %d", got, cuts.Load(), silent, times)
			}
		}
		c.granted.Store(int64(20 * time.Second)) // the server lets it live longer
		<-time.After(time.Second)
		sent := time.Now()
		<-time.After(2 * time.Second)
		c.answered(sent)
		before := c.now()
		<-time.After(16*time.Second - 1)
		is(false, 0)
		<-time.After(1)
		is(true, 1)
		if !Closed(before) {
			t.Error("what began before it was silent does not hear of it")
		}
		c.answered(sent) // no news
		<-time.After(time.Second)
		c.answered(sent.Add(time.Second / 2)) // too old
		<-time.After(time.Minute)
		is(true, 1)
		c.answered(time.Now())
		is(false, 1)
		if !Closed(before) {
			t.Error("what was cut off goes on")
		}
		<-time.After(18 * time.Second)
		is(true, 2)
	})
}

// frame is a request or answer with its length, and the number at its beginning.
func frame(xid int32, rest int) []byte {
	f := binary.BigEndian.AppendUint32(nil, uint32(4+rest))
	f = binary.BigEndian.AppendUint32(f, uint32(xid))
	return append(f, make([]byte, rest)...)
}

// greeting is a server's first answer: the session lives so many milliseconds, 0 = it has
// ended.
func greeting(ms uint32) []byte {
	f := frame(0, 4+8+4+16)
	binary.BigEndian.PutUint32(f[8:], ms)
	return f
}

// answering is a connection on which everything is sent, and the answers come in pieces.
type answering struct {
	net.Conn
	pieces chan []byte
}

func (a answering) Write(p []byte) (int, error) { return len(p), nil }
func (a answering) Close() error                { return nil }
func (a answering) Read(to []byte) (int, error) { return copy(to, <-a.pieces), nil }

// TestWatchedConn: only the answer to a request counts, by the time when it was sent, and
// neither news that the server sends by itself nor an answer to an earlier ping.
// Shows: P11
func TestWatchedConn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		contact := newContact(time.Hour, func() {})
		defer contact.stop()
		begun := time.Now()
		c := newWatchedConn(answering{pieces: make(chan []byte, 1)}, time.Second, contact)
		send := func(f []byte) {
			<-time.After(time.Second)
			if _, err := c.Write(f); err != nil {
				t.Fatal(err)
			}
		}
		is := func(seconds int, pieces ...[]byte) {
			t.Helper()
			<-time.After(time.Second)
			for _, p := range pieces {
				c.Conn.(answering).pieces <- p
				if _, err := io.ReadFull(c, make([]byte, len(p))); err != nil {
					t.Fatal(err)
				}
			}
			if last := contact.last.Sub(begun); last != time.Duration(seconds)*time.Second {
				t.Fatalf("the last request that was answered was sent after %v, want %d s", last, seconds)
			}
		}
		send(frame(0, 40)) // after one second
		is(1, greeting(7000))
		if lives := time.Duration(contact.granted.Load()); lives != 7*time.Second {
			t.Errorf("the session lives %v", lives)
		}
		send(frame(1, 30)) // 3
		send(frame(2, 30)) // 4
		is(1, frame(-1, 60))
		first := frame(1, 100)
		is(3, first[:3], first[3:11], first[11:13], first[13:]) // 6
		send(frame(pingXid, 4))                                 // 7: the answer to 2 is not waited for
		is(3, frame(2, 16))                                     // 8
		is(7, slices.Concat(frame(pingXid, 12), frame(-1, 20))) // 9
		send(frame(3, 30))                                      // 10
		send(frame(pingXid, 4))                                 // 11: not waited for
		is(10, frame(3, 16))                                    // 12
		send(frame(pingXid, 4))                                 // 13: nor is this one, the next answer belongs to the other
		is(10, frame(pingXid, 12))                              // 14
		is(10, frame(pingXid, 12))                              // 15
		send(frame(pingXid, 4))                                 // 16
		is(16, frame(pingXid, 12))

		again := newWatchedConn(answering{pieces: make(chan []byte, 1)}, time.Second, contact)
		c = again
		send(frame(0, 40)) // 18
		is(16, greeting(0))
		if lives := time.Duration(contact.granted.Load()); lives != 7*time.Second {
			t.Errorf("the session lives %v", lives)
		}
	})
}

// TestWatchedConnHandsOn: what is read is what the server has sent.
func TestWatchedConnHandsOn(t *testing.T) {
	t.Parallel()
	contact := newContact(time.Hour, func() {})
	defer contact.stop()
	ours, theirs := net.Pipe()
	c := newWatchedConn(ours, time.Minute, contact)
	sent := slices.Concat(greeting(5000), frame(1, 16), frame(-1, 9), frame(2, 5000))
	go func() {
		_, _ = theirs.Write(sent)
		_ = theirs.Close()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d (%v)", len(got), len(sent), err)
	}
}

// TestWatchesBeforeAnswers: a connection that takes up an old session reads no answer before
// the session's watches were sent again, or after a while without any; that of a new session
// reads at once, and a closed one waits for nothing.
// Shows: P11
func TestWatchesBeforeAnswers(t *testing.T) {
	t.Parallel()
	asks := func(session byte) []byte { f := frame(0, 40); f[27] = session; return f }
	watches := frame(-8, 30)
	watches[11] = opSetWatches
	for name, c := range map[string]struct {
		session byte
		then    func(*watchedConn)
		after   time.Duration // the answer is read
	}{
		"a new session": {0, nil, 0},
		"an old session with watches": {7, func(c *watchedConn) {
			_, _ = c.Write(frame(1, 30))
			<-time.After(time.Millisecond)
			_, _ = c.Write(watches)
		}, time.Millisecond},
		"an old session without":       {7, func(c *watchedConn) { _, _ = c.Write(frame(1, 30)) }, watchesWait},
		"a connection that was closed": {7, func(c *watchedConn) { _ = c.Close() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				contact := newContact(time.Hour, func() {})
				defer contact.stop()
				pieces := make(chan []byte, 2)
				conn := newWatchedConn(answering{pieces: pieces}, time.Second, contact)
				_, _ = conn.Write(asks(c.session))
				pieces <- greeting(7000)
				if _, err := io.ReadFull(conn, make([]byte, len(greeting(7000)))); err != nil {
					t.Fatal(err)
				}
				pieces <- frame(1, 16)
				begun := time.Now()
				var writer sync.WaitGroup
				defer writer.Wait()
				if c.then != nil {
					writer.Go(func() { c.then(conn) })
				}
				if _, err := io.ReadFull(conn, make([]byte, 24)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took != c.after {
					t.Errorf("the answer was read after %v, want %v", took, c.after)
				}
				if _, err := conn.Write(watches); err != nil { // a second one changes nothing
					t.Fatal(err)
				}
			})
		})
	}
}
