package wire

import (
	"context"
	"crypto/x509"
	"errors"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/outgoing"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/internal/crash"
)

// mailer returns what takes the mails of this process: the records, for the mail server, or
// the drop directory.
func (in *Installation) mailer(records *record.Records) delivery.Mailer {
	if in.cfg.SMTPServer == "" {
		return mailDrop{notify.MailDrop{Dir: in.cfg.MailDir}}
	}
	return outgoing.Queue{Records: records, Wake: func() {
		if s := in.sender.Load(); s != nil {
			s.Wake()
		}
	}}
}

// Mails returns the sender of mails that wait for a mail server. Without one it puts those
// that still wait into the drop directory.
func (in *Installation) Mails(ctx context.Context) (*outgoing.Sender, error) {
	records, err := in.Records(ctx)
	if err != nil {
		return nil, err
	}
	s := &outgoing.Sender{Records: records, Delay: in.cfg.SMTPRetryDelay, MaxDelay: in.cfg.SMTPRetryMaxDelay, GiveUp: in.cfg.SMTPGiveUp, Log: in.log.With("role", "mail"),
		Count: func(failure error) { in.metrics.Effect("mail", failure) }}
	if in.cfg.SMTPServer == "" {
		err := crash.Around("wire/mail-drop/make", func() error { return os.MkdirAll(in.cfg.MailDir, 0o750) })
		if err != nil {
			return nil, failed("open the mail drop", err, "the setting mail_dir names it: "+in.cfg.MailDir)
		}
		s.Server = leftMails{notify.MailDrop{Dir: in.cfg.MailDir}}
	} else if s.Server, err = in.mailServer(); err != nil {
		return nil, err
	}
	in.sender.Store(s)
	return s, nil
}

func (in *Installation) mailServer() (mailServer, error) {
	s := notify.MailServer{Address: in.cfg.SMTPServer, TLS: in.cfg.SMTPTLS, User: in.cfg.SMTPUser, Password: in.cfg.SMTPPassword, Timeout: in.cfg.SMTPTimeout}
	if in.cfg.SMTPCA != "" {
		text, err := os.ReadFile(in.cfg.SMTPCA)
		if s.Roots = x509.NewCertPool(); err == nil && !s.Roots.AppendCertsFromPEM(text) {
			err = errors.New("there is no certificate in PEM form in it")
		}
		if err != nil {
			return mailServer{}, failed("trust the mail server", err, "the setting smtp_ca names the file: "+in.cfg.SMTPCA)
		}
	}
	return mailServer{s}, nil
}

// mailServer takes mails that wait.
type mailServer struct{ to notify.MailServer }

// Send implements outgoing.Server.
func (m mailServer) Send(ctx context.Context, mail record.OutgoingMail) ([]notify.Answer, error) {
	return m.to.Send(ctx, mail.Sender, mail.To, mail.Content)
}

// mailDrop puts mails into the drop directory.
type mailDrop struct{ to notify.MailDrop }

// Send implements delivery.Mailer.
func (d mailDrop) Send(_ context.Context, mail delivery.Mail) error {
	_, err := d.to.Deliver(mail.Message())
	return err
}

// leftMails puts mails into the drop directory that waited when the mail server was taken out
// of the settings.
type leftMails struct{ to notify.MailDrop }

// Send implements outgoing.Server.
func (d leftMails) Send(_ context.Context, mail record.OutgoingMail) ([]notify.Answer, error) {
	if err := d.to.Put(mail.Key, mail.Content); err != nil {
		return nil, err
	}
	all := make([]notify.Answer, 0, len(mail.To))
	for _, to := range mail.To {
		all = append(all, notify.Answer{To: to, Outcome: notify.Taken})
	}
	return all, nil
}
