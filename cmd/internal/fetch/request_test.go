package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

func TestGet(t *testing.T) {
	t.Parallel()
	const text = "low and high water"
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Sat, 01 Feb 2020 10:00:00 GMT")
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, &http.Request{Method: http.MethodGet}, "f", time.Time{}, strings.NewReader(text))
	})
	body, info, err := local(t, quick()).Get(t.Context(), s.URL+"/f?token=s3cret", GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	if info.Size != int64(len(text)) || info.ETag != `"v1"` || info.Modified.Year() != 2020 || info.FinalURL != s.URL+"/f?..." {
		t.Errorf("%+v", info)
	}
}

func TestGetFailures(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		switch r.URL.Path {
		case "/status":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(size)
			_, _ = w.Write(make([]byte, 1<<10))
		case "/known":
			w.Header().Set("Content-Length", strconv.Itoa(size))
			_, _ = w.Write(make([]byte, size))
		case "/chunked":
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(make([]byte, size))
		case "/cut": // fewer bytes than announced
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write(make([]byte, size))
		case "/cutchunk":
			_, _ = w.Write(make([]byte, size))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	for _, c := range []struct {
		name, path string
		most       int64
		code       domain.Code
		again      bool
	}{
		{"not found", "/status?size=404", 0, CodeHTTPStatus, false},
		{"not allowed", "/status?size=403", 0, CodeHTTPStatus, false},
		{"not modified", "/status?size=304", 0, CodeHTTPStatus, false},
		{"nothing there", "/status?size=204", 0, CodeHTTPStatus, false},
		{"a part", "/status?size=206", 0, CodeHTTPStatus, false},
		{"overloaded", "/status?size=503", 1, CodeHTTPStatus, true},
		{"asked too often", "/status?size=429", 0, CodeHTTPStatus, true},
		{"announced too large", "/known?size=1001", 1000, CodeTooLarge, false},
		{"too large", "/chunked?size=300000", 299_999, CodeTooLarge, false},
		{"cut off", "/cut?size=99", 0, CodeUnreachable, true},
		{"cut off in a chunk", "/cutchunk?size=99", 0, CodeUnreachable, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := get(t.Context(), local(t, quick()), s.URL+c.path+"&token=s3cret", c.most)
			e := fails(t, err, c.code, domain.ClassContent)
			again, after := e.Retry()
			if again != c.again || (e.Status != 0) != (c.code == CodeHTTPStatus) || again && e.Status != 0 && after != 7*time.Second {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Answers that are no proper HTTP.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing":      "",
		"not HTTP":     "220 mail.test ESMTP\r\n",
		"huge header":  "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 300<<10) + "\r\n\r\n",
		"two lengths":  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"minus length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"bad chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			t.Cleanup(func() { _ = l.Close(); <-done })
			go func() {
				defer close(done)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 4096))
					_, _ = conn.Write([]byte(answer))
					_ = conn.Close()
				}
			}()
			err = get(t.Context(), local(t, quick()), "http://"+l.Addr().String()+"/?k=s3cret", 0)
			fails(t, err, CodeUnreachable, domain.ClassContent)
		})
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	c := testClient(t, quick(), nil)
	for _, u := range []string{
		"", "/f", "f", "http:", "http://", "http:///f", "file:etc/passwd", "file://h/etc/passwd", "ftp://h/f", "gopher://h/", "data:,x", "javascript:0", "HTTPX://h",
		"http://u@h/", "http://u:s3cret@h/f", "http://:s3cret@h/", "http:u:s3cret@h", "http://h:99999/", "http://h:0/", "http://h:x/", "http://h:/",
		"http://h\n/", "http://%zz/", "http://[::1/", "http://h /", `http://h\f/`, "http://" + strings.Repeat("a", 9000),
	} {
		_, err := c.Head(context.Background(), u)
		fails(t, err, CodeBadURL, domain.ClassContent)
	}
}
