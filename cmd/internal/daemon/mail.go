package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// mailQueued starts the batch, and mails that to the depositor if the profile wants it:
// one mail a batch.
func (s *steps) mailQueued(ctx context.Context, p Profile, t *BatchTask) Outcome {
	b := t.Batch
	note, err := s.mail(ctx, p, profile.MailQueued, record.Message{Key: string(b.ID) + "/" + delivery.Queued, About: delivery.Queued, Batch: b.ID},
		fmt.Sprintf("Deposit %s was accepted: %d object(s)", b.ID, b.Listing.Rows),
		fmt.Sprintf("Your deposit for %s was accepted as batch %s.\nIt lists %d object(s). You will get a report when all of them are done.\n",
			p.Collection, b.ID, b.Listing.Rows))
	if err != nil {
		return release(err)
	}
	return nextBatch(domain.StartBatch{Mailed: note})
}

// mailReport mails the report if the profile wants it: one mail for each report,
// however often the step runs.
func (s *steps) mailReport(ctx context.Context, t *BatchTask, r report.Body) (*domain.NoteDelivery, error) {
	p, err := s.cfg.Profiles.Get(t.Batch.Submission.ProfileName)
	if err != nil && !profile.Missing(err) {
		return nil, err
	}
	if err != nil {
		// The addresses are in the profile; the report itself is kept.
		t.Log.Warn("no report mail can be sent without the profile", "error", err)
		return nil, nil //nolint:nilerr // logged, and no reason to stop the report
	}
	// A batch is reported once, and updated once after each report: these keys stay
	// the same whatever else is noted about the batch meanwhile.
	about, key := delivery.Report, string(r.Batch)+"/"+delivery.Report
	if t.Batch.State == domain.BatchUpdateReporting && t.Batch.Report != nil {
		about, key = delivery.Update, fmt.Sprintf("%s/%s/%.16s", r.Batch, delivery.Update, t.Batch.Report.ReportSHA256)
	}
	return s.mail(ctx, p, profile.MailReport, record.Message{
		Key: key, About: about, Batch: r.Batch}, report.Subject(r), report.Text(p, r))
}

// mail sends one message and records its result. A mail that cannot be sent never stops
// a batch; the error is one of the records. The result is nil if the profile does not
// want such a mail.
func (s *steps) mail(ctx context.Context, p Profile, kind profile.Mail, m record.Message, subject, text string) (*domain.NoteDelivery, error) {
	if !p.Notify.Wants(kind) {
		return nil, nil
	}
	m.Channel, m.Recipients = record.ChannelMail, p.Notify.To
	sent, err := delivery.Make(ctx, s.cfg.Records, "mail/send", m, func(d record.Delivery) error {
		if s.cfg.Mail == nil {
			return errors.New("no mail drop is configured")
		}
		return s.cfg.Mail.Send(ctx, delivery.Mail{Key: m.Key, From: p.Notify.From, To: m.Recipients, Subject: subject, Text: text, Date: d.CreatedAt.Time})
	}, nil)
	note := delivery.NoteOf(m, sent.Failure)
	return &note, err
}
