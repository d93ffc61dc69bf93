package answering

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Mailing mails the reports of queries.
type Mailing struct {
	From    string // "" = no mail can be sent
	Records Records
	Mail    delivery.Mailer
	// Report writes the report of an answered query.
	Report func(ctx context.Context, to io.Writer, q lookup.Query) error
}

// Records are the mails, with their addresses and results.
type Records interface {
	delivery.Records
	Delivery(ctx context.Context, key string) (record.Delivery, error)
}

// mail mails the report of a query that is about to end, one mail however often it is
// answered. A mail that cannot be sent never keeps the query from its end; the error is one
// of the records or of the object store. The result is nil if no mail was asked for.
func (m Mailing) mail(ctx context.Context, q lookup.Query) (*domain.QueryDelivery, error) {
	if q.Request.Recipients == 0 {
		return nil, nil
	}
	message := record.Message{Key: lookup.MailKey(q.ID), Channel: record.ChannelMail, About: delivery.Report}
	kept, err := m.Records.Delivery(ctx, message.Key)
	var missing *record.Error
	if err != nil && (!errors.As(err, &missing) || missing.Code != record.CodeNotFound) {
		return nil, err
	}
	message.Recipients = kept.Recipients
	letter, err := m.letter(ctx, q)
	if err != nil {
		return nil, err
	}
	sent, err := delivery.Make(ctx, m.Records, "query/send", message, func(d record.Delivery) error {
		switch {
		case m.From == "":
			return errors.New("there is no address to send from: set mail_from")
		case len(kept.Recipients) == 0:
			return errors.New("the addresses of its mail are not in the records any more")
		}
		letter.Date, letter.To = d.CreatedAt.Time, d.Recipients
		return m.Mail.Send(ctx, letter)
	}, nil)
	note := delivery.NoteOf(message, sent.Failure)
	return &domain.QueryDelivery{Delivery: note.Delivery, Delivered: note.Delivered, Reason: note.Reason}, err
}

// mediaTypes are those of reports, by their format.
var mediaTypes = map[string]string{
	asked.FormatText: "text/plain", asked.FormatCSV: "text/csv", asked.FormatJSON: "application/json", asked.FormatHTML: "text/html",
}

// letter returns the mail about the end of a query, with its report if that is not too large.
func (m Mailing) letter(ctx context.Context, q lookup.Query) (delivery.Mail, error) {
	list := cmp.Or(q.Request.FileName, "a list")
	letter := delivery.Mail{Key: lookup.MailKey(q.ID), From: m.From, Subject: fmt.Sprintf("Query %s was answered", q.ID)}
	if a := q.Answer; a == nil {
		letter.Subject = fmt.Sprintf("Query %s could not be answered", q.ID)
		letter.Text = fmt.Sprintf("Your query %s about %s could not be answered.\n%s: %s\n", q.ID, list, q.Reason.Code, q.Reason.Message)
		return letter, nil
	}
	letter.Text = fmt.Sprintf("Your query %s about %s was answered.\n%d lines = %d found + %d not found + %d wrong\n\n", q.ID, list,
		q.Request.Lines, q.Answer.Found, q.Answer.NotFound, q.Answer.Wrong)
	format := cmp.Or(q.Request.Format, asked.FormatText)
	report := bounded{most: notify.MaxAttachments}
	switch err := m.Report(ctx, &report, q); {
	case errors.Is(err, errTooLarge):
		letter.Text += fmt.Sprintf("Its report is too large for a mail. This command shows it:\n  accession query report %s --format %s\n", q.ID, format)
	case err != nil:
		return letter, fmt.Errorf("write the report: %w", err)
	default:
		name := string(q.ID) + "." + map[bool]string{true: "txt", false: format}[format == asked.FormatText]
		letter.Text += "Its report is attached as " + name + ".\n"
		letter.Files = []notify.File{{Name: name, Type: mediaTypes[format], Data: report.Bytes()}}
	}
	return letter, nil
}

var errTooLarge = errors.New("too large for a mail")

// bounded keeps what is written, up to a number of bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}
