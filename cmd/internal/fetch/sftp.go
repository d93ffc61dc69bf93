package fetch

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/accession-ingest/accession/domain"
)

// SFTP says who this installation is for servers of SFTP, and which of them it knows. The files
// are read for each connection, so that they can be exchanged.
type SFTP struct {
	Key        string // file with a private key without a passphrase, as ssh-keygen writes it
	KnownHosts string // file with the keys of the servers, as ssh writes it
}

// schemeSFTP begins the URL of a file of a server of SFTP, sftp://HOST/PATH. The policy must have
// an exception for its server and directory, which names the user too: what an installation may
// read is not for all who deposit there.
const schemeSFTP = "sftp"

// Login is a user of a server of SFTP, with the directory that the user's files are in.
type Login struct {
	User      string
	Server    string // HOST:PORT
	Directory string // absolute, ends with a slash
}

const portOfSSH = "22"

// loginForm is shown beside an exception that is none.
const loginForm = "sftp://USER@HOST/DIRECTORY/"

// parseLogin parses an exception of the form sftp://USER@HOST/DIRECTORY/, or with HOST:PORT.
func parseLogin(s string) (Login, bool) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != schemeSFTP || u.User.Username() == "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || vetHost(u) != "" {
		return Login{}, false
	}
	_, secret := u.User.Password()
	if secret || !strings.HasSuffix(u.Path, "/") || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/" || strings.ContainsAny(s, "%?#") {
		return Login{}, false
	}
	return Login{u.User.Username(), serverOf(u), u.Path}, true
}

// serverOf returns HOST:PORT of a URL of a file of a server of SFTP.
func serverOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = portOfSSH
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}

// String returns the login as parseLogin reads it.
func (l Login) String() string {
	return schemeSFTP + "://" + l.User + "@" + strings.TrimSuffix(l.Server, ":"+portOfSSH) + l.Directory
}

// login returns the exception for a file of a server of SFTP.
func (p Policy) login(u *url.URL) (Login, bool) {
	for _, e := range p.Allow {
		if l := e.Login; l.Server != "" && l.Server == serverOf(u) && strings.HasPrefix(u.Path, l.Directory) {
			return l, true
		}
	}
	return Login{}, false
}

// ofSFTP reports whether a URL is that of a file of a server of SFTP.
func ofSFTP(raw string) bool { return strings.HasPrefix(raw, schemeSFTP+"://") }

// sftpURL returns the URL of a file of a server of SFTP, if the policy opens it.
func (c *Client) sftpURL(raw string) (*url.URL, *Error) {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > 8<<10 || u.User != nil || vetHost(u) != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		strings.ContainsRune(u.Path, 0) || !path.IsAbs(u.Path) || path.Clean(u.Path) != u.Path {
		return nil, content(CodeBadURL, Redact(raw), "give an address of the form sftp://HOST/DIRECTORY/NAME, with ? and # percent-encoded", "this is no URL of a file of a server of SFTP")
	}
	if _, open := c.policy.login(u); !open {
		return nil, content(CodeAddressRefused, Redact(raw), "the operator can open it by "+loginForm+" in fetch.allow of the profile", "the server or directory is closed to this collection")
	}
	return u, nil
}

// servers answer requests for files of servers of SFTP as a server of HTTP does that knows no
// ranges. A connection is for one request.
type servers struct {
	*shared
	policy Policy
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// RoundTrip implements http.RoundTripper.
func (t servers) RoundTrip(r *http.Request) (*http.Response, error) {
	shown := Redact(r.URL.String())
	l, open := t.policy.login(r.URL)
	if !open {
		return nil, content(CodeAddressRefused, shown, "", "the server or directory is closed to this collection")
	}
	s, err := t.connect(r.Context(), l, shown)
	if err != nil {
		return nil, err
	}
	_ = s.conn.SetDeadline(time.Now().Add(t.cfg.ResponseHeader))
	f, info, err := s.open(r.URL.Path)
	_ = s.conn.SetDeadline(time.Time{})
	if err != nil {
		s.Close()
		return nil, s.fault(err, shown)
	}
	answer := &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, ContentLength: info.Size(), Request: r,
		Header: http.Header{"Last-Modified": {info.ModTime().UTC().Format(http.TimeFormat)}}}
	if r.Method == http.MethodHead {
		s.Close()
		return answer, nil
	}
	content, into := io.Pipe()
	answer.Body = content
	go func() {
		defer s.Close()
		n, err := f.WriteTo(into) // asks for the next parts while the first are on their way
		if err == nil && n != info.Size() || errors.Is(err, sftp.ErrSSHFxConnectionLost) {
			err = io.ErrUnexpectedEOF
		}
		into.CloseWithError(err)
	}()
	return answer, nil
}

// session is a connection to a server of SFTP.
type session struct {
	conn   net.Conn
	files  *sftp.Client
	client *ssh.Client
	loose  func() bool
}

