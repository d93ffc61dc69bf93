package fetch

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// left lists the files below root.
func left(t *testing.T, root *os.Root) (names []string) {
	t.Helper()
	err := fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDownload(t *testing.T) {
	t.Parallel()
	const text = "low and high water"
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Sat, 01 Feb 2020 10:00:00 GMT")
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, &http.Request{Method: http.MethodGet}, "f", time.Time{}, strings.NewReader(text))
	})
	c := local(t, quick())
	for _, name := range []string{"tide.csv", "data/2020/tide é.csv", strings.Repeat("n", 255), "data/tide.csv"} {
		root := workDir(t)
		if err := root.MkdirAll("data", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := root.WriteFile("data/tide.csv", []byte("of an earlier try, and longer than it should be"), 0o600); err != nil {
			t.Fatal(err)
		}
		var progress []int64
		_, err := c.Download(t.Context(), s.URL+"/f?token=s3cret", Target{
			Dir: root, Name: name, Size: int64(len(text)), Want: Digest{"MD5", strings.Repeat("0", 32)},
			Progress: func(n int64) { progress = append(progress, n) },
		})
		// The message says what the digest should have been.
		e := fails(t, err, CodeDigestMismatch, domain.ClassContent)
		_, after, _ := strings.Cut(e.Message, "digest is ")
		r, err := c.Download(t.Context(), s.URL, Target{Dir: root, Name: name, Size: -1, Want: Digest{"md-5", strings.ToUpper(after[:32])}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Bytes != int64(len(text)) || r.SHA256 != r.Digests[manifest.SHA256] || r.Digests[manifest.MD5] != after[:32] || len(r.Digests) != 2 {
			t.Errorf("%+v", r)
		}
		if r.Info.Size != r.Bytes || r.Info.ETag != `"v1"` || r.Info.Modified.Year() != 2020 || r.Info.FinalURL != s.URL {
			t.Errorf("%+v", r.Info)
		}
		if got, err := root.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if len(progress) == 0 || progress[len(progress)-1] != int64(len(text)) {
			t.Errorf("progress %v", progress)
		}
		for _, f := range left(t, root) {
			if strings.HasSuffix(f, ".part") {
				t.Errorf("%s is left", f)
			}
		}
	}
}

// What fails leaves no file, and an earlier one alone.
func TestDownloadFailures(t *testing.T) {
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
	sha := Digest{manifest.SHA256, strings.Repeat("0", 64)}
	for _, c := range []struct {
		name, path string
		to         Target
		code       domain.Code
		again      bool
	}{
		{"not found", "/status?size=404", Target{Size: -1}, CodeHTTPStatus, false},
		{"not allowed", "/status?size=403", Target{Size: -1}, CodeHTTPStatus, false},
		{"not modified", "/status?size=304", Target{Size: -1}, CodeHTTPStatus, false},
		{"nothing there", "/status?size=204", Target{Size: -1}, CodeHTTPStatus, false},
		{"a part", "/status?size=206", Target{Size: -1}, CodeHTTPStatus, false},
		{"overloaded", "/status?size=503", Target{Size: -1, MaxBytes: 1}, CodeHTTPStatus, true},
		{"asked too often", "/status?size=429", Target{Size: -1}, CodeHTTPStatus, true},
		{"announced too large", "/known?size=1001", Target{Size: -1, MaxBytes: 1000}, CodeTooLarge, false},
		{"too large", "/chunked?size=300000", Target{Size: -1, MaxBytes: 299_999}, CodeTooLarge, false},
		{"announced size", "/known?size=11", Target{Size: 10}, CodeSizeMismatch, false},
		{"too long", "/chunked?size=300000", Target{Size: 10}, CodeSizeMismatch, false},
		{"too short", "/chunked?size=10", Target{Size: 11}, CodeSizeMismatch, false},
		{"empty", "/chunked?size=0", Target{Size: 1}, CodeSizeMismatch, false},
		{"not empty", "/chunked?size=1", Target{Size: 0}, CodeSizeMismatch, false},
		{"cut off", "/cut?size=99", Target{Size: -1}, CodeUnreachable, true},
		{"cut off in a chunk", "/cutchunk?size=99", Target{Size: -1}, CodeUnreachable, true},
		{"digest", "/known?size=10", Target{Size: 10, Want: sha}, CodeDigestMismatch, false},
		{"no digest at all", "/known?size=10", Target{Size: 10, Want: Digest{manifest.MD5, "abc"}}, CodeBadDigest, false},
		{"no algorithm", "/known?size=10", Target{Size: 10, Want: Digest{"rot13", "abc"}}, CodeBadDigest, false},
		{"no value", "/known?size=10", Target{Size: 10, Want: Digest{manifest.MD5, ""}}, CodeBadDigest, false},
		{"leaves the directory", "/known?size=1", Target{Name: "../f", Size: 1}, CodeBadName, false},
		{"absolute", "/known?size=1", Target{Name: "/f", Size: 1}, CodeBadName, false},
		{"hidden step up", "/known?size=1", Target{Name: "a/../../f", Size: 1}, CodeBadName, false},
		{"backslash", "/known?size=1", Target{Name: `..\f`, Size: 1}, CodeBadName, false},
		{"NUL", "/known?size=1", Target{Name: "a\x00b", Size: 1}, CodeBadName, false},
		{"line feed", "/known?size=1", Target{Name: "a\nb", Size: 1}, CodeBadName, false},
		{"not normal", "/known?size=1", Target{Name: "e\u0301", Size: 1}, CodeBadName, false},
		{"too long a name", "/known?size=1", Target{Name: strings.Repeat("n", 256), Size: 1}, CodeBadName, false},
		{"not UTF-8", "/known?size=1", Target{Name: "\xff", Size: 1}, CodeBadName, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := workDir(t)
			if err := root.WriteFile("f", []byte("earlier"), 0o600); err != nil {
				t.Fatal(err)
			}
			c.to.Dir = root
			if c.to.Name == "" {
				c.to.Name = "f"
			}
			_, err := local(t, quick()).Download(t.Context(), s.URL+c.path+"&token=s3cret", c.to)
			e := fails(t, err, c.code, domain.ClassContent)
			again, after := e.Retry()
			if again != c.again || (e.Status != 0) != (c.code == CodeHTTPStatus) || again && e.Status != 0 && after != 7*time.Second {
				t.Errorf("%+v", e)
			}
			if got, err := root.ReadFile("f"); err != nil || string(got) != "earlier" {
				t.Errorf("the earlier file is now %q, %v", got, err)
			}
			if names := left(t, root); len(names) != 1 {
				t.Errorf("left: %v", names)
			}
		})
	}
}

func TestDownloadDisk(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) })
	c := local(t, quick())
	outside := t.TempDir()
	root := workDir(t)
	if err := root.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := root.MkdirAll("dir/full", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := root.Symlink(outside, "away"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file/f", "dir", "away/f"} {
		_, err := c.Download(t.Context(), s.URL, Target{Dir: root, Name: name, Size: -1})
		if e := fails(t, err, CodeDisk, domain.ClassSystem); errors.Unwrap(e) == nil {
			t.Errorf("%s: no cause", name)
		}
	}
	if names := left(t, root); len(names) != 2 {
		t.Errorf("left: %v", names)
	}
	if escaped, err := os.ReadDir(outside); err != nil || len(escaped) != 0 {
		t.Errorf("outside: %v, %v", escaped, err)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if status, err := strconv.Atoi(r.URL.Path[1:]); err == nil {
			w.WriteHeader(status)
			return
		}
		if r.URL.Path == "/size" {
			w.Header().Set("Content-Length", "123456789012345")
		}
	})
	c := local(t, quick())
	for path, want := range map[string]int64{"/size": 123456789012345, "/405": -1, "/501": -1, "/none": -1} {
		if i, err := c.Head(t.Context(), s.URL+path); err != nil || i.Size != want || !i.Modified.IsZero() || i.FinalURL != s.URL+path {
			t.Errorf("%s: %+v, %v", path, i, err)
		}
	}
	for _, path := range []string{"/404", "/500", "/403"} {
		_, err := c.Head(t.Context(), s.URL+path)
		if e := fails(t, err, CodeHTTPStatus, domain.ClassContent); strconv.Itoa(e.Status) != path[1:] {
			t.Error(e)
		}
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
			root := workDir(t)
			_, err = local(t, quick()).Download(t.Context(), "http://"+l.Addr().String()+"/?k=s3cret", Target{Dir: root, Name: "f", Size: -1})
			fails(t, err, CodeUnreachable, domain.ClassContent)
			if names := left(t, root); names != nil {
				t.Errorf("left: %v", names)
			}
		})
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	c := world(t, quick(), nil)
	for _, u := range []string{
		"", "/f", "f", "http:", "http://", "http:///f", "file:///etc/passwd", "ftp://h/f", "gopher://h/", "data:,x", "javascript:0", "HTTPX://h",
		"http://u@h/", "http://u:s3cret@h/f", "http://:s3cret@h/", "http:u:s3cret@h", "http://h:99999/", "http://h:0/", "http://h:x/", "http://h:/",
		"http://h\n/", "http://%zz/", "http://[::1/", "http://h /", `http://h\f/`, "http://" + strings.Repeat("a", 9000),
	} {
		_, err := c.Head(context.Background(), u)
		fails(t, err, CodeBadURL, domain.ClassContent)
	}
}
