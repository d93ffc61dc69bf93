// Package smtpserver is a mail server for tests. It speaks SMTP with TLS and authentication as
// mail servers do, and may be down, refuse, hang, or end a connection without an answer.
package smtpserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Options say how a server is reached.
type Options struct {
	TLS            string // starttls, tls, or none
	User, Password string // "" = clients need not sign in
}

// Mail is one that was taken.
type Mail struct {
	From string
	To   []string
	Data []byte
}

// Fault is what a server does to one conversation.
type Fault struct {
	Greeting *smtp.SMTPError            // answers nothing but this
	Sender   *smtp.SMTPError            // to MAIL
	Address  map[string]*smtp.SMTPError // to RCPT, by address
	Data     *smtp.SMTPError            // after the mail
	Hang     bool                       // no answer after the mail, until the client leaves
	Drop     bool                       // takes the mail, and ends the connection without an answer
}

// Server is a mail server.
type Server struct {
	t       testing.TB
	options Options
	ca      string
	pool    *x509.CertPool
	tls     *tls.Config

	listener net.Listener
	serving  sync.WaitGroup

	mu     sync.Mutex
	server *smtp.Server // nil = it is down
	door   *door
	faults []Fault
	always *Fault
	mails  []Mail
	talks  int
	change chan struct{}
}

// New starts a server, which ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{t: t, options: o, change: make(chan struct{})}
	s.certificate()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.listener = l
	go s.accept()
	s.Up()
	t.Cleanup(func() {
		_ = l.Close()
		s.Down()
	})
	return s
}

// Address returns host:port, which stays the same.
func (s *Server) Address() string { return s.listener.Addr().String() }

// CA returns the file with the certificate of its issuer.
func (s *Server) CA() string { return s.ca }

// Roots returns that certificate.
func (s *Server) Roots() *x509.CertPool { return s.pool }

// Up starts the server again.
func (s *Server) Up() {
	server := smtp.NewServer(smtp.BackendFunc(s.session))
	server.Domain, server.ReadTimeout, server.WriteTimeout = "mail.test", time.Minute, time.Minute
	server.MaxMessageBytes, server.MaxRecipients = 64<<20, 100
	server.ErrorLog = silent{}
	server.AllowInsecureAuth = s.options.TLS == "none"
	if s.options.TLS == "starttls" {
		server.TLSConfig = s.tls
	}
	door := &door{conns: make(chan net.Conn), closed: make(chan struct{}), address: s.listener.Addr()}
	s.mu.Lock()
	s.server, s.door = server, door
	s.mu.Unlock()
	s.serving.Go(func() { _ = server.Serve(door) })
}

// Down ends the server: connections to its address end at once. Its port stays its own.
func (s *Server) Down() {
	s.mu.Lock()
	server, door := s.server, s.door
	s.server, s.door = nil, nil
	s.mu.Unlock()
	if server != nil {
		_ = door.Close() // the server may not have it yet
		_ = server.Close()
		s.serving.Wait()
	}
}

// accept hands connections to the server while it is up.
func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		door := s.door
		s.mu.Unlock()
		if door == nil {
			_ = c.Close()
			continue
		}
		if s.options.TLS == "tls" {
			c = tls.Server(c, s.tls)
		}
		select {
		case door.conns <- c:
		case <-door.closed:
			_ = c.Close()
		}
	}
}

// door is the listener of a server that goes up and down.
type door struct {
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
	address net.Addr
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return d.address }

// Next lets the next conversations fail, each by one fault.
func (s *Server) Next(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Always lets every conversation fail that no Next is for; nil = none.
func (s *Server) Always(f *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = f
}

// Mails returns what was taken so far.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Talks returns how many conversations have begun.
func (s *Server) Talks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talks
}

// Await waits until what it has taken, and how often it was asked, are as wanted.
func (s *Server) Await(what string, wanted func(mails []Mail, talks int) bool) []Mail {
	s.t.Helper()
	end := time.After(time.Minute)
	for {
		s.mu.Lock()
		mails, talks, change := slices.Clone(s.mails), s.talks, s.change
		s.mu.Unlock()
		if wanted(mails, talks) {
			return mails
		}
		select {
		case <-change:
		case <-end:
			s.t.Fatalf("the mail server waits for %s: %d mails, %d conversations", what, len(mails), talks)
		}
	}
}

// changed wakes who waits; the caller holds mu.
func (s *Server) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

func (s *Server) session(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := &session{of: s, conn: c, known: s.options.User == ""}
	if _, over := c.TLSConnectionState(); s.options.TLS == "starttls" && !over {
		return is, nil // there is another one after STARTTLS
	}
	switch {
	case len(s.faults) > 0:
		is.fault, s.faults = s.faults[0], s.faults[1:]
	case s.always != nil:
		is.fault = *s.always
	}
	s.talks++
	s.changed()
	if is.fault.Greeting != nil {
		return nil, is.fault.Greeting
	}
	return is, nil
}

// session is one conversation.
type session struct {
	of    *Server
	conn  *smtp.Conn
	known bool
	fault Fault
	mail  Mail
}

// AuthMechanisms implements smtp.AuthSession.
func (c *session) AuthMechanisms() []string { return []string{sasl.Plain} }

// Auth implements smtp.AuthSession.
func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != c.of.options.User || password != c.of.options.Password {
			return smtp.ErrAuthFailed
		}
		c.known = true
		return nil
	}), nil
}

// Reset implements smtp.Session.
func (c *session) Reset() { c.mail = Mail{} }

// Logout implements smtp.Session.
func (c *session) Logout() error { return nil }

// Mail implements smtp.Session.
func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	if !c.known {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "Authentication required"}
	}
	if c.fault.Sender != nil {
		return c.fault.Sender
	}
	c.mail.From = from
	return nil
}

// Rcpt implements smtp.Session.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if err := c.fault.Address[to]; err != nil {
		return err
	}
	c.mail.To = append(c.mail.To, to)
	return nil
}

// Data implements smtp.Session.
func (c *session) Data(r io.Reader) (err error) {
	if c.mail.Data, err = io.ReadAll(r); err != nil {
		return err
	}
	switch {
	case c.fault.Data != nil:
		return c.fault.Data
	case c.fault.Hang:
		_, _ = io.Copy(io.Discard, c.conn.Conn())
		return errors.New("the client has gone")
	}
	c.of.mu.Lock()
	c.of.mails = append(c.of.mails, c.mail)
	c.of.changed()
	c.of.mu.Unlock()
	if c.fault.Drop {
		_ = c.conn.Close()
	}
	return nil
}

// certificate makes an issuer and a certificate for this machine.
func (s *Server) certificate() {
	s.t.Helper()
	must := func(err error) {
		if err != nil {
			s.t.Helper()
			s.t.Fatal(err)
		}
	}
	signed := func(of *x509.Certificate, issuer *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, of, issuer, &key.PublicKey, signer)
		must(err)
		return der, key
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	issuer := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	root, rootKey := signed(issuer, issuer, nil)
	leaf, key := signed(&x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "mail.test"}, NotBefore: from, NotAfter: to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, issuer, rootKey)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})
	s.ca, s.pool = filepath.Join(s.t.TempDir(), "ca.pem"), x509.NewCertPool()
	s.pool.AppendCertsFromPEM(text)
	must(os.WriteFile(s.ca, text, 0o600))
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: key}}}
}

// silent logs nothing.
type silent struct{}

// Printf implements smtp.Logger.
func (silent) Printf(string, ...any) {}

// Println implements smtp.Logger.
func (silent) Println(...any) {}
