package fetch

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/sftpserver"
)

// bySFTP returns a client that may fetch what is in a directory of a server, and its URL.
func bySFTP(t *testing.T, s *sftpserver.Server, cfg Config, user, dir string) (*Client, string) {
	t.Helper()
	cfg.SFTP = SFTP{Key: s.KeyFile, KnownHosts: s.KnownHosts}
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	policy, err := ParsePolicy([]string{"sftp://" + user + "@" + s.Addr + dir + "/"})
	if err != nil {
		t.Fatal(err)
	}
	return c.With(policy), "sftp://" + s.Addr + dir + "/"
}

// TestFilesByServersOfSFTP: a file of a directory that the policy opens is fetched, a large one at
// the same memory; what is elsewhere, and what is no file, is not.
func TestFilesByServersOfSFTP(t *testing.T) {
	t.Parallel()
	s, dir := sftpserver.New(t), t.TempDir()
	large := make([]byte, 3<<20+5)
	for i := range large {
		large[i] = byte(rand.IntN(256))
	}
	for name, content := range map[string][]byte{"a.txt": []byte("low"), "ä %?#.txt": []byte("odd"), "empty": {}, "large": large} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, url := bySFTP(t, s, Config{}, sftpserver.User, dir)
	for name, want := range map[string][]byte{"a.txt": []byte("low"), "%C3%A4%20%25%3F%23.txt": []byte("odd"), "empty": {}, "large": large} {
		info, err := c.Head(t.Context(), url+name)
		if err != nil || info.Size != int64(len(want)) || info.Modified.IsZero() || info.Validator != "" {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		body, _, err := c.Get(t.Context(), url+name, GetOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(body); !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		_ = body.Close()
	}
	for raw, want := range map[string]domain.Code{
		url + "none": CodeHTTPStatus, strings.TrimSuffix(url, "/"): CodeAddressRefused, "sftp://" + s.Addr + "/etc/hostname": CodeAddressRefused,
		url + "../x": CodeBadURL, url + "a.txt?x": CodeBadURL, url + "a.txt#x": CodeBadURL, "sftp://" + sftpserver.User + "@" + s.Addr + dir + "/a.txt": CodeBadURL,
		"sftp://127.0.0.1:1" + dir + "/a.txt": CodeAddressRefused, "sftp:///a.txt": CodeBadURL,
	} {
		if _, _, err := c.Get(t.Context(), raw, GetOptions{}); codeOf(err) != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, _, err := c.Get(t.Context(), url+"below", GetOptions{}); !errors.As(err, &e) || e.Status != http.StatusForbidden {
		t.Errorf("a directory: %v", err)
	}
	if _, _, err := c.Get(t.Context(), url+"large", GetOptions{MaxBytes: 1 << 20}); codeOf(err) != CodeTooLarge {
		t.Errorf("a file over the limit: %v", err)
	}
}

// TestFileOfAnSFTPServerThatShrinks: what ends before the length that was said is not the file.
func TestFileOfAnSFTPServerThatShrinks(t *testing.T) {
	t.Parallel()
	s, dir := sftpserver.New(t), t.TempDir()
	name := filepath.Join(dir, "a.bin")
	if err := os.WriteFile(name, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c, url := bySFTP(t, s, Config{}, sftpserver.User, dir)
	body, _, err := c.Get(t.Context(), url+"a.bin", GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.CopyN(io.Discard, body, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 8<<20); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, body); codeOf(err) != CodeUnreachable {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func codeOf(err error) domain.Code {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// TestServersOfSFTPThatFail: each way in which a server fails has its outcome, and nothing of the
// connection stays.
func TestServersOfSFTPThatFail(t *testing.T) {
	s, dir := sftpserver.New(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.bin"), make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, strings.Repeat("220 this is a server of mail\r\n", 50))
			_ = conn.Close()
		}
	}()
	known, err := os.ReadFile(s.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	get := func(cfg Config, user, at string) (n int64, err error) {
		c, url := bySFTP(t, &sftpserver.Server{Addr: at, KeyFile: s.KeyFile, KnownHosts: s.KnownHosts}, cfg, user, dir)
		body, _, err := c.Get(t.Context(), url+"a.bin", GetOptions{})
		if err != nil {
			return 0, err
		}
		defer body.Close()
		return io.Copy(io.Discard, body)
	}
	for _, c := range []struct {
		name  string
		with  func()
		user  string
		at    string
		cfg   Config
		want  Error
		again bool
	}{
		{"another user", nil, "ana", s.Addr, Config{}, Error{Code: CodeHTTPStatus, Class: domain.ClassContent, Status: http.StatusUnauthorized}, false},
		{"a server that is not known", func() { s.Knows("files.example.org:22", s.NewKey()) }, sftpserver.User, s.Addr, Config{}, Error{Code: CodeUnreachable, Class: domain.ClassSystem}, false},
		{"another key", func() { s.Knows(s.Addr, s.NewKey()) }, sftpserver.User, s.Addr, Config{}, Error{Code: CodeUnreachable, Class: domain.ClassSystem}, false},
		{"a connection that breaks", func() { s.Cut(1 << 20) }, sftpserver.User, s.Addr, Config{}, Error{Code: CodeUnreachable, Class: domain.ClassContent}, true},
		{"one that breaks at once", func() { s.Cut(1) }, sftpserver.User, s.Addr, Config{}, Error{Code: CodeUnreachable, Class: domain.ClassContent}, true},
		{"a server that says nothing", func() { s.Silent(true) }, sftpserver.User, s.Addr, Config{TLSHandshake: 50 * time.Millisecond}, Error{Code: CodeTimeout, Class: domain.ClassTimeout}, true},
		{"a server of something else", nil, sftpserver.User, plain.Addr().String(), Config{}, Error{Code: CodeUnreachable, Class: domain.ClassContent}, true},
		{"no server", nil, sftpserver.User, "127.0.0.1:1", Config{}, Error{Code: CodeUnreachable, Class: domain.ClassContent}, true},
	} {
		if c.with != nil {
			c.with()
		}
		n, err := get(c.cfg, c.user, c.at)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.want.Code || e.Class != c.want.Class || e.Status != c.want.Status || e.Temporary != c.again || n == 4<<20 {
			t.Errorf("%s: %d bytes, %+v", c.name, n, err)
		}
		if e != nil && (e.Message == "" || e.Hint == "" || strings.Contains(e.Error(), "HTTP")) {
			t.Errorf("%s: %v", c.name, e)
		}
		s.Cut(0)
		s.Silent(false)
		if err := os.WriteFile(s.KnownHosts, known, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := get(Config{}, sftpserver.User, s.Addr); n != 4<<20 || err != nil {
		t.Errorf("at last: %d bytes, %v", n, err)
	}
	for _, file := range []string{s.KeyFile, s.KnownHosts} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if _, err := get(Config{}, sftpserver.User, s.Addr); codeOf(err) != CodeUnreachable || !Ours(err) {
			t.Errorf("without %s: %v", filepath.Base(file), err)
		}
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}