// connect connects to a server of SFTP within the times for a server of HTTP. The error is one of
// the connection, or an *Error.
func (t servers) connect(ctx context.Context, l Login, shown string) (*session, error) {
	ours := func(message, hint string, err error) *Error {
		return &Error{Code: CodeUnreachable, Class: domain.ClassSystem, URL: shown, Temporary: true, Ours: true, cause: err, Message: message, Hint: hint}
	}
	config := &ssh.ClientConfig{User: l.User, Timeout: t.cfg.Connect, ClientVersion: "SSH-2.0-accession"}
	secret, err := os.ReadFile(t.cfg.SFTP.Key)
	if err == nil {
		var key ssh.Signer
		if key, err = ssh.ParsePrivateKey(secret); err == nil {
			config.Auth = []ssh.AuthMethod{ssh.PublicKeys(key)}
		}
	}
	if err != nil {
		return nil, ours("this installation has no key for servers of SFTP that can be read", "set sftp_key to the file of one without a passphrase", err)
	}
	known, err := knownhosts.New(t.cfg.SFTP.KnownHosts)
	if err != nil {
		return nil, ours("this installation knows no servers of SFTP", "set sftp_known_hosts to a file with their keys, as ssh-keyscan writes them", err)
	}
	conn, err := t.dial(ctx, "tcp", l.Server)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, loose: context.AfterFunc(ctx, func() { _ = conn.Close() })}
	config.HostKeyCallback, config.HostKeyAlgorithms = known, algorithms(known, l.Server, conn.RemoteAddr())
	_ = conn.SetDeadline(time.Now().Add(t.cfg.TLSHandshake))
	c, channels, requests, err := ssh.NewClientConn(conn, l.Server, config)
	if err == nil {
		s.client = ssh.NewClient(c, channels, requests)
		s.files, err = sftp.NewClient(s.client)
	}
	if err != nil {
		s.Close()
		return nil, s.refused(err, shown)
	}
	return s, nil
}

// algorithms returns those of the keys of a server that is known, nil = any: a server with keys of
// several kinds shows one that is known.
func algorithms(known ssh.HostKeyCallback, server string, at net.Addr) (all []string) {
	var of *knownhosts.KeyError
	if !errors.As(known(server, at, noKey{}), &of) {
		return nil
	}
	for _, k := range of.Want {
		kinds := []string{k.Key.Type()}
		if k.Key.Type() == ssh.KeyAlgoRSA {
			kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		all = append(all, kinds...)
	}
	return slices.Compact(all)
}

// noKey is the key of no server.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("it is none") }

// refused explains why there is no session.
func (s *session) refused(err error, shown string) error {
	var key *knownhosts.KeyError
	is := func(class domain.Class, message, hint string) error {
		return &Error{Code: CodeUnreachable, Class: class, URL: shown, cause: err, Message: message, Hint: hint}
	}
	switch {
	case errors.As(err, &key) && len(key.Want) == 0:
		return is(domain.ClassSystem, "the key of the server is not known", "compare it with the server's owner, and add it to the file of sftp_known_hosts")
	case errors.As(err, &key):
		return is(domain.ClassSystem, "the server shows another key than the one that is known", "ask the server's owner whether it was exchanged; another server may stand in between")
	case strings.Contains(err.Error(), "unable to authenticate"):
		e := content(CodeHTTPStatus, shown, "let the server's owner add the public key of sftp_key for the user that fetch.allow names", "the server does not let this installation in")
		e.Status = http.StatusUnauthorized
		return e
	case timedOut(err), anyOf(err, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE):
		return err
	}
	return &Error{Code: CodeUnreachable, Class: domain.ClassContent, URL: shown, Temporary: true, cause: err, Message: "the server could not be reached, or does not answer in SFTP",
		Hint: "see whether the server runs and can be reached from outside"}
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// open opens a file, which must be a regular one.
func (s *session) open(name string) (*sftp.File, fs.FileInfo, error) {
	info, err := s.files.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := s.files.Open(name)
	return f, info, err
}

// fault explains why a file cannot be had.
func (s *session) fault(err error, shown string) error {
	status, message, hint := http.StatusForbidden, "this is no file that may be read", "let the server's owner make it readable for the user that fetch.allow names"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status, message, hint = http.StatusNotFound, "there is no such file", "correct the URL, or put the file there"
	case errors.Is(err, sftp.ErrSSHFxConnectionLost):
		return io.ErrUnexpectedEOF
	case !errors.Is(err, fs.ErrPermission):
		return err
	}
	e := content(CodeHTTPStatus, shown, hint, "%s", message)
	e.Status = status
	return e
}

// Close ends the connection.
func (s *session) Close() {
	s.loose()
	if s.files != nil {
		_ = s.files.Close()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	_ = s.conn.Close()
}
