package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// TestLargeObjectsOfRclone: an object that is sent in parts is refused like a small one where
// another has its key, and is as good as stored where it is the same.
func TestLargeObjectsOfRclone(t *testing.T) {
	t.Parallel()
	s := open(t, bucket.Rclone(t, "archive").Location("archive", ""))
	large := bytes.Repeat([]byte("low and high water\n"), 1_200_000)
	sum := sha256.Sum256(large)
	want := Blob{"large", int64(len(large)), hex.EncodeToString(sum[:])}
	for range 2 {
		if got, err := s.PutIfAbsent(t.Context(), "large", bytes.NewReader(large)); err != nil || got != want {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	other := bytes.Replace(large, []byte("low"), []byte("LOW"), 1)
	_, err := s.PutIfAbsent(t.Context(), "large", bytes.NewReader(other))
	mustCode(t, err, CodeConflict)
	if got, err := s.measure(t.Context(), "large"); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestBucketThatOverwrites: a service that writes what is there already, though it was asked not
// to, is refused before anything is lost.
func TestBucketThatOverwrites(t *testing.T) {
	t.Parallel()
	server := bucket.Serve(t, true, "archive")
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Header.Del("If-None-Match")
	}}
	ignores := httptest.NewServer(proxy)
	t.Cleanup(ignores.Close)
	server.URL = ignores.URL
	s := open(t, server.Location("archive", ""))
	if _, err := s.Put(t.Context(), "k", strings.NewReader("as it was")); err != nil {
		t.Fatal(err)
	}
	_, err = s.PutIfAbsent(t.Context(), "other", strings.NewReader("new"))
	mustCode(t, err, CodeBroken)
	if !strings.Contains(err.Error(), "ignores If-None-Match") {
		t.Error(err)
	}
	if got := keys(t, s, ""); len(got) != 1 || read(t, s, "k") != "as it was" {
		t.Errorf("the bucket has %q", got)
	}
}

// TestBucketsThatCannotBeOpened: what is wrong is said, and no secret with it.
func TestBucketsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"s3:///no-bucket", "s3://user:canary@archive", "s3://archive?profile=canary-that-is-not-there", "s3://archive?no_such=canary",
	} {
		_, err := Open(t.Context(), location)
		mustCode(t, err, CodeBroken)
		if strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "s3://BUCKET") {
			t.Errorf("%s: %v", location, err)
		}
	}
	server := bucket.Serve(t, false, "archive")
	none := open(t, server.Location("none", ""))
	mustCode(t, none.Check(t.Context()), CodeNotFound)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	server.URL = closed.URL
	mustCode(t, open(t, server.Location("archive", "")).Check(t.Context()), CodeBroken)
}

// TestUploadThatChanges: a file that has other bytes when it is read again is not stored under
// the digest of the first.
func TestUploadThatChanges(t *testing.T) {
	t.Parallel()
	s := open(t, "mem://")
	file := &changing{Reader: strings.NewReader("as it was"), then: "as it is now"}
	_, _, err := s.KeepUpload(t.Context(), "a.txt", file)
	mustCode(t, err, CodeMismatch)
	if left := keys(t, s, ""); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// changing has other content once it was read.
type changing struct {
	*strings.Reader
	then string
}

func (c *changing) Seek(int64, int) (int64, error) {
	c.Reader = strings.NewReader(c.then)
	return 0, nil
}
