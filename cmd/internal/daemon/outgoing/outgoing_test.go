package outgoing_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/outgoing"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/smtpserver"
	"github.com/accession-ingest/accession/projections/projtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post is an installation with a mail server.
type post struct {
	db      *pgxpool.Pool
	t       *testing.T
	records *record.Records
	server  *smtpserver.Server
	sender  *outgoing.Sender
	batch   domain.BatchID
}

// smtpTo makes a MailServer an outgoing.Server.
type smtpTo struct{ notify.MailServer }

func (s smtpTo) Send(ctx context.Context, m record.OutgoingMail) ([]notify.Answer, error) {
	return s.MailServer.Send(ctx, m.Sender, m.To, m.Content)
}

func open(t *testing.T) *post {
	t.Helper()
	db := projtest.DB(t)
	p := &post{t: t, db: db, records: record.New(db), batch: domain.NewBatchID(1),
		server: smtpserver.New(t, smtpserver.Options{TLS: "starttls", User: "accession", Password: "open sesame"})}
	p.sender = p.another()
	return p
}

// another returns the sender of another process.
func (p *post) another() *outgoing.Sender {
	return &outgoing.Sender{Records: record.New(p.db), Delay: 10 * time.Millisecond, MaxDelay: 50 * time.Millisecond, GiveUp: time.Hour, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Server: smtpTo{notify.MailServer{Address: p.server.Address(), TLS: "starttls", User: "accession", Password: "open sesame", Roots: p.server.Roots(), Timeout: 10 * time.Second}}}
}

// mails keeps a mail, as a step of a daemon does.
func (p *post) mails(key string, to ...string) {
	p.t.Helper()
	m := record.Message{Key: key, Channel: record.ChannelMail, About: "report", Batch: p.batch, Recipients: to}
	made, err := delivery.Make(p.t.Context(), p.records, "mail/send", m, func(d record.Delivery) error {
		return outgoing.Queue{Records: p.records, Wake: p.sender.Wake}.Send(p.t.Context(), delivery.Mail{Key: key, From: "Archive <ingest@archive.test>", To: to,
			Subject: "A report", Text: "about " + key + "\n", Date: d.CreatedAt.Time})
	}, nil)
	if err != nil || made.Failure != nil {
		p.t.Fatal(made, err)
	}
}

func (p *post) delivery(key string) record.Delivery {
	p.t.Helper()
	d, err := p.records.Delivery(p.t.Context(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// runs sends while the test goes on.
func (p *post) runs(s *outgoing.Sender) {
	ctx, cancel := context.WithCancel(p.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.Run(ctx); err != nil {
			p.t.Error(err)
		}
	})
	p.t.Cleanup(func() { cancel(); all.Wait() })
}

// ends waits until a delivery is in a state.
func (p *post) ends(key string, state record.DeliveryState) record.Delivery {
	p.t.Helper()
	look, end := time.NewTicker(5*time.Millisecond), time.After(time.Minute) // nothing tells of rows
	defer look.Stop()
	for {
		d := p.delivery(key)
		if d.State == state {
			return d
		}
		select {
		case <-look.C:
		case <-end:
			p.t.Fatalf("%s does not become %s: %+v", key, state, d)
		}
	}
}

func says(code int, text string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: text}
}

// TestMailsWaitWhileTheServerIsDown: a mail is kept while no mail gets through, whatever the
// reason, and sent once when the server is back.
// Shows: P6
func TestMailsWaitWhileTheServerIsDown(t *testing.T) {
	t.Parallel()
	p := open(t)
	if down, next, err := p.sender.Once(t.Context()); down != nil || err != nil || next < time.Second {
		t.Errorf("where no mail waits: look again in %s (%v, %v)", next, down, err)
	}
	p.server.Down()
	p.mails("bid0000000001/report", "ana@lab.test", "Ben <ben@lab.test>")
	p.mails("bid0000000001/report", "ana@lab.test", "Ben <ben@lab.test>") // the step is repeated
	if d := p.delivery("bid0000000001/report"); d.State != record.DeliveryWaiting || d.LastError != "" {
		t.Fatalf("kept: %+v", d)
	}
	down, _, err := p.sender.Once(t.Context())
	if down == nil || err != nil || !strings.Contains(down.Error(), "the mail server "+p.server.Address()) {
		t.Fatal(down, err)
	}
	if d := p.delivery("bid0000000001/report"); d.State != record.DeliveryWaiting || !strings.Contains(d.LastError, "it ended the connection") {
		t.Fatalf("while it is down: %+v", d)
	}
	if n, oldest, err := p.records.MailsWaiting(t.Context()); err != nil || n != 1 || oldest <= 0 {
		t.Error(n, oldest, err)
	}
	p.server.Next(smtpserver.Fault{Greeting: says(421, "not yet")}, smtpserver.Fault{Data: says(451, "greylisted")})
	p.server.Up()
	p.runs(p.sender)
	d := p.ends("bid0000000001/report", record.DeliveryDelivered)
	if d.LastError != "" || d.DeliveredAt.IsZero() || d.Attempts != 4 {
		t.Errorf("delivered: %+v", d)
	}
	got := p.server.Mails()
	if len(got) != 1 || got[0].From != "ingest@archive.test" || fmt.Sprint(got[0].To) != "[ana@lab.test ben@lab.test]" || !strings.Contains(string(got[0].Data), "about bid0000000001/report") {
		t.Errorf("%d mails: %+v", len(got), got)
	}
	p.mails("bid0000000001/report", "ana@lab.test") // a worker that took over repeats the step
	if n, _, err := p.records.MailsWaiting(t.Context()); n != 0 || err != nil || p.delivery("bid0000000001/report").State != record.DeliveryDelivered {
		t.Errorf("%d wait, %v: a mail that was delivered is sent again", n, err)
	}
}

// TestAddressesAreAnsweredOneByOne: an address that the server refuses for good is noted with
// its words, one that it refuses for now is tried again, alone.
// Shows: P6
func TestAddressesAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.server.Next(smtpserver.Fault{Address: map[string]*smtp.SMTPError{"gone@lab.test": says(550, "No such user"), "full@lab.test": says(452, "Mailbox full")}})
	p.mails("k", "here@lab.test", "gone@lab.test", "full@lab.test")
	p.mails("refused", "gone@lab.test")
	p.server.Next(smtpserver.Fault{Address: map[string]*smtp.SMTPError{"gone@lab.test": says(550, "No such user")}})
	p.runs(p.sender)
	d := p.ends("k", record.DeliveryDelivered)
	if d.LastError != "gone@lab.test: 550 5.1.1 No such user" {
		t.Errorf("%+v", d)
	}
	d = p.ends("refused", record.DeliveryFailed)
	if d.LastError != "gone@lab.test: 550 5.1.1 No such user" || !d.DeliveredAt.IsZero() {
		t.Errorf("%+v", d)
	}
	var to []string
	for _, m := range p.server.Mails() {
		to = append(to, strings.Join(m.To, " "))
	}
	if fmt.Sprint(to) != "[here@lab.test full@lab.test]" {
		t.Errorf("sent to %q", to)
	}
	// An operator sends it again after the address was mended.
	p.mails("refused", "new@lab.test")
	p.ends("refused", record.DeliveryDelivered)
	if all := p.server.Mails(); fmt.Sprint(all[len(all)-1].To) != "[new@lab.test]" {
		t.Errorf("%+v", all)
	}
}

