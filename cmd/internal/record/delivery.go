package record

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Channel is the way that a message takes.
type Channel string

// The channels.
const (
	ChannelMail     Channel = "mail"
	ChannelCallback Channel = "callback"
)

// DeliveryState is the fate of a message.
type DeliveryState string

// The fates of a message.
const (
	DeliveryPending   DeliveryState = "pending"   // not there yet
	DeliveryDelivered DeliveryState = "delivered" // it arrived
	DeliveryFailed    DeliveryState = "failed"    // given up; it may be sent again
)

// maxSentence bounds the text of a kept error, in bytes.
const maxSentence = 2048

// Message is something to be told to somebody outside.
type Message struct {
	Key        string         `json:"key"` // the same on every attempt; receivers see it
	Channel    Channel        `json:"channel"`
	About      string         `json:"about"` // queued, report, update or job
	Batch      domain.BatchID `json:"batch_id"`
	Job        domain.JobID   `json:"job_id"`     // "" = about the whole batch
	Recipients []string       `json:"recipients"` // never goes into an event
}

// Delivery is a message and how far it came.
type Delivery struct {
	Message
	State         DeliveryState `json:"state"`
	Attempts      int           `json:"attempts"` // this one included
	LastError     string        `json:"last_error"`
	CreatedAt     domain.Time   `json:"created_at"`
	LastAttemptAt domain.Time   `json:"last_attempt_at"`
	DeliveredAt   domain.Time   `json:"delivered_at"`
}

// BeginDelivery notes an attempt to deliver a message. If the answer says
// delivered, it must not be sent again.
func (r *Records) BeginDelivery(ctx context.Context, m Message) (Delivery, error) {
	recipients := m.Recipients
	if recipients == nil {
		recipients = []string{}
	}
	crash.Point("record/delivery/before-begin")
	row, err := r.q.BeginDelivery(ctx, pgdb.BeginDeliveryParams{
		Key: m.Key, Channel: string(m.Channel), About: m.About, BatchID: string(m.Batch), JobID: string(m.Job), Recipients: recipients,
	})
	crash.Point("record/delivery/after-begin")
	if err != nil {
		return Delivery{}, wrap(err, "begin delivery", m.Key)
	}
	return deliveryOf(row), nil
}

// EndDelivery notes what came of the attempt: failure nil = it arrived. final
// says that it is given up. What has arrived once stays delivered.
func (r *Records) EndDelivery(ctx context.Context, key string, failure error, final bool) error {
	const op = "end delivery"
	arg := pgdb.EndDeliveryParams{Key: key, Final: final}
	if failure != nil {
		arg.LastError = sentence(failure)
	}
	crash.Point("record/delivery/before-end")
	n, err := r.q.EndDelivery(ctx, arg)
	crash.Point("record/delivery/after-end")
	if err == nil && n == 0 {
		_, err = r.Delivery(ctx, key)
	}
	return wrap(err, op, key)
}

// sentence makes an error's text fit for PostgreSQL, which takes neither broken
// UTF-8 nor NUL: servers of others are quoted in it.
func sentence(err error) string {
	s := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "�"), "\x00", "�")
	if s == "" {
		return "failed without a reason"
	}
	if len(s) > maxSentence {
		s = strings.ToValidUTF8(s[:maxSentence], "") + " …"
	}
	return s
}

// Delivery gives one message; CodeNotFound when it was never begun.
func (r *Records) Delivery(ctx context.Context, key string) (Delivery, error) {
	const op = "read delivery"
	row, err := r.q.Delivery(ctx, key)
	if errors.Is(err, pgx.ErrNoRows) {
		return Delivery{}, refuse(CodeNotFound, op, key, "it was never begun")
	}
	if err != nil {
		return Delivery{}, wrap(err, op, key)
	}
	return deliveryOf(row), nil
}

// BatchDeliveries gives the messages about a batch as a whole, oldest first.
func (r *Records) BatchDeliveries(ctx context.Context, batch domain.BatchID) ([]Delivery, error) {
	rows, err := r.q.BatchDeliveries(ctx, string(batch))
	return deliveriesOf(rows), wrap(err, "read the deliveries of", string(batch))
}

// OpenDeliveries gives messages that have not arrived, oldest first.
func (r *Records) OpenDeliveries(ctx context.Context, limit int) ([]Delivery, error) {
	rows, err := r.q.OpenDeliveries(ctx, int32(min(limit, page)))
	return deliveriesOf(rows), wrap(err, "read open deliveries", "")
}

func deliveriesOf(rows []pgdb.RecordDelivery) []Delivery {
	list := make([]Delivery, len(rows))
	for i, row := range rows {
		list[i] = deliveryOf(row)
	}
	return list
}

func deliveryOf(row pgdb.RecordDelivery) Delivery {
	d := Delivery{
		Message: Message{Key: row.Key, Channel: Channel(row.Channel), About: row.About,
			Batch: domain.BatchID(row.BatchID), Job: domain.JobID(row.JobID), Recipients: row.Recipients},
		State: DeliveryState(row.State), Attempts: int(row.Attempts), LastError: row.LastError, CreatedAt: domain.At(row.CreatedAt),
	}
	if row.LastAttemptAt != nil {
		d.LastAttemptAt = domain.At(*row.LastAttemptAt)
	}
	if row.DeliveredAt != nil {
		d.DeliveredAt = domain.At(*row.DeliveredAt)
	}
	return d
}
