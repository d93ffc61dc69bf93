package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// Codes of refusals to send a report again.
const (
	CodeNotReported domain.Code = "not_reported"    // it has no report, or the next one is being made
	CodeNoAddress   domain.Code = "no_mail_address" // its profile has no address
)

// Profiles finds a profile by name.
type Profiles interface {
	Get(name string) (profile.Profile, error)
}

// Resender sends kept reports once more, at an operator's request.
type Resender struct {
	Profiles Profiles
	Objects  *store.Store
	Records  Records
	Mail     Mailer
}

// Resend is a report that can be sent once more.
type Resend struct {
	Message record.Message
	Made    domain.Time // the report
	// Open is when an earlier sending under this key began whose result is not known,
	// zero = none.
	Open domain.Time
	// Tried says that the same command has asked for this mail before, and Sent that the
	// mail is delivered: there is nothing to send.
	Tried, Sent bool

	from    string
	profile profile.Profile
	body    report.Body
}

// Prepare finds the report and its recipients, and changes nothing. Until a mail is
// known to be delivered, every request sends that mail again, with the same key, and so does
// each repetition of a command with an id, "" = it has none. The error is a *domain.Refused
// when the batch has no report or its profile no address.
func (a Resender) Prepare(ctx context.Context, b domain.Batch, command string) (Resend, error) {
	refuse := func(code domain.Code, why string) (Resend, error) {
		return Resend{}, &domain.Refused{Aggregate: b.ID.Aggregate(), Command: "send the report again", State: string(b.State), Code: code,
			Message: b.ID.Aggregate().String() + " cannot have its report sent again: " + why}
	}
	if b.State == domain.BatchDeleted {
		return refuse(CodeNotReported, fmt.Sprintf("it is deleted; `accession report batch --batch %s --format mail` makes a report from the history", b.ID))
	}
	if b.Report == nil || b.State != domain.BatchCompleted && b.State != domain.BatchFailed {
		return refuse(CodeNotReported, fmt.Sprintf("it is %s, and its report is not made yet", b.State))
	}
	p, err := a.Profiles.Get(b.Submission.ProfileName)
	if err != nil {
		return Resend{}, err
	}
	if p.Notify.From == "" || len(p.Notify.To) == 0 {
		return refuse(CodeNoAddress, "the profile "+p.Name+" has no address to send to")
	}
	body, err := report.Kept(ctx, report.Reader(a.Objects), *b.Report)
	if err != nil {
		return Resend{}, fmt.Errorf("read the kept report: %w", err)
	}
	r := Resend{Made: body.Made, from: p.Notify.From, profile: p, body: body,
		Message: record.Message{Channel: record.ChannelMail, About: Report, Batch: b.ID, Recipients: p.Notify.To, Command: command}}
	if body.Kind == "update-report" {
		r.Message.About = Update
	}
	before, err := a.Records.BatchDeliveries(ctx, b.ID)
	if err != nil {
		return r, err
	}
	n := 1
	for _, d := range before {
		if strings.HasPrefix(d.Key, resendPrefix(b.ID)) && d.State == record.DeliveryDelivered {
			n++
		}
	}
	r.Message.Key = fmt.Sprint(resendPrefix(b.ID), n)
	for _, d := range before {
		if d.By(command) {
			r.Message.Key, r.Tried, r.Sent = d.Key, true, d.State == record.DeliveryDelivered
		}
	}
	for _, d := range before {
		if d.Key != r.Message.Key || d.State != record.DeliveryPending && d.State != record.DeliveryWaiting {
			continue
		}
		r.Message.Recipients = d.Recipients // the mail may be there already
		if d.State == record.DeliveryPending {
			r.Open = d.CreatedAt
		}
	}
	return r, nil
}

func resendPrefix(id domain.BatchID) string { return string(id) + "/again/" }

// Send sends the mail. It calls tell to write the result and the reason into the
// history before it writes the result to the records: if the process dies in between,
// the next request finds the mail. failure is why the mail could not be sent; err that
// its result could not be kept.
func (a Resender) Send(ctx context.Context, r Resend, why *domain.Reason, tell func(context.Context, domain.NoteDelivery) error) (failure, err error) {
	send := func(d record.Delivery) error {
		letter, err := report.LetterOf(r.profile, r.body, fmt.Sprintf("Sent again on %s. This report was made on %s.", d.CreatedAt.UTC().Format(time.RFC1123), r.Made.UTC().Format(time.RFC1123)))
		if err != nil {
			return err
		}
		letter.Subject += " (sent again)"
		return a.Mail.Send(ctx, mailOf(letter, r.Message.Key, r.from, r.Message.Recipients, d))
	}
	sent, err := Make(ctx, a.Records, "again/send", r.Message, send, func(failure error) error {
		note := NoteOf(r.Message, failure)
		switch {
		case failure == nil:
			note.Reason = why
		case why != nil:
			note.Reason.Message = reason.Bounded(note.Reason.Message + "; it was asked for because: " + why.Message)
		}
		if err := tell(ctx, note); err != nil {
			return fmt.Errorf("write a mail into the history: %w", err)
		}
		return nil
	})
	if sent.Before {
		err = errors.New("another process sent it in this moment")
	}
	return sent.Failure, err
}
