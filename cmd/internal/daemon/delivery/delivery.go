// Package delivery sends mails and makes callbacks, once each: the intent is recorded
// before, the result after.
package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Records are the mails and callbacks, with their results.
type Records interface {
	BeginDelivery(ctx context.Context, m record.Message) (record.Delivery, error)
	EndDelivery(ctx context.Context, key string, failure error, final bool) error
	BatchDeliveries(ctx context.Context, batch domain.BatchID) ([]record.Delivery, error)
}

// Mailer takes a mail for delivery. The same key twice is one mail.
type Mailer interface {
	Send(ctx context.Context, m Mail) error
}

// Mail is one mail.
type Mail struct {
	Key           string // stable over attempts
	From          string
	To            []string
	Subject, Text string
	HTML          string        // the same as a page, "" = plain text is all
	Files         []notify.File // attached
	Date          time.Time     // when it was first to be sent, the same on every attempt
}

// Message returns the mail as it is written.
func (m Mail) Message() notify.Message {
	return notify.Message{Key: m.Key, From: m.From, To: m.To, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Files: m.Files, Date: m.Date}
}

// The subjects of mails, in deliveries and events.
const (
	Queued = "queued"
	Report = "report"
	Update = "update"
	Daily  = "daily" // to operators, about no batch
)

// NoteOf returns the command that notes a mail.
func NoteOf(m record.Message, failure error) domain.NoteDelivery {
	note := domain.NoteDelivery{Channel: string(record.ChannelMail), About: m.About, Delivery: m.Key, Delivered: failure == nil}
	if failure != nil {
		r := reason.Of(failure, "the mail could not be sent")
		note.Reason = &r
	}
	return note
}

// Delivery is the result of Make.
type Delivery struct {
	Before  bool  // it was delivered by an earlier attempt, and not sent
	Failure error // why it could not be sent
}

// Make sends a message that was not delivered yet, and records the intent before and
// the result after. between, if not nil, runs before the result is recorded. The error
// is one of the records or of between.
func Make(ctx context.Context, records Records, operation string, m record.Message, send func(record.Delivery) error, between func(failure error) error) (d Delivery, err error) {
	begun, err := records.BeginDelivery(ctx, m)
	if err != nil {
		return d, fmt.Errorf("record a message before it is sent: %w", err)
	}
	if begun.State == record.DeliveryDelivered {
		return Delivery{Before: true}, nil
	}
	d.Failure = crash.Around("daemon/"+operation, func() error { return send(begun) })
	if between != nil {
		if err := between(d.Failure); err != nil {
			return d, err
		}
	}
	if err := records.EndDelivery(ctx, m.Key, d.Failure, true); err != nil {
		return d, fmt.Errorf("record the result of a message: %w", err)
	}
	return d, nil
}

// Repeated are deliveries of which failed ones are sent again.
type Repeated struct {
	Records
	More func(failure error) bool // reports whether another attempt follows
}

// EndDelivery implements Records.
func (r Repeated) EndDelivery(ctx context.Context, key string, failure error, final bool) error {
	return r.Records.EndDelivery(ctx, key, failure, final && !r.More(failure))
}
