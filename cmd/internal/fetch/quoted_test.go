package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestNoAnswerIsQuoted: what a server sends instead of HTTP may hold a secret, or control
// characters; neither the error nor its cause, which the log shows, repeats it.
// Shows: P14
func TestNoAnswerIsQuoted(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no HTTP":          "220 s3cret\r\n",
		"status":           "HTTP/1.1 s3cret OK\r\n\r\n",
		"header":           "HTTP/1.1 200 OK\r\ns3cret \x1b[2J\r\n\r\n",
		"length":           "HTTP/1.1 200 OK\r\nContent-Length: s3cret\r\n\r\n",
		"coding":           "HTTP/1.1 200 OK\r\nTransfer-Encoding: s3cret\r\n\r\n",
		"redirect to none": "HTTP/1.1 302 Found\r\nLocation: http://u:s3cret@%zz/?token=s3cret\r\nContent-Length: 0\r\n\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil { // an answer before it is no answer
					_, _ = io.WriteString(conn, answer)
				}
				_ = conn.Close()
			}
		}()
		code := CodeUnreachable
		if name == "redirect to none" {
			code = CodeRedirectRefused
		}
		_, err = local(t, quick()).Head(t.Context(), "http://"+l.Addr().String()+"/")
		t.Log(name, err)
		fails(t, err, code, domain.ClassContent)
		_ = l.Close()
		<-done
	}
}

// TestFailingNameService: the name service of the depositor's host fails, and ours says
// so; that is theirs. Ours is ours when it does not answer.
func TestFailingNameService(t *testing.T) {
	t.Parallel()
	resolver, _ := nameServer(t, map[string][]string{"broken.test": {}})
	c := testClient(t, quick(), func(s *shared) { s.resolver = resolver })
	_, err := c.Head(t.Context(), "http://broken.test/")
	e := fails(t, err, CodeUnreachable, domain.ClassContent)
	if again, _ := e.Retry(); !again || Ours(err) {
		t.Error("it is not tried again, or counts as ours")
	}
	ours := &net.Resolver{PreferGo: true, Dial: resolver.Dial}
	gone, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ours.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp4", gone.LocalAddr().String())
	}
	_ = gone.Close()
	_, err = testClient(t, quick(), func(s *shared) { s.resolver = ours }).Head(t.Context(), "http://broken.test/")
	fails(t, err, CodeUnreachable, domain.ClassSystem)
	if !Ours(err) {
		t.Errorf("our name service does not answer, and that is not ours: %v", err)
	}
}

// TestMachineLacksSomething: without free descriptors or ports, or a name service that can
// be asked, no server is asked; what is answered, or not reached, may be the doing of others.
func TestMachineLacksSomething(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]bool{syscall.EMFILE: true, syscall.ENFILE: true, syscall.EADDRNOTAVAIL: true, syscall.ENETUNREACH: false, syscall.ECONNREFUSED: false} {
		err := classify(t.Context(), "http://h/", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)})
		if Ours(fmt.Errorf("fetch: %w", err)) != want || want && err.Class != domain.ClassSystem {
			t.Errorf("%v is ours: %t, %s", errno, err.Ours, err.Class)
		}
	}
	for said, want := range map[string]bool{"lame referral": false, "cannot unmarshal DNS message": false, "read udp 127.0.0.1:9->127.0.0.1:53: read: connection refused": true} {
		if err := classify(t.Context(), "http://h/", &net.DNSError{Err: said, Name: "h"}); err.Ours != want {
			t.Errorf("%s is ours: %t", said, err.Ours)
		}
	}
}
