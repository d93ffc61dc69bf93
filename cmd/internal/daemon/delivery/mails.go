package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// Mails mails to the depositors of batches.
type Mails struct {
	Records Records
	Drop    Mailer // nil = none is configured
}

// Report mails the report of a batch if the profile wants it: one mail for each report,
// however often the step runs.
func (m Mails) Report(ctx context.Context, p profile.Profile, b domain.Batch, r report.Body) (*domain.NoteDelivery, error) {
	letter, err := report.LetterOf(p, r, "")
	if err != nil {
		return nil, err
	}
	return m.Send(ctx, p, profile.MailReport, messageOf(b, r), letter)
}

// Unsent notes that a report is not mailed because its profile, which has the addresses, is
// missing. The report is kept, and an operator can have it sent.
func (m Mails) Unsent(ctx context.Context, missing error, b domain.Batch, r report.Body) (*domain.NoteDelivery, error) {
	of := messageOf(b, r)
	of.Channel = record.ChannelMail
	why := reason.System(domain.CodeProfileUnknown, "%v; when the profile is there, `accession batch send-report %s` sends the report", missing, r.Batch)
	return m.result(ctx, of, func(record.Delivery) error { return why })
}

// messageOf returns the message by which a report is told. A batch is reported once, and updated
// once after each report: these keys stay the same whatever else is noted about the batch
// meanwhile.
func messageOf(b domain.Batch, r report.Body) record.Message {
	about, key := Report, string(r.Batch)+"/"+Report
	if b.State == domain.BatchUpdateReporting && b.Report != nil {
		about, key = Update, fmt.Sprintf("%s/%s/%.16s", r.Batch, Update, b.Report.ReportSHA256)
	}
	return record.Message{Key: key, About: about, Batch: r.Batch}
}

// Send sends one message and records its result. A mail that cannot be sent never stops
// a batch; the error is one of the records. The result is nil if the profile does not
// want such a mail.
func (m Mails) Send(ctx context.Context, p profile.Profile, kind profile.Mail, of record.Message, letter report.Letter) (*domain.NoteDelivery, error) {
	if !p.Notify.Wants(kind) {
		return nil, nil
	}
	of.Channel, of.Recipients = record.ChannelMail, p.Notify.To
	return m.result(ctx, of, func(d record.Delivery) error {
		if m.Drop == nil {
			return errors.New("no mail drop is configured")
		}
		return m.Drop.Send(ctx, mailOf(letter, of.Key, p.Notify.From, of.Recipients, d))
	})
}

// result sends a mail and returns its result.
func (m Mails) result(ctx context.Context, of record.Message, send func(record.Delivery) error) (*domain.NoteDelivery, error) {
	sent, err := Make(ctx, m.Records, "mail/send", of, send, nil)
	note := NoteOf(of, sent.Failure)
	return &note, err
}

func mailOf(l report.Letter, key, from string, to []string, d record.Delivery) Mail {
	return Mail{Key: key, From: from, To: to, Subject: l.Subject, Text: l.Text, HTML: l.HTML, Files: l.Files, Date: d.CreatedAt.Time}
}

// Queued mails that a batch was accepted.
func (m Mails) Queued(ctx context.Context, p profile.Profile, b domain.Batch) (*domain.NoteDelivery, error) {
	return m.Send(ctx, p, profile.MailQueued, record.Message{Key: string(b.ID) + "/" + Queued, About: Queued, Batch: b.ID},
		report.Letter{Subject: fmt.Sprintf("Deposit %s was accepted: %d object(s)", b.ID, b.Listing.Rows),
			Text: fmt.Sprintf("Your deposit for %s was accepted as batch %s.\nIt lists %d object(s). You will get a report when all of them are done.\n",
				p.Collection, b.ID, b.Listing.Rows)})
}
