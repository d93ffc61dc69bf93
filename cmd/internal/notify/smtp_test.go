package notify_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/smtpserver"
)

func says(code int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: text}
}

func mailServer(s *smtpserver.Server, how, user, password string) notify.MailServer {
	return notify.MailServer{Address: s.Address(), TLS: how, User: user, Password: password, Roots: s.Roots(), Timeout: 20 * time.Second}
}

// TestSMTP: a mail arrives byte for byte, by every kind of TLS, with authentication.
// Shows: P6
func TestSMTP(t *testing.T) {
	t.Parallel()
	m := report()
	m.Text = "A first line\n.\n..two dots\n" + strings.Repeat("a long line ", 200) + "\n"
	content, err := m.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{notify.TLSStart, notify.TLSFirst, notify.TLSNone} {
		s := smtpserver.New(t, smtpserver.Options{TLS: how, User: "accession", Password: "open sesame"})
		answers, err := mailServer(s, how, "accession", "open sesame").Send(t.Context(), "ingest@archive.test", []string{"one@lab.test", "two@lab.test"}, content)
		if err != nil || len(answers) != 2 || answers[0] != (notify.Answer{To: "one@lab.test", Outcome: notify.Taken}) || answers[1].Outcome != notify.Taken {
			t.Fatalf("%s: %+v %v", how, answers, err)
		}
		got := s.Mails()
		if len(got) != 1 || got[0].From != "ingest@archive.test" || fmt.Sprint(got[0].To) != "[one@lab.test two@lab.test]" || string(got[0].Data) != string(content) {
			t.Errorf("%s: %+v", how, got)
		}
	}
}

// TestSMTPAnswers: each address has its own answer, with the words of the server.
func TestSMTPAnswers(t *testing.T) {
	t.Parallel()
	s := smtpserver.New(t, smtpserver.Options{TLS: notify.TLSNone})
	server := mailServer(s, notify.TLSNone, "", "")
	server.Timeout = 3 * time.Second
	to := []string{"one@lab.test", "two@lab.test", "three@lab.test"}
	const later, taken, refused = notify.Later, notify.Taken, notify.Refused
	for _, c := range []struct {
		name     string
		fault    smtpserver.Fault
		outcomes []notify.Outcome
		words    []string
		mails    int
	}{
		{"taken", smtpserver.Fault{}, []notify.Outcome{taken, taken, taken}, []string{"", "", ""}, 1},
		{"some addresses", smtpserver.Fault{Address: map[string]*smtp.SMTPError{"one@lab.test": says(550, "No such user"), "three@lab.test": says(451, "Mailbox\x1b[1m busy")}},
			[]notify.Outcome{refused, taken, later}, []string{"550 5.1.1 No such user", "", "451 4.1.1 Mailbox\uFFFD[1m busy"}, 1},
		{"no address", smtpserver.Fault{Address: map[string]*smtp.SMTPError{to[0]: says(550, "a"), to[1]: says(550, "b"), to[2]: says(450, "c")}},
			[]notify.Outcome{refused, refused, later}, []string{"550 5.1.1 a", "550 5.1.1 b", "450 4.1.1 c"}, 0},
		{"the sender, for good", smtpserver.Fault{Sender: says(553, "not from here")}, []notify.Outcome{refused, refused, refused}, []string{"553", "553", "553"}, 0},
		{"the sender, for now", smtpserver.Fault{Sender: says(450, "slow down")}, []notify.Outcome{later, later, later}, []string{"450", "450", "450"}, 0},
		{"the mail, for good", smtpserver.Fault{Data: says(554, "spam")}, []notify.Outcome{refused, refused, refused}, []string{"554 5.1.1 spam", "", ""}, 0},
		{"the mail, for now", smtpserver.Fault{Data: says(452, "disk full")}, []notify.Outcome{later, later, later}, []string{"452 4.1.1 disk full", "", ""}, 0},
		{"no answer", smtpserver.Fault{Hang: true}, []notify.Outcome{later, later, later}, []string{"no answer in time", "", ""}, 0},
		{"the answer is lost", smtpserver.Fault{Drop: true}, []notify.Outcome{later, later, later}, []string{"it ended the connection", "", ""}, 1},
	} {
		before := len(s.Mails())
		s.Next(c.fault)
		answers, err := server.Send(t.Context(), "a@b.test", to, []byte("Subject: x\r\n\r\ny\r\n"))
		if err != nil || len(answers) != 3 {
			t.Errorf("%s: %+v %v", c.name, answers, err)
			continue
		}
		for i, a := range answers {
			if a.To != to[i] || a.Outcome != c.outcomes[i] || !strings.HasPrefix(a.Words, c.words[i]) || (a.Words == "") != (a.Outcome == taken) {
				t.Errorf("%s: %+v", c.name, a)
			}
		}
		if n := len(s.Mails()) - before; n != c.mails {
			t.Errorf("%s: %d mails", c.name, n)
		}
	}
}

