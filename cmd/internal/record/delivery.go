package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
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
	DeliveryWaiting   DeliveryState = "waiting"   // kept until a mail server takes it; in the table it is pending
	DeliveryDelivered DeliveryState = "delivered" // it arrived
	DeliveryFailed    DeliveryState = "failed"    // given up; it may be sent again
)

// Standing is how far a message came, as answers have it.
type Standing struct {
	Status DeliveryState `json:"status"`
	State  DeliveryState `json:"state" deprecated:"true" doc:"The same as status"`
}

// Standing returns how far a message came.
func (d Delivery) Standing() Standing { return Standing{d.State, d.State} }

// maxSentence bounds the text of a kept error, in bytes.
const maxSentence = 2048

// Message is a mail or a callback.
type Message struct {
	Key        string         `json:"key"` // the same on every attempt; receivers see it
	Channel    Channel        `json:"channel"`
	About      string         `json:"about"` // queued, report, update or job
	Batch      domain.BatchID `json:"batch_id"`
	Job        domain.JobID   `json:"job_id"`     // "" = about the whole batch
	Recipients []string       `json:"recipients"` // never goes into an event
	Command    string         `json:"-"`          // id of the operator's command that asks for it, "" = none
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
	Commands      []string      `json:"-"` // ids of all operators' commands that asked for it
}

// By reports whether an operator's command has asked for the message before, "" = never.
func (d Delivery) By(command string) bool {
	return command != "" && slices.Contains(d.Commands, command)
}

// ExpectDelivery keeps who is to get a message that is about neither a batch nor a job,
// before its first attempt.
func (r *Records) ExpectDelivery(ctx context.Context, m Message) error {
	_, err := change("delivery/expect", func() (none struct{}, err error) {
		return none, r.q.ExpectDelivery(ctx, pgdb.ExpectDeliveryParams{Key: m.Key, Channel: string(m.Channel), About: m.About, Recipients: m.Recipients})
	})
	return wrap(err, "keep the recipients of", m.Key)
}

// BeginDelivery keeps that an attempt to deliver a message begins. If the answer is
// DeliveryDelivered, it must not be sent again.
func (r *Records) BeginDelivery(ctx context.Context, m Message) (Delivery, error) {
	recipients := m.Recipients
	if recipients == nil {
		recipients = []string{}
	}
	row, err := change("delivery/begin", func() (pgdb.RecordDelivery, error) {
		return r.q.BeginDelivery(ctx, pgdb.BeginDeliveryParams{
			Key: m.Key, Channel: string(m.Channel), About: m.About, BatchID: string(m.Batch), JobID: string(m.Job), Recipients: recipients, Command: m.Command,
		})
	})
	return deliveryOf(row), wrap(err, "begin delivery", m.Key)
}

// EndDelivery keeps the result of the attempt: failure nil = it arrived, or is kept for a
// mail server ([Records.KeepMail]), which has the last word then; final: it is given up. What
// has arrived once stays delivered.
func (r *Records) EndDelivery(ctx context.Context, key string, failure error, final bool) error {
	arg := pgdb.EndDeliveryParams{Key: key, Final: final}
	if failure != nil {
		arg.LastError = sentence(failure)
	}
	n, err := change("delivery/end", func() (int64, error) { return r.q.EndDelivery(ctx, arg) })
	if err == nil && n == 0 {
		_, err = r.Delivery(ctx, key)
	}
	return wrap(err, "end delivery", key)
}

// HideAddresses returns a text with each of some addresses by its number, from 1: a mail
// server may quote them, and those who see what became of a mail need not see them.
func HideAddresses(text string, addresses []string) string {
	for i, a := range addresses {
		if _, bare, named := strings.Cut(strings.TrimSuffix(a, ">"), "<"); named {
			a = bare
		}
		text = strings.ReplaceAll(text, a, fmt.Sprintf("address %d", i+1))
	}
	return text
}

// sentence returns an error's text as PostgreSQL takes it, without broken UTF-8 and
// NUL: it may quote servers of others.
func sentence(err error) string { return bounded(err.Error()) }

