package answering

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Resender mails the reports of queries once more, at an operator's request.
type Resender struct {
	Mailing
	Objects *store.Store
}

// Resend is a report that can be mailed once more.
type Resend struct {
	Message record.Message
	Made    domain.Time // the report
	// Open is when an earlier sending under this key began whose result is not known,
	// zero = none.
	Open domain.Time
	// Sent says that the same command has asked for this mail before, and that it is
	// delivered: there is nothing to send.
	Sent bool

	letter delivery.Mail
}

// Prepare finds the report of a query that has ended, as it was first mailed, and its
// recipients, and changes nothing. Until a mail is known to be delivered, every request
// sends that mail again, with the same key, and so does each repetition of a command with an
// id, "" = it has none. The error is a *[domain.Refused] if no report of the query was ever to
// be mailed.
func (r Resender) Prepare(ctx context.Context, q lookup.Query, command string) (is Resend, err error) {
	refuse := func(code domain.Code, why string) (Resend, error) {
		a := q.ID.Aggregate()
		return Resend{}, &domain.Refused{Aggregate: a, Command: "send the report again", State: string(q.State), Code: code, Message: a.String() + " cannot have its report sent again: " + why}
	}
	if !q.State.Ended() {
		return refuse(delivery.CodeNotReported, fmt.Sprintf("it is %s, and its report is not made yet", q.State))
	}
	first, begun, err := r.begun(ctx, lookup.MailKey(q.ID))
	if err != nil {
		return is, err
	}
	switch {
	case r.From == "":
		return refuse(delivery.CodeNoAddress, "there is no address to send from; set mail_from")
	case len(first.Recipients) == 0:
		return refuse(delivery.CodeNoAddress, fmt.Sprintf("no mail was asked for; `accession query report %s` writes the answers", q.ID))
	case !begun:
		return refuse(delivery.CodeNotReported, "no mail was sent at its end, because an operator ended it")
	}
	if err := r.asMailed(ctx, &q); err != nil {
		return is, fmt.Errorf("read the kept outcome: %w", err)
	}
	if is.letter, err = r.letter(ctx, q); err != nil {
		return is, err
	}
	is.Made, is.Message = q.Modified, record.Message{Channel: record.ChannelMail, About: delivery.Report, Recipients: first.Recipients, Command: command}
	for n := 1; ; n++ {
		is.Message.Key = lookup.ReportKey(q.ID, n)
		before, _, err := r.begun(ctx, is.Message.Key)
		is.Sent = before.State == record.DeliveryDelivered && before.By(command)
		if err != nil || is.Sent || before.State != record.DeliveryDelivered {
			switch before.State {
			case record.DeliveryPending:
				is.Open, is.Message.Recipients = before.CreatedAt, before.Recipients // the mail may be there already
			case record.DeliveryWaiting:
				is.Message.Recipients = before.Recipients
			}
			return is, err
		}
	}
}

// begun returns a mail, the zero value if it is not known, and whether it was ever tried to
// send it.
func (r Resender) begun(ctx context.Context, key string) (d record.Delivery, tried bool, err error) {
	d, err = r.Records.Delivery(ctx, key)
	var missing *record.Error
	if errors.As(err, &missing) && missing.Code == record.CodeNotFound {
		return record.Delivery{}, false, nil
	}
	return d, d.Attempts > 0, err
}

// asMailed sets the outcome of the query to that which was kept before the first mail. One
// that was ended by the death of its workers has none, and is mailed as it is.
func (r Resender) asMailed(ctx context.Context, q *lookup.Query) error {
	kept, err := r.Objects.Get(ctx, outcomeKey(q.ID))
	var missing *store.Error
	if errors.As(err, &missing) && missing.Code == store.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }()
	data, err := io.ReadAll(kept)
	if err != nil {
		return err
	}
	var is outcome
	if json.Unmarshal(data, &is) == nil && (is.Answer == nil) == (q.Answer == nil) && (is.Answer == nil) != (is.Reason == nil) {
		q.Answer, q.Reason, q.Modified = is.Answer, cmp.Or(is.Reason, q.Reason), is.Made
	}
	return nil
}

// Send sends the mail, marked as sent again. It calls note with the outcome before it keeps
// that in the records: if the process dies in between, the next request finds the mail.
// failure is why the mail could not be sent; err that its result could not be kept.
func (r Resender) Send(ctx context.Context, is Resend, note func(context.Context, domain.NoteDelivery) error) (failure, err error) {
	sent, err := delivery.Make(ctx, r.Records, "query/send-again", is.Message, func(d record.Delivery) error {
		letter := is.letter
		letter.Key, letter.To, letter.Date, letter.Subject = is.Message.Key, is.Message.Recipients, d.CreatedAt.Time, letter.Subject+" (sent again)"
		letter.Text = fmt.Sprintf("Sent again on %s. This report was made on %s.\n\n%s", d.CreatedAt.UTC().Format(time.RFC1123), is.Made.UTC().Format(time.RFC1123), letter.Text)
		return r.Mail.Send(ctx, letter)
	}, func(failure error) error { return note(ctx, delivery.NoteOf(is.Message, failure)) })
	if sent.Before {
		err = errors.New("another process sent it in this moment")
	}
	return sent.Failure, err
}