// TestAMailIsKeptOnce: a step that is repeated while its mail waits for some addresses changes
// nothing: those that have it do not get it again.
// Shows: P6
func TestAMailIsKeptOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.server.Next(smtpserver.Fault{Address: map[string]*smtp.SMTPError{"full@lab.test": says(452, "Mailbox full")}})
	p.sender.Delay, p.sender.MaxDelay = time.Second, time.Second
	p.mails("k", "here@lab.test", "full@lab.test")
	if down, _, err := p.sender.Once(t.Context()); down != nil || err != nil {
		t.Fatal(down, err)
	}
	p.mails("k", "here@lab.test", "full@lab.test")
	if d := p.delivery("k"); d.State != record.DeliveryWaiting || !strings.Contains(d.LastError, "452 4.1.1 Mailbox full") {
		t.Errorf("%+v", d)
	}
	p.runs(p.sender)
	p.ends("k", record.DeliveryDelivered)
	if got := p.server.Mails(); len(got) != 2 || fmt.Sprint(got[0].To, got[1].To) != "[here@lab.test] [full@lab.test]" {
		t.Errorf("%+v", got)
	}
}

// TestMailWithoutAnswer: a server that ends the connection after a mail may have taken it. It is sent
// again, with the same Message-ID: this is the window that remains.
// Shows: P6
func TestMailWithoutAnswer(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.server.Next(smtpserver.Fault{Drop: true})
	p.mails("k", "ana@lab.test")
	p.runs(p.sender)
	p.ends("k", record.DeliveryDelivered)
	got := p.server.Mails()
	if len(got) != 2 || string(got[0].Data) != string(got[1].Data) || !strings.Contains(string(got[0].Data), "Message-ID: <") {
		t.Errorf("%+v", got)
	}
}

// TestMailsAreGivenUp: a mail that no server takes is given up at last, and says so.
func TestMailsAreGivenUp(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.server.Always(&smtpserver.Fault{Data: says(451, "never mind")})
	p.sender.GiveUp = 30 * time.Millisecond
	p.mails("k", "ana@lab.test")
	p.runs(p.sender)
	d := p.ends("k", record.DeliveryFailed)
	if !strings.Contains(d.LastError, "ana@lab.test: given up after") || !strings.Contains(d.LastError, "451 4.1.1 never mind") {
		t.Errorf("%+v", d)
	}
}

// TestOneSender: several processes send each mail once.
// Shows: P6
func TestOneSender(t *testing.T) {
	t.Parallel()
	p := open(t)
	const n = 30
	for i := range n {
		p.mails(fmt.Sprintf("k%02d", i), fmt.Sprintf("a%02d@lab.test", i))
	}
	p.runs(p.sender)
	for range 3 {
		p.runs(p.another())
	}
	for i := range n {
		p.ends(fmt.Sprintf("k%02d", i), record.DeliveryDelivered)
	}
	var to []string
	for _, m := range p.server.Mails() {
		to = append(to, m.To...)
	}
	slices.Sort(to)
	if len(to) != n || len(slices.Compact(to)) != n {
		t.Errorf("%d mails: %q", len(to), to)
	}
}

// TestSlowServer: a mail that the server does not answer for is left in time, and waits; the
// ones behind it are sent.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	p := open(t)
	s := p.another()
	s.Server = smtpTo{notify.MailServer{Address: p.server.Address(), TLS: "starttls", User: "accession", Password: "open sesame", Roots: p.server.Roots(), Timeout: 2 * time.Second}}
	p.server.Next(smtpserver.Fault{Hang: true})
	p.mails("a", "ana@lab.test")
	p.mails("b", "ben@lab.test")
	p.runs(s)
	p.ends("b", record.DeliveryDelivered)
	p.ends("a", record.DeliveryDelivered)
	if got := p.server.Mails(); len(got) != 2 || got[0].To[0] != "ben@lab.test" {
		t.Errorf("%+v", got)
	}
}