// bounded is sentence of a text.
func bounded(text string) string {
	s := strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	if s == "" {
		return "failed without a reason"
	}
	if len(s) > maxSentence {
		s = strings.ToValidUTF8(s[:maxSentence], "") + " …"
	}
	return s
}

// Delivery returns one message; CodeNotFound when it was never begun.
func (r *Records) Delivery(ctx context.Context, key string) (Delivery, error) {
	const op = "read delivery"
	row, err := r.q.Delivery(ctx, key)
	if errors.Is(err, pgx.ErrNoRows) {
		err = refuse(CodeNotFound, op, key, "it was never begun")
	}
	return shown(row.RecordDelivery, row.Waiting), wrap(err, op, key)
}

// shown returns a delivery that waits for a mail server, or does not.
func shown(row pgdb.RecordDelivery, waiting bool) Delivery {
	d := deliveryOf(row)
	if waiting && d.State == DeliveryPending {
		d.State = DeliveryWaiting
	}
	return d
}

// BatchDeliveries returns the messages about a batch as a whole, oldest first.
func (r *Records) BatchDeliveries(ctx context.Context, batch domain.BatchID) ([]Delivery, error) {
	rows, err := r.q.BatchDeliveries(ctx, string(batch))
	list := make([]Delivery, len(rows))
	for i, row := range rows {
		list[i] = shown(row.RecordDelivery, row.Waiting)
	}
	return list, wrap(err, "read the deliveries of", string(batch))
}

// BatchCallbacks returns up to most callbacks about the jobs of a batch: first those that have not
// arrived, then those that have, newest first.
func (r *Records) BatchCallbacks(ctx context.Context, batch domain.BatchID, most int32) ([]Delivery, error) {
	rows, err := r.q.OpenCallbacks(ctx, pgdb.OpenCallbacksParams{BatchID: string(batch), Most: most})
	if left := most - int32(len(rows)); err == nil && left > 0 {
		var made []pgdb.RecordDelivery
		made, err = r.q.MadeCallbacks(ctx, pgdb.MadeCallbacksParams{BatchID: string(batch), Most: left})
		rows = append(rows, made...)
	}
	list := make([]Delivery, len(rows))
	for i, row := range rows {
		list[i] = deliveryOf(row)
	}
	return list, wrap(err, "read the callbacks about", string(batch))
}

// CallbackFilter chooses callbacks about the jobs of a batch. Zero fields choose all.
type CallbackFilter struct {
	Batch        domain.BatchID
	Job          domain.JobID
	State        DeliveryState
	Since, Until time.Time // when they were first to be made
}

// Callbacks lists callbacks about the jobs of a batch, newest first: those after one with a key, "" =
// from the first on.
func (r *Records) Callbacks(ctx context.Context, f CallbackFilter, after string, limit int) ([]Delivery, error) {
	rows, err := r.q.Callbacks(ctx, pgdb.CallbacksParams{BatchID: string(f.Batch), JobID: string(f.Job), State: string(f.State),
		Since: given(f.Since), Until: given(f.Until), After: after, MaxRows: int32(limit)})
	list := make([]Delivery, len(rows))
	for i, row := range rows {
		list[i] = deliveryOf(row)
	}
	return list, wrap(err, "list the callbacks about", string(f.Batch))
}

func deliveryOf(row pgdb.RecordDelivery) Delivery {
	d := Delivery{
		Message: Message{Key: row.Key, Channel: Channel(row.Channel), About: row.About,
			Batch: domain.BatchID(row.BatchID), Job: domain.JobID(row.JobID), Recipients: row.Recipients},
		State: DeliveryState(row.State), Attempts: int(row.Attempts), LastError: row.LastError, Commands: row.Commands, CreatedAt: domain.At(row.CreatedAt),
	}
	if row.LastAttemptAt != nil {
		d.LastAttemptAt = domain.At(*row.LastAttemptAt)
	}
	if row.DeliveredAt != nil {
		d.DeliveredAt = domain.At(*row.DeliveredAt)
	}
	return d
}
