// Package daily mails the operators once a day what is inconsistent, late or waits for a
// person. The mail comes also when nothing does: one that is missing says that something is
// wrong with the service.
package daily

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// Records are the mails, and who sends them.
type Records interface {
	delivery.Records
	Delivery(ctx context.Context, key string) (record.Delivery, error)
	LeadDaily(ctx context.Context) (release func(), leads bool, err error)
}

// Mailer sends the mails. One process at a time does; all fields are required.
type Mailer struct {
	Records  Records
	Mail     delivery.Mailer
	Instance string // the name of the installation
	From     string
	To       []string
	At       time.Duration // after midnight in UTC
	// Look returns what there is to say. What a server does not answer is a line of it.
	Look  func(ctx context.Context) Day
	Clock func() time.Time
	Log   *slog.Logger
}

// look is how often a mailer looks whether a mail is due, and whether it may send: the clock of
// the machine may be set, and another process may end.
const look = time.Minute

// Run sends the mail of each day until ctx ends.
func (m *Mailer) Run(ctx context.Context) error {
	for {
		if err := m.Once(ctx); err != nil && ctx.Err() == nil {
			m.Log.Warn("the daily mail cannot be sent; it is tried again", "error", err)
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once sends the mail that was due last, unless it was sent or another process does.
func (m *Mailer) Once(ctx context.Context) error {
	due := m.due(m.Clock())
	message := record.Message{Key: m.Instance + "/daily/" + due.Format("2006-01-02T15:04"), Channel: record.ChannelMail, About: delivery.Daily, Recipients: m.To}
	if sent, err := m.sent(ctx, message.Key); err != nil || sent {
		return err
	}
	release, leads, err := m.Records.LeadDaily(ctx)
	if err != nil || !leads {
		return err
	}
	defer release()
	if sent, err := m.sent(ctx, message.Key); err != nil || sent {
		return err // another process has led meanwhile
	}
	day := m.Look(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	made, err := delivery.Make(ctx, m.Records, "daily/send", message, func(d record.Delivery) error {
		return m.Mail.Send(ctx, delivery.Mail{Key: message.Key, From: m.From, To: m.To, Subject: day.subject(m.Instance), Text: day.text(m.Instance, d.CreatedAt.Time), Date: d.CreatedAt.Time})
	}, nil)
	return errors.Join(err, made.Failure)
}

// due returns when the last mail was due at a time.
func (m *Mailer) due(now time.Time) time.Time {
	due := now.UTC().Truncate(24 * time.Hour).Add(m.At)
	if due.After(now) {
		due = due.AddDate(0, 0, -1)
	}
	return due
}

// sent reports whether a mail was delivered, or waits for the mail server.
func (m *Mailer) sent(ctx context.Context, key string) (bool, error) {
	d, err := m.Records.Delivery(ctx, key)
	if missing, ok := errors.AsType[*record.Error](err); ok && missing.Code == record.CodeNotFound {
		return false, nil
	}
	return d.State == record.DeliveryDelivered, err
}
