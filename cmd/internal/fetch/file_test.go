package fetch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestFilesOfThisMachine: a file below a directory that the policy opens is fetched; what lies
// elsewhere, also by a link, and what is no file is not.
func TestFilesOfThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	for name, content := range map[string]string{"open/a/index.html": "a page", "open/ä %?#.txt": "odd", "closed.txt": "not for all", "openly": "beside"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"open/inside": "a/index.html", "open/outside": "../closed.txt", "open/absolute": "/etc/hostname", "open/dangling": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(open, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	policy, err := ParsePolicy([]string{"file://" + open + "/"})
	if err != nil {
		t.Fatal(err)
	}
	c := client.With(policy)
	for name, want := range map[string]string{"a/index.html": "a page", "%C3%A4%20%25%3F%23.txt": "odd", "inside": "a page"} {
		url := "file://" + open + "/" + name
		info, err := c.Head(t.Context(), url)
		if err != nil || info.Size != int64(len(want)) || info.Modified.IsZero() || info.FinalURL == "" {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		body, _, err := c.Get(t.Context(), url, GetOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := io.ReadAll(body); string(got) != want || err != nil {
			t.Errorf("%s has %q, %v", name, got, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	for url, want := range map[string]domain.Code{
		open + "/none": CodeHTTPStatus, open + "/a": CodeHTTPStatus, open + "/fifo": CodeHTTPStatus, open + "/outside": CodeHTTPStatus,
		open + "/absolute": CodeHTTPStatus, open + "/dangling": CodeHTTPStatus, open + "/a/index.html/below": CodeHTTPStatus,
		dir + "/closed.txt": CodeAddressRefused, dir + "/openly": CodeAddressRefused, open: CodeAddressRefused, "/etc/hostname": CodeAddressRefused,
		open + "/": CodeBadURL, open + "/../closed.txt": CodeBadURL, open + "/%2e%2e/closed.txt": CodeBadURL, open + "/a//index.html": CodeBadURL,
		"host" + open + "/a": CodeBadURL, open + "/a/index.html?x": CodeBadURL, open + "/a/index.html%00": CodeBadURL, "": CodeBadURL,
	} {
		_, err := c.Head(t.Context(), "file://"+url)
		fails(t, err, want, domain.ClassContent)
	}
	_, _, err = c.Get(t.Context(), "file://"+open+"/a/index.html", GetOptions{MaxBytes: 5})
	fails(t, err, CodeTooLarge, domain.ClassContent)
	_, err = client.Head(t.Context(), "file://"+open+"/a/index.html")
	fails(t, err, CodeAddressRefused, domain.ClassContent)
}

// TestServersLeadToNoFile: a redirect to a file of this machine is not followed, whatever the
// policy opens.
func TestServersLeadToNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.RedirectHandler("file://"+dir+"/a", http.StatusFound))
	t.Cleanup(server.Close)
	client, err := NewClient(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	policy, err := ParsePolicy([]string{"file://" + dir + "/", strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.With(policy).Head(t.Context(), server.URL)
	fails(t, err, CodeRedirectRefused, domain.ClassContent)
}
