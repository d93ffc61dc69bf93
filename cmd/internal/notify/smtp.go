package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/internal/crash"
)

// How a connection to a mail server is encrypted.
const (
	TLSStart = "starttls" // after a greeting in the clear; a server that does not offer it is refused
	TLSFirst = "tls"      // from the first byte
	TLSNone  = "none"     // never
)

// MailServer is a server that takes mails by SMTP (RFC 5321).
type MailServer struct {
	Address        string // host:port; the certificate must be for the host
	TLS            string // TLSStart, TLSFirst or TLSNone
	User, Password string // "" = no authentication; never sent without TLS but to this machine
	Roots          *x509.CertPool
	// Timeout is how long one conversation may take, from connecting to its last answer.
	Timeout time.Duration
}

// Outcome is what a mail server said about one address.
type Outcome int

// The outcomes.
const (
	Later   Outcome = iota // not now: try again
	Taken                  // the server is responsible for the mail from now on
	Refused                // never: trying again does not help
)

// Answer is the answer of a mail server for one address.
type Answer struct {
	To      string
	Outcome Outcome
	Words   string // of the server, on one line; why not, unless it was taken
}

// maxConversation bounds what a mail server may say in one conversation, in bytes.
const maxConversation = 1 << 20

// Send hands a mail in the form of RFC 5322 to the server, for some addresses. Each gets its
// own answer. The error, an *[Error] with CodeMailServer, is one that has nothing to do with
// the mail: then no mail would get through.
func (s MailServer) Send(ctx context.Context, from string, to []string, content []byte) ([]Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	answers := make([]Answer, len(to))
	all := func(v Outcome, words string) []Answer {
		for i, a := range to {
			answers[i] = Answer{a, v, words}
		}
		return answers
	}
	if err := c.Mail("<" + from + ">"); err != nil {
		if refusesUs(err) {
			return nil, s.failed(ctx, "it refused the sender", err)
		}
		return all(outcomeOf(err), words(ctx, err)), nil
	}
	taken := 0
	for i, a := range to {
		answers[i] = Answer{a, Taken, ""}
		if err := c.Rcpt("<" + a + ">"); err != nil {
			answers[i] = Answer{a, outcomeOf(err), words(ctx, err)}
			continue
		}
		taken++
	}
	if taken == 0 {
		_ = c.Quit()
		return answers, nil
	}
	if err := deliver(c, content); err != nil {
		for i, a := range answers {
			if a.Outcome == Taken {
				answers[i] = Answer{a.To, outcomeOf(err), words(ctx, err)}
			}
		}
		return answers, nil
	}
	_ = c.Quit() // the mail is taken, whatever comes of this
	return answers, nil
}

// deliver sends the mail itself. A server that ends the connection after the last byte, without
// an answer, may have taken it: this cannot be told from one that has not.
func deliver(c *smtp.Client, content []byte) error {
	return crash.Around("notify/smtp/send", func() error {
		w, err := c.Data()
		if err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err // not closed: the end of a mail that is not whole must not be sent
		}
		return w.Close()
	})
}

// connect opens a conversation in which a mail may be given.
func (s MailServer) connect(ctx context.Context) (c *smtp.Client, err error) {
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, s.failed(ctx, "its address is not host:port", err)
	}
	settings := &tls.Config{ServerName: host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return nil, s.failed(ctx, "it cannot be reached", err)
	}
	conn := &conversation{Conn: raw, left: maxConversation}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer func() {
		if err != nil {
			stop()
			_ = raw.Close()
		}
	}()
	var over net.Conn = conn
	if s.TLS == TLSFirst {
		over = tls.Client(conn, settings)
	}
	c, err = smtp.NewClient(over, host)
	if err != nil {
		return nil, s.failed(ctx, "it did not greet", err)
	}
	c.SkipSMTPUTF8(true) // addresses are ASCII
	if err := c.Hello(ownName()); err != nil {
		return nil, s.failed(ctx, "it did not answer to EHLO", err)
	}
	if s.TLS == TLSStart {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return nil, s.failed(ctx, "it does not offer STARTTLS; correct smtp_tls", nil)
		}
		if err := c.StartTLS(settings); err != nil {
			return nil, s.failed(ctx, "TLS with it failed", err)
		}
	}
	if s.User != "" {
		if err := s.authenticate(c, host); err != nil {
			return nil, s.failed(ctx, "it did not accept smtp_user and smtp_password", err)
		}
	}
	return c, nil
}

// authenticate signs in by the best way that the server offers.
func (s MailServer) authenticate(c *smtp.Client, host string) error {
	offered, ways := c.Extension("AUTH")
	if !offered {
		return errors.New("it offers no authentication")
	}
	has := func(way string) bool { return strings.Contains(" "+strings.ToUpper(ways)+" ", " "+way+" ") }
	switch {
	case has("SCRAM-SHA-256"):
		return c.Auth(smtp.ScramSHA256Auth(s.User, s.Password))
	case has("PLAIN"):
		return c.Auth(smtp.PlainAuth("", s.User, s.Password, host, false))
	case has("LOGIN"):
		return c.Auth(smtp.LoginAuth(s.User, s.Password, host, false))
	}
	return fmt.Errorf("it offers %s, and none of SCRAM-SHA-256, PLAIN and LOGIN", text.Line(ways))
}

// failed is the error of a server with which no mail gets through.
func (s MailServer) failed(ctx context.Context, what string, err error) *Error {
	e := &Error{Code: CodeMailServer, Class: domain.ClassSystem, Temporary: true, Message: "the mail server " + s.Address + ": " + what, cause: err}
	if err != nil {
		e.Message += ": " + words(ctx, err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Class = domain.ClassTimeout
	}
	return e
}

// refusesUs reports whether an answer is about who we are and not about the mail.
func refusesUs(err error) bool {
	var said *textproto.Error
	if !errors.As(err, &said) {
		return false
	}
	switch said.Code {
	case 421, 530, 534, 535, 538:
		return true
	}
	return false
}

// outcomeOf returns what an error of a mail server says about an address.
func outcomeOf(err error) Outcome {
	var said *textproto.Error
	if errors.As(err, &said) && said.Code >= 500 && said.Code <= 599 && !refusesUs(err) {
		return Refused
	}
	return Later
}

// maxWords bounds the words of a mail server that are kept, in bytes.
const maxWords = 500

// words returns an error of a conversation on one line: what the server said, as it said it.
func words(ctx context.Context, err error) string {
	var said *textproto.Error
	answer := err.Error()
	switch {
	case errors.As(err, &said):
		answer = fmt.Sprintf("%d %s", said.Code, said.Msg)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		answer = "no answer in time"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		answer = "it ended the connection"
	}
	answer = text.Line(strings.Join(strings.Fields(answer), " "))
	if len(answer) > maxWords {
		answer = strings.ToValidUTF8(answer[:maxWords], "") + " …"
	}
	return answer
}

// ownName is by which a mail server is greeted.
func ownName() string {
	name, _ := os.Hostname()
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		name = ""
	}
	return cmp.Or(name, "localhost")
}

// BareAddress returns user@host of an address that may have a name.
func BareAddress(s string) string {
	if a, err := mail.ParseAddress(s); err == nil {
		return a.Address
	}
	return s
}

// conversation bounds what the other side may say.
type conversation struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (c *conversation) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("it says too much")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
