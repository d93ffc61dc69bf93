// Package sftpserver serves the files of the machine by SFTP, in this process.
package sftpserver

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// User is who may come in, with the key that is in KeyFile.
const User = "archive"

// Server is a server of SFTP. It lets one user read whatever this process may read.
type Server struct {
	Addr       string // HOST:PORT
	KeyFile    string // private key of the user
	KnownHosts string // file with the key of the server

	t      testing.TB
	config *ssh.ServerConfig
	mu     sync.Mutex
	cut    int64 // after so many bytes of answers a connection ends, 0 = never
	silent bool
	all    sync.WaitGroup
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	dir := t.TempDir()
	s := &Server{t: t, KeyFile: filepath.Join(dir, "id_ed25519"), KnownHosts: filepath.Join(dir, "known_hosts")}
	ours, host := s.key(), s.key()
	public := ours.public.Marshal()
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() == User && string(key.Marshal()) == string(public) {
			return &ssh.Permissions{}, nil
		}
		return nil, errors.New("this is another user")
	}}
	s.config.AddHostKey(host.signer)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = ln.Addr().String()
	s.write(s.KeyFile, ours.pem)
	s.Knows(s.Addr, host.public)
	s.all.Go(func() { s.serve(ln) })
	t.Cleanup(func() { _ = ln.Close(); s.all.Wait() })
	return s
}

// Knows makes KnownHosts have one key for a server.
func (s *Server) Knows(addr string, key ssh.PublicKey) {
	s.write(s.KnownHosts, []byte(knownhosts.Line([]string{knownhosts.Normalize(addr)}, key)+"\n"))
}

// NewKey returns a public key that no server has.
func (s *Server) NewKey() ssh.PublicKey { return s.key().public }

// Cut lets connections end after so many bytes of answers, 0 = not.
func (s *Server) Cut(after int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = after
}

// Silent lets connections wait for the first answer until they are closed, or not.
func (s *Server) Silent(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = is
}

type pair struct {
	public ssh.PublicKey
	signer ssh.Signer
	pem    []byte
}

func (s *Server) key() (p pair) {
	_, private, err := ed25519.GenerateKey(nil)
	if err == nil {
		p.signer, err = ssh.NewSignerFromKey(private)
	}
	var block *pem.Block
	if err == nil {
		block, err = ssh.MarshalPrivateKey(private, "")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	p.public, p.pem = p.signer.PublicKey(), pem.EncodeToMemory(block)
	return p
}

func (s *Server) write(path string, data []byte) {
	s.t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) serve(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		c := &line{Conn: conn, left: s.cut, silent: s.silent}
		s.mu.Unlock()
		s.all.Go(func() {
			defer c.Close()
			s.session(c)
		})
	}
}

func (s *Server) session(c net.Conn) {
	_, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		channel, wishes, err := asked.Accept()
		if err != nil {
			return
		}
		go func() {
			for w := range wishes {
				_ = w.Reply(w.Type == "subsystem", nil)
			}
		}()
		files, err := sftp.NewServer(channel, sftp.ReadOnly())
		if err == nil {
			_ = files.Serve()
			_ = files.Close()
		}
	}
}

// line is a connection that may end or say nothing.
type line struct {
	net.Conn
	left   int64 // bytes, 0 = without end
	silent bool
}

// Write implements io.Writer.
func (l *line) Write(p []byte) (int, error) {
	if l.silent {
		_, _ = io.Copy(io.Discard, l.Conn)
		return 0, io.ErrClosedPipe
	}
	if l.left > 0 {
		if l.left -= int64(len(p)); l.left <= 0 {
			_ = l.Close()
			return 0, io.ErrClosedPipe
		}
	}
	return l.Conn.Write(p)
}
