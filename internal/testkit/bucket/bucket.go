// Package bucket serves buckets by the protocol of S3, as a store that is not ours does: in memory
// within the test ([Serve]), or as files by a process of its own ([Rclone]).
package bucket

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
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

	t testing.TB
}

// Serve serves empty buckets until the test ends. Requests need a signature by the key, unless
// open is true.
func Serve(t testing.TB, open bool, buckets ...string) *Server {
	t.Helper()
	backend := s3mem.New()
	for _, name := range buckets {
		if err := backend.CreateBucket(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	pairs := map[string]string{AccessKey: SecretKey}
	if open {
		pairs = nil
	}
	server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithV4Auth(pairs)).Server())
	t.Cleanup(server.Close)
	return &Server{URL: server.URL, t: t}
}

// Put puts an object into a bucket.
func (s *Server) Put(bucket, key string, content []byte) {
	s.t.Helper()
	if _, err := s.client().PutObject(s.t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(content)}); err != nil {
		s.t.Fatal(err)
	}
}

// Remove removes an object from a bucket.
func (s *Server) Remove(bucket, key string) {
	s.t.Helper()
	if _, err := s.client().DeleteObject(s.t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
		s.t.Fatal(err)
	}
}

// client returns a client of the service.
func (s *Server) client() *s3.Client {
	return s3.New(s3.Options{Region: "us-east-1", BaseEndpoint: &s.URL, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: AccessKey, SecretAccessKey: SecretKey}, nil
		})})
}