// TestSMTPServer: what has nothing to do with the mail is an error, which says what to do, and
// is tried again. No password leaves before TLS, or for a server that is not the one named.
func TestSMTPServer(t *testing.T) {
	t.Parallel()
	plain := smtpserver.New(t, smtpserver.Options{TLS: notify.TLSNone, User: "accession", Password: "s3cret"})
	start := smtpserver.New(t, smtpserver.Options{TLS: notify.TLSStart, User: "accession", Password: "s3cret"})
	down := smtpserver.New(t, smtpserver.Options{TLS: notify.TLSNone})
	down.Down()
	busy := smtpserver.New(t, smtpserver.Options{TLS: notify.TLSNone})
	busy.Always(&smtpserver.Fault{Greeting: says(421, "Too many")})
	with := func(s notify.MailServer, change func(*notify.MailServer)) notify.MailServer {
		change(&s)
		return s
	}
	elsewhere := with(mailServer(start, notify.TLSStart, "accession", "s3cret"), func(s *notify.MailServer) {
		_, port, _ := net.SplitHostPort(s.Address)
		s.Address = "localhost:" + port // the certificate has 127.0.0.1 alone
	})
	for _, c := range []struct {
		name   string
		server notify.MailServer
		text   string
	}{
		{"down", mailServer(down, notify.TLSNone, "", ""), "did not greet: it ended the connection"},
		{"not there", notify.MailServer{Address: "127.0.0.1:1", TLS: notify.TLSNone, Timeout: time.Minute}, "cannot be reached"},
		{"busy", mailServer(busy, notify.TLSNone, "", ""), "421"},
		{"no STARTTLS", mailServer(plain, notify.TLSStart, "accession", "s3cret"), "does not offer STARTTLS; correct smtp_tls"},
		{"no TLS at all", with(mailServer(plain, notify.TLSFirst, "accession", "s3cret"), func(s *notify.MailServer) { s.Timeout = 2 * time.Second }), "did not greet"},
		{"unknown issuer", with(mailServer(start, notify.TLSStart, "accession", "s3cret"), func(s *notify.MailServer) { s.Roots = x509.NewCertPool() }), "TLS with it failed"},
		{"another name", elsewhere, "TLS with it failed"},
		{"wrong password", mailServer(start, notify.TLSStart, "accession", "s3cret!"), "smtp_user and smtp_password: 535"},
		{"no password", mailServer(start, notify.TLSStart, "", ""), "refused the sender: 530"},
	} {
		answers, err := c.server.Send(t.Context(), "a@b.test", []string{"one@lab.test"}, []byte("Subject: x\r\n\r\ny\r\n"))
		var e *notify.Error
		if answers != nil || !errors.As(err, &e) || e.Code != notify.CodeMailServer || !e.Temporary || !strings.Contains(e.Message, c.text) || strings.Contains(e.Message, "s3cret") {
			t.Errorf("%s: %+v %v", c.name, answers, err)
		}
	}
	if n := len(slices.Concat(plain.Mails(), start.Mails(), busy.Mails())); n != 0 {
		t.Errorf("%d mails were taken", n)
	}
}

// TestSMTPSaysTooMuch: a server cannot fill the memory, and is left when its time is over or
// the caller leaves.
func TestSMTPSaysTooMuch(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for _, err := c.Write([]byte("220-and more\r\n")); err == nil; {
					_, err = c.Write([]byte("220-and more\r\n"))
				}
			}()
		}
	}()
	server := notify.MailServer{Address: l.Addr().String(), TLS: notify.TLSNone, Timeout: time.Minute}
	if _, err := server.Send(t.Context(), "a@b.test", []string{"c@d.test"}, nil); err == nil || !strings.Contains(err.Error(), "too much") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var e *notify.Error
	if _, err := server.Send(ctx, "a@b.test", []string{"c@d.test"}, nil); !errors.As(err, &e) || e.Class != domain.ClassSystem {
		t.Errorf("cancelled: %v", err)
	}
}
