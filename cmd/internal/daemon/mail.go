package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// The subjects of mails, in deliveries and events.
const (
	aboutQueued = "queued"
	aboutReport = "report"
	aboutUpdate = "update"
)

// mailQueued starts the batch, and mails that to the depositor if the profile wants it:
// one mail a batch.
func (s *steps) mailQueued(ctx context.Context, p Profile, t *BatchTask) Outcome {
	b := t.Batch
	note, err := s.mail(ctx, p, profile.MailQueued, record.Message{Key: string(b.ID) + "/" + aboutQueued, About: aboutQueued, Batch: b.ID},
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
func (s *steps) mailReport(ctx context.Context, t *BatchTask, r ReportBody) (*domain.NoteDelivery, error) {
	p, err := s.cfg.Profiles.Get(t.Batch.Submission.ProfileName)
	if err != nil {
		// The addresses are in the profile; the report itself is kept.
		t.Log.Warn("no report mail can be sent without the profile", "error", err)
		return nil, nil //nolint:nilerr // logged, and no reason to stop the report
	}
	// A batch is reported once, and updated once after each report: these keys stay
	// the same whatever else is noted about the batch meanwhile.
	about, key := aboutReport, string(r.Batch)+"/"+aboutReport
	if t.Batch.State == domain.BatchUpdateReporting && t.Batch.Report != nil {
		about, key = aboutUpdate, fmt.Sprintf("%s/%s/%.16s", r.Batch, aboutUpdate, t.Batch.Report.ReportSHA256)
	}
	return s.mail(ctx, p, profile.MailReport, record.Message{
		Key: key, About: about, Batch: r.Batch}, reportSubject(r), reportText(p, r))
}

func reportSubject(r ReportBody) string {
	if r.Problem != nil {
		return fmt.Sprintf("Deposit %s could not be read", r.Batch)
	}
	return fmt.Sprintf("Deposit %s: %d completed, %d failed", r.Batch, r.Completed, r.Failed)
}

// mail sends one message and records its result. A mail that cannot be sent never stops
// a batch; the error is one of the records. The result is nil if the profile does not
// want such a mail.
func (s *steps) mail(ctx context.Context, p Profile, kind profile.Mail, m record.Message, subject, text string) (*domain.NoteDelivery, error) {
	if !p.Notify.Wants(kind) {
		return nil, nil
	}
	m.Channel, m.Recipients = record.ChannelMail, p.Notify.To
	sent, err := deliver(ctx, s.cfg.Records, "mail/send", m, func(d record.Delivery) error {
		if s.cfg.Mail == nil {
			return errors.New("no mail drop is configured")
		}
		return s.cfg.Mail.Send(ctx, Mail{Key: m.Key, From: p.Notify.From, To: m.Recipients, Subject: subject, Text: text, Date: d.CreatedAt.Time})
	}, nil)
	note := mailNote(m, sent.failure)
	return &note, err
}

// mailNote returns the command that notes a mail.
func mailNote(m record.Message, failure error) domain.NoteDelivery {
	note := domain.NoteDelivery{Channel: string(record.ChannelMail), About: m.About, Delivery: m.Key, Delivered: failure == nil}
	if failure != nil {
		r := reason.Of(failure, "the mail could not be sent")
		note.Reason = &r
	}
	return note
}

// delivery is the result of deliver.
type delivery struct {
	before  bool  // it was delivered by an earlier attempt, and not sent
	failure error // why it could not be sent
}

// deliver sends a message that was not delivered yet, and records the intent before and
// the result after. between, if not nil, runs before the result is recorded. The error
// is one of the records or of between.
func deliver(ctx context.Context, records Deliveries, operation string, m record.Message, send func(record.Delivery) error, between func(failure error) error) (d delivery, err error) {
	begun, err := records.BeginDelivery(ctx, m)
	if err != nil {
		return d, fmt.Errorf("record a message before it is sent: %w", err)
	}
	if begun.State == record.DeliveryDelivered {
		return delivery{before: true}, nil
	}
	d.failure = crash.Around("daemon/"+operation, func() error { return send(begun) })
	if between != nil {
		if err := between(d.failure); err != nil {
			return d, err
		}
	}
	if err := records.EndDelivery(ctx, m.Key, d.failure, true); err != nil {
		return d, fmt.Errorf("record the result of a message: %w", err)
	}
	return d, nil
}

// Limits of a mail: how many jobs of a kind it names, how many files left out of a
// job, and its length in bytes.
const (
	maxMailJobs  = 200
	maxMailFiles = 20
	maxMailBytes = 256 << 10
)

// reportText returns the report in words.
func reportText(p Profile, r ReportBody) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Report on batch %s for %s.\n\nListed %d, completed %d, failed %d, deleted %d.\n", r.Batch, p.Collection, r.Listed, r.Completed, r.Failed, r.Deleted)
	if n := len(r.Unexplained); n > 0 {
		fmt.Fprintf(&b, "%d are not accounted for; the operators know of it.\n", n)
	}
	if r.Problem != nil {
		fmt.Fprintf(&b, "\nNothing was ingested: %s (%s)\n", r.Problem.Message, r.Problem.Code)
	}
	failed := "Failed"
	if r.Kind == "update-report" {
		failed = "Unresolved"
	}
	for _, section := range []struct {
		title    string
		jobs     []ReportJob
		includes func(ReportJob) bool
	}{
		{"Not accounted for", r.Unexplained, func(ReportJob) bool { return true }},
		{failed, r.Jobs, func(j ReportJob) bool { return j.State == domain.JobFailed }},
		{"Deleted", r.Jobs, func(j ReportJob) bool { return j.State == domain.JobDeleted }},
		{"Completed since the report before", r.Jobs, func(j ReportJob) bool { return j.New }},
		{"Completed", r.Jobs, func(j ReportJob) bool { return j.State == domain.JobCompleted && !j.New }},
	} {
		n := 0
		for _, j := range section.jobs {
			if !section.includes(j) {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintf(&b, "\n%s\n", section.title)
			}
			if n > maxMailJobs || b.Len() > maxMailBytes {
				b.WriteString("  and more: see the whole report\n")
				break
			}
			j.write(&b)
		}
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// write adds the job's lines to a mail.
func (j ReportJob) write(b *strings.Builder) {
	b.WriteString(strings.TrimSuffix(fmt.Sprintf("  %s  %s  %s", j.ID, j.Name, j.Primary), "  "))
	if j.Reason != nil {
		fmt.Fprintf(b, "\n    %s: %s", j.Reason.Code, j.Reason.Message)
	}
	if n := len(j.LeftOut); n > 0 {
		fmt.Fprintf(b, "\n    made without %d files: %s", n, strings.Join(j.LeftOut[:min(n, maxMailFiles)], ", "))
		if n > maxMailFiles {
			b.WriteString(" and more")
		}
	}
	b.WriteString("\n")
}
