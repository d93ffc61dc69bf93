package queries

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/text"
)

// Mail is the mail with the report of a query, and how far it came.
type Mail struct {
	record.Standing
	Recipients  int         `json:"recipients"` // how many; addresses are not shown
	Attempts    int         `json:"attempts"`
	Error       string      `json:"error,omitempty"`
	DeliveredAt domain.Time `json:"delivered_at,omitzero"` // left out until it is
	Again       []Mail      `json:"sent_again,omitempty"`  // because an operator asked, oldest first
}

// mailOf returns the mail of a query, nil = the records do not have it.
func mailOf(ctx context.Context, a *app.App, id domain.QueryID) (*Mail, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	first, err := mailBy(ctx, records, lookup.MailKey(id))
	for n := 1; first != nil && err == nil; n++ {
		var again *Mail
		if again, err = mailBy(ctx, records, lookup.ReportKey(id, n)); again == nil {
			break
		}
		first.Again = append(first.Again, *again)
	}
	return first, err
}

// mailBy returns the mail with a key, nil = the records do not have it.
func mailBy(ctx context.Context, records *record.Records, key string) (*Mail, error) {
	d, err := records.Delivery(ctx, key)
	var missing *record.Error
	switch {
	case errors.As(err, &missing) && missing.Code == record.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &Mail{Standing: d.Standing(), Recipients: len(d.Recipients), Attempts: d.Attempts, Error: record.HideAddresses(d.LastError, d.Recipients), DeliveredAt: d.DeliveredAt}, nil
}

const (
	maxMail = 100 // addresses of a mail
	maxKey  = 255 // bytes of an idempotency key
)

// Wishes say who submits a query, and what report they want of it.
type Wishes struct {
	Submitter string
	Format    string   // of the report, "" = text
	Mail      []string // the addresses to which it is mailed
	// Key is the idempotency key: under one key of a submitter one query is made, however
	// often it is requested. "" = each request makes one.
	Key string
	// Sees is what the submitter may see, among which something is found; nil = everything.
	Sees *access.Filter
}

// Of returns the wishes of a user, unless they name another submitter.
func (w Wishes) Of(user string) Wishes {
	w.Submitter = cmp.Or(w.Submitter, user)
	return w
}

// check refuses what cannot be done. from is the sender of the mail.
func (w Wishes) check(from string) error {
	invalid := func(hint, format string, args ...any) error {
		return &app.Error{Kind: app.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
	}
	if w.Submitter == "" || len(w.Submitter) > intake.MaxText || !text.Valid(w.Submitter) {
		return &app.Error{Kind: app.Invalid, Err: errors.New("the submitter is empty, too long, or no text"), Hint: "name them with --submitter"}
	}
	if len(w.Key) > maxKey || !text.Valid(w.Key) || text.Line(w.Key) != w.Key {
		return invalid("use a shorter one, of text on one line", "the idempotency key is no text, or has more than %d bytes", maxKey)
	}
	for _, to := range w.Mail {
		if !profile.Address(to) || !notify.Recipient(to) {
			return invalid("write user@host without a name", "%q is not an address", text.Line(to))
		}
	}
	switch {
	case len(w.Mail) > maxMail:
		return invalid("write to fewer, or to a list", "%d addresses are more than %d", len(w.Mail), maxMail)
	case len(w.Mail) > 0 && from == "":
		return invalid("set mail_from, also where the service runs; or leave out --mail and read the report with `accession query report`", "there is no address to send mails from")
	}
	return nil
}

// keep keeps the addresses, which no event has.
func (w Wishes) keep(ctx context.Context, a *app.App, id domain.QueryID) error {
	if len(w.Mail) == 0 {
		return nil
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return err
	}
	return records.ExpectDelivery(ctx, record.Message{Key: lookup.MailKey(id), Channel: record.ChannelMail, About: "report", Recipients: w.Mail})
}
