package app

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Resend is a report that can be sent to the depositor once more.
type Resend struct {
	Key         string
	Made        domain.Time // the report
	To          int         // how many addresses
	Open        domain.Time // when a sending was begun whose end is not known, zero = none
	Tried, Sent bool        // the same command has asked for this mail before; it is delivered
	// Send sends it and calls note to write the outcome into the history. failure is
	// why the mail could not be sent.
	Send func(ctx context.Context, why *domain.Reason, note func(context.Context, domain.NoteDelivery) error) (failure, err error)
}

// SendReport sends the report of a batch once more, as it was kept when it was
// made. Nothing else about the batch changes. The version that the caller knows is compared
// before the mail, and a command that is repeated is one mail.
func (a *App) SendReport(ctx context.Context, id domain.BatchID, why string) (c Changed, err error) {
	defer Explained(&err, "send the report of "+string(id))
	live, err := a.Open.Live(ctx)
	if err != nil {
		return c, err
	}
	at, err := live.Batch(ctx, id)
	if err != nil {
		return c, missing(err, "one that was cleaned up is in the tables: `accession report batch --batch "+string(id)+" --format mail` makes a mail of them", "there is no such batch")
	}
	mail, err := a.Open.Resend(ctx, at.State, a.CommandID())
	if err != nil {
		return c, err
	}
	state := string(at.State.State)
	c = Changed{Target: target.Of(id.Aggregate()), Version: at.State.Version, From: state, State: state, DryRun: a.DryRun}
	if mail.Sent {
		c.add("it was sent before by this command, as %s", mail.Key)
		return c, nil
	}
	if err := a.Meta().Outdated(at.State.Version); err != nil && !mail.Tried {
		return c, err
	}
	c.add("the report made on %s goes to %d address(es), marked as sent again, as %s", mail.Made.UTC().Format(time.DateTime), mail.To, mail.Key)
	if !mail.Open.IsZero() {
		c.add("a sending begun on %s did not come to its end: if the mail system has taken that mail, two copies with the same Message-ID arrive", mail.Open.UTC().Format(time.DateTime))
	}
	note := func(ctx context.Context, n domain.NoteDelivery) error {
		command := a.CommandID()
		if command != "" && !n.Delivered {
			command += "/failed" // it and the next try are two notes
		}
		noted, err := (&App{Open: a.Open, Actor: a.Actor, DryRun: a.DryRun, Command: &Command{ID: command}}).changeBatch(ctx, "send the report of", id, n)
		if err == nil {
			c.Version, c.From, c.State = noted.Version, noted.From, noted.State
		}
		return err
	}
	if a.DryRun {
		return c, note(ctx, domain.NoteDelivery{Delivery: mail.Key})
	}
	failure, err := mail.Send(ctx, operatorReason(why), note)
	if err == nil && failure != nil {
		err = &Error{Kind: Failed, Err: failure, Hint: "resolve it and try again; `accession batch show " + string(id) + "` has the state of every mail about it"}
	}
	return c, err
}

// Message is a mail about a batch.
type Message struct {
	Delivery string         `json:"delivery"` // its key
	About    string         `json:"about"`    // queued, report or update
	Channel  record.Channel `json:"channel"`
	Again    bool           `json:"sent_again"` // because an operator asked
	record.Standing
	Recipients    int         `json:"recipients"` // how many; addresses are not shown
	Attempts      int         `json:"attempts"`
	Error         string      `json:"error,omitempty"`
	CreatedAt     domain.Time `json:"created_at"`
	LastAttemptAt domain.Time `json:"last_attempt_at,omitzero"` // left out until it is tried
	DeliveredAt   domain.Time `json:"delivered_at,omitzero"`    // left out until it is
	// By, Reason and Trace are those of the last event about it; "" if the tables do
	// not have that event.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Trace  string `json:"trace,omitempty"`
}

// messages lists the mails about a batch.
func (a *App) messages(ctx context.Context, t *reading, id domain.BatchID) ([]Message, error) {
	noted := ask(ctx, t, query.Messages, id)
	if t.err != nil {
		return nil, t.err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	sent, err := records.BatchDeliveries(ctx, id)
	all := make([]Message, len(sent))
	for i, d := range sent {
		all[i] = Message{Delivery: d.Key, About: d.About, Channel: d.Channel, Again: strings.HasPrefix(d.Key, string(id)+"/again/"), Standing: d.Standing(),
			Recipients: len(d.Recipients), Attempts: d.Attempts, Error: record.HideAddresses(d.LastError, d.Recipients),
			CreatedAt: d.CreatedAt, LastAttemptAt: d.LastAttemptAt, DeliveredAt: d.DeliveredAt}
		for _, e := range noted {
			if e.Delivery == d.Key {
				all[i].By, all[i].Reason, all[i].Trace = e.Actor, e.Reason, e.TraceParent
			}
		}
	}
	return all, err
}

// Callback is a callback about a job of a batch.
type Callback struct {
	Delivery string `json:"delivery"` // its key, which the receiver sees
	Job      string `json:"job_id"`
	Host     string `json:"host"` // of the receiver; the rest of its URL is not shown
	record.Standing
	Attempts      int         `json:"attempts"`
	Error         string      `json:"error,omitempty"`
	CreatedAt     domain.Time `json:"created_at"`
	LastAttemptAt domain.Time `json:"last_attempt_at,omitzero"`
	DeliveredAt   domain.Time `json:"delivered_at,omitzero"` // left out until it is
}

// mostCallbacks bounds how many callbacks are shown with a batch.
const mostCallbacks = 1000

// callbacks lists up to limit callbacks about the jobs of a batch.
func (a *App) callbacks(ctx context.Context, id domain.BatchID, limit int) ([]Callback, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	made, err := records.BatchCallbacks(ctx, id, int32(min(limit, mostCallbacks)))
	all := make([]Callback, len(made))
	for i, d := range made {
		all[i] = CallbackOf(d)
	}
	return all, err
}

// CallbackOf returns a callback as it is shown, without the URL of its receiver.
func CallbackOf(d record.Delivery) Callback {
	c := Callback{Delivery: d.Key, Job: string(d.Job), Standing: d.Standing(), Attempts: d.Attempts, Error: d.LastError,
		CreatedAt: d.CreatedAt, LastAttemptAt: d.LastAttemptAt, DeliveredAt: d.DeliveredAt}
	for _, to := range d.Recipients {
		if u, err := url.Parse(to); err == nil {
			c.Host = u.Host
		}
		c.Error = strings.ReplaceAll(c.Error, to, c.Host)
	}
	return c
}
