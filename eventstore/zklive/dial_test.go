package zklive_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/accession-ingest/accession/eventstore/zklive"
)

// A server that takes a connection and never answers is given up after a session's
// time; the client library alone would wait twenty seconds for a session of three.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := zklive.Open(ctx, zklive.Config{Servers: []string{l.Addr().String()}, Root: "/silent", SessionTimeout: 3 * time.Second})
		ended <- err
	}()
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	begun := time.Now()
	again, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 13*time.Second {
		t.Errorf("a silent server was given up after %v", took)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a server that says nothing was opened")
	}
	_ = again.Close()
}
