package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// What a mail is about, as deliveries and events say it.
const (
	aboutQueued = "queued"
	aboutReport = "report"
	aboutUpdate = "update"
)

// mailQueued starts the batch, and tells the depositor if the profile says so. The
// mail is one a batch.
func (s *steps) mailQueued(ctx context.Context, p Profile, t *BatchTask) Outcome {
	b := t.Batch
	note, err := s.mail(ctx, p, profile.MailQueued, record.Message{Key: string(b.ID) + "/" + aboutQueued, About: aboutQueued, Batch: b.ID},
		fmt.Sprintf("Deposit %s was accepted: %d object(s)", b.ID, b.Listing.Rows),
		fmt.Sprintf("Your deposit for %s was accepted as batch %s.\nIt lists %d object(s). You will get a report when all of them are done.\n",
			p.Collection, b.ID, b.Listing.Rows))
	if err != nil {
		return handBack(err)
	}
	return nextBatch(domain.StartBatch{Told: note})
}

// mailReport sends the report if the profile says so: one mail for each report,
// however often the step is begun.
func (s *steps) mailReport(ctx context.Context, t *BatchTask, r ReportBody) (*domain.NoteDelivery, error) {
	p, err := s.cfg.Profiles.Get(t.Batch.Submission.ProfileName)
	if err != nil {
		// Nobody knows whom to tell; the report itself is kept.
		t.Log.Warn("no report mail can be sent without the profile", "error", err)
		return nil, nil //nolint:nilerr // told, and no reason to stop the report
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

// mail sends one message and keeps its fate. A mail that cannot be sent is noted
// and never stops a batch; only an error of the records is given. nil without
// error: no such mail is wanted.
func (s *steps) mail(ctx context.Context, p Profile, kind profile.Mail, m record.Message, subject, text string) (*domain.NoteDelivery, error) {
	if !p.Notify.Wants(kind) {
		return nil, nil
	}
	m.Channel, m.Recipients = record.ChannelMail, p.Notify.To
	d, err := s.cfg.Records.BeginDelivery(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("note a mail before it is sent: %w", err)
	}
	note := &domain.NoteDelivery{Channel: string(record.ChannelMail), About: m.About, Delivery: m.Key, Delivered: true}
	if d.State == record.DeliveryDelivered {
		return note, nil
	}
	crash.Point("daemon/mail/before-send")
	failure := errors.New("no mail drop is configured")
	if s.cfg.Mail != nil {
		failure = s.cfg.Mail.Send(ctx, Mail{Key: m.Key, From: p.Notify.From, To: m.Recipients, Subject: subject, Text: text, Date: d.CreatedAt.Time})
	}
	crash.Point("daemon/mail/after-send")
	if failure != nil {
		r := reasonOf(failure, "the mail could not be sent")
		note.Delivered, note.Reason = false, &r
	}
	if err := s.cfg.Records.EndDelivery(ctx, m.Key, failure, true); err != nil {
		return nil, fmt.Errorf("note the fate of a mail: %w", err)
	}
	return note, nil
}

// Limits of a mail: how many jobs of a kind it names, how many files left out of a
// job, and its length in bytes.
const (
	maxMailJobs  = 200
	maxMailFiles = 20
	maxMailBytes = 256 << 10
)

// reportText is the report in words.
func reportText(p Profile, r ReportBody) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Report on batch %s for %s.\n\nListed %d, completed %d, failed %d, deleted %d.\n", r.Batch, p.Collection, r.Listed, r.Completed, r.Failed, r.Deleted)
	if n := len(r.Unexplained); n > 0 {
		fmt.Fprintf(&b, "%d are not accounted for; the operators know of it.\n", n)
	}
	if r.Problem != nil {
		fmt.Fprintf(&b, "\nNothing was ingested: %s (%s)\n", r.Problem.Message, r.Problem.Code)
	}
	list := func(title string, jobs []ReportJob, include func(ReportJob) bool) {
		n := 0
		for _, j := range jobs {
			if !include(j) {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintf(&b, "\n%s\n", title)
			}
			if n > maxMailJobs || b.Len() > maxMailBytes {
				fmt.Fprintf(&b, "  and more: see the whole report\n")
				return
			}
			fmt.Fprintf(&b, "  %s  %s", j.ID, j.Name)
			if j.Primary != "" {
				fmt.Fprintf(&b, "  %s", j.Primary)
			}
			if j.Reason != nil {
				fmt.Fprintf(&b, "\n    %s: %s", j.Reason.Code, j.Reason.Message)
			}
			if n := len(j.LeftOut); n > 0 {
				fmt.Fprintf(&b, "\n    made without %d files: %s", n, strings.Join(j.LeftOut[:min(n, maxMailFiles)], ", "))
				if n > maxMailFiles {
					b.WriteString(" and more")
				}
			}
			b.WriteString("\n")
		}
	}
	section := func(title string, include func(ReportJob) bool) { list(title, r.Jobs, include) }
	failed := "Failed"
	if r.Kind == "update-report" {
		failed = "Unresolved"
	}
	list("Not accounted for", r.Unexplained, func(ReportJob) bool { return true })
	section(failed, func(j ReportJob) bool { return j.State == domain.JobFailed })
	section("Deleted", func(j ReportJob) bool { return j.State == domain.JobDeleted })
	section("Completed since the report before", func(j ReportJob) bool { return j.New })
	section("Completed", func(j ReportJob) bool { return j.State == domain.JobCompleted && !j.New })
	return strings.ToValidUTF8(b.String(), "\ufffd")
}
