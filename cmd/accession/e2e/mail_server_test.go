package e2e

import (
	"bytes"
	"net/mail"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/smtpserver"
)

// mailServer starts a mail server and returns the settings with which its mails are sent.
func (in *installation) mailServer() (s *smtpserver.Server, settings []string) {
	s = smtpserver.New(in.t, smtpserver.Options{TLS: "starttls", User: "accession", Password: "open sesame"})
	return s, []string{"smtp_server=" + s.Address(), "smtp_ca=" + s.CA(), "smtp_user=accession", "smtp_password=open sesame",
		"smtp_retry_delay=10ms", "smtp_retry_max_delay=100ms", "smtp_timeout=5s"}
}

// subjects returns those of mails, by how often they came under one Message-ID.
func subjects(t testing.TB, mails []smtpserver.Mail) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, m := range mails {
		read, err := mail.ReadMessage(bytes.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		all[read.Header.Get("Subject")+" "+read.Header.Get("Message-ID")]++
	}
	return all
}

// TestMailServer: the mails of a batch go to a mail server. While it is down, or does not
// answer, the batch goes on and `batch show` says what waits; each mail arrives once, and an
// address that is refused shows with the words of the server.
// Shows: P6 P11
func TestMailServer(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	server, settings := in.mailServer()
	in.set(settings...)
	in.tell("queued, report")
	server.Down()
	in.serveInProcess(run.AllRoles...)
	deposit := func(n int) domain.BatchID {
		t.Helper()
		id := in.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile})
		in.seen(n, domain.EventBatchCompleted)
		return id
	}
	first := deposit(1)
	in.says(0, words("batch show "+string(first)), "queued mail  waiting", "report mail  waiting")
	server.Next(smtpserver.Fault{Hang: true}) // and the next one still does not wait
	server.Up()
	second := deposit(2)
	server.Await("four mails", func(mails []smtpserver.Mail, _ int) bool { return len(mails) == 4 })
	for _, id := range []domain.BatchID{first, second} {
		waitFor(t, "the mails about "+string(id), func() bool {
			return in.count("select count(*) from record.delivery where batch_id = $1 and state = 'delivered'", id) == 2
		})
		in.says(0, words("batch show "+string(id)), "queued mail  delivered", "report mail  delivered")
	}
	server.Always(&smtpserver.Fault{Address: map[string]*smtp.SMTPError{"depositor@example.org": {Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such user, depositor@example.org"}}})
	third := deposit(3)
	waitFor(t, "the mails about "+string(third), func() bool {
		return in.count("select count(*) from record.delivery where batch_id = $1 and state = 'failed'", third) == 2
	})
	in.says(0, words("batch show "+string(third)), "report mail  failed", "address 1: 550 5.1.1 No such user, address 1")
	server.Always(nil)
	in.says(0, words("batch send-report "+string(third)+" --reason mended"), "goes to 1 address")
	server.Await("the report", func(mails []smtpserver.Mail, _ int) bool { return len(mails) == 5 })
	for what, n := range subjects(t, server.Mails()) {
		if n != 1 {
			t.Errorf("%d times %s", n, what)
		}
	}
	// The server has a mail before its result is kept.
	waitFor(t, "mails without their content", func() bool {
		return in.count("select count(*) from record.outgoing_mail where settled_at is null or content is not null") == 0
	})
}

// mailsByServer: a process dies while mails are kept, sent, or their result is kept. Each
// arrives once, but for the window that remains: from the answer of the mail server until it is
// kept, a mail is sent again, under the same Message-ID.
func mailsByServer(o *crashInstallation, point string) {
	o.finish()
	server, settings := o.mailServer()
	var flags []string
	for _, s := range settings {
		flags = append(flags, "--set="+s)
	}
	id := o.deposit("again")
	o.bySMTP[id] = true
	o.dies(point, nil, append([]string{"serve"}, flags...)...)
	s := o.serve(flags...)
	s.works()
	o.still()
	waitFor(o.t, "the mails about "+string(id), func() bool {
		return o.count("select count(*) from record.delivery where batch_id = $1 and channel = 'mail' and state = 'delivered'", id) == 2
	})
	s.stop()
	got, again := subjects(o.t, server.Mails()), 0
	for _, n := range got {
		again += n - 1
	}
	window := point == "notify/smtp/send/after" || strings.HasPrefix(point, "record/outgoing/end/")
	if len(got) != 2 || again > o.deaths() || again > 0 && !window || again == 0 && point == "notify/smtp/send/after" && o.interrupt == nil {
		o.t.Errorf("after a death at %s: %v", point, got)
	}
}
