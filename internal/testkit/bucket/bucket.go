// Package bucket serves buckets by the protocol of S3, as a store that is not ours does.
package bucket

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
)

// The key that may read the buckets.
const (
	AccessKey = "AKIDBUCKET"
	SecretKey = "canary-secret-of-buckets"
)

// Server has buckets.
type Server struct {
	URL string // of the service

	t       testing.TB
	backend *s3mem.Backend
}

// Serve serves empty buckets until the test ends. Requests need a signature by the key, unless
// open is true.
func Serve(t testing.TB, open bool, buckets ...string) *Server {
	t.Helper()
	s := &Server{t: t, backend: s3mem.New()}
	for _, name := range buckets {
		if err := s.backend.CreateBucket(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	pairs := map[string]string{AccessKey: SecretKey}
	if open {
		pairs = nil
	}
	server := httptest.NewServer(gofakes3.New(s.backend, gofakes3.WithV4Auth(pairs)).Server())
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Put puts an object into a bucket.
func (s *Server) Put(bucket, key string, content []byte) {
	s.t.Helper()
	if _, err := s.backend.PutObject(s.t.Context(), bucket, key, nil, bytes.NewReader(content), int64(len(content))); err != nil {
		s.t.Fatal(err)
	}
}
