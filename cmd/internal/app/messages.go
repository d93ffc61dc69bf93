package app

import (
	"context"
	"errors"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Resend is a report that can be sent to the depositor once more.
type Resend struct {
	Key  string
	Made domain.Time // the report
	To   int         // how many addresses
	Open domain.Time // when a sending was begun whose end nobody knows, zero = none
	// Send sends it and lets tell write what came of it into the history. failure is
	// why the mail could not be sent.
	Send func(ctx context.Context, why *domain.Reason, tell func(context.Context, domain.NoteDelivery) error) (failure, err error)
}

// SendReport sends the report of a batch once more, as it was kept when it was
// made. Nothing else about the batch changes.
func (a *App) SendReport(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	c, err := a.sendReport(ctx, id, why)
	return c, explain("send the report of "+string(id), err)
}

func (a *App) sendReport(ctx context.Context, id domain.BatchID, why string) (Changed, error) {
	what := "send the report of " + string(id)
	live, err := a.Open.Live(ctx)
	if err != nil {
		return Changed{}, err
	}
	at, err := live.Batch(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such batch"),
			Hint: "one that was cleaned up is in the tables: `accession report batch --batch " + string(id) + " --format mail` makes a mail of them"}
	}
	if err != nil {
		return Changed{}, err
	}
	b := at.State
	mail, err := a.Open.Resend(ctx, b)
	if err != nil {
		return Changed{}, err
	}
	c := Changed{Subject: id.Aggregate().String(), Version: b.Version, From: string(b.State), State: string(b.State), DryRun: a.DryRun}
	c.add("the report made on %s goes to %d address(es), marked as sent again, as %s", mail.Made.UTC().Format("2006-01-02 15:04:05"), mail.To, mail.Key)
	if !mail.Open.IsZero() {
		c.add("a sending begun on %s did not come to its end: if the mail system has taken that mail, two copies with the same Message-ID arrive", mail.Open.UTC().Format("2006-01-02 15:04:05"))
	}
	tell := func(ctx context.Context, note domain.NoteDelivery) error {
		told, err := a.changeBatch(ctx, "send the report of", id, note)
		if err == nil {
			c.Version, c.From, c.State = told.Version, told.From, told.State
		}
		return err
	}
	if a.DryRun {
		return c, tell(ctx, domain.NoteDelivery{Delivery: mail.Key})
	}
	failure, err := mail.Send(ctx, because(why), tell)
	if err == nil && failure != nil {
		return c, &Error{Kind: Failed, What: what, Err: failure,
			Hint: "mend it and ask again; `accession batch show " + string(id) + "` has the fate of every mail about it"}
	}
	return c, err
}

// Message tells how far a mail about a batch came.
type Message struct {
	Delivery      string               `json:"delivery"` // its key
	About         string               `json:"about"`    // queued, report or update
	Channel       record.Channel       `json:"channel"`
	Again         bool                 `json:"sent_again"` // because an operator asked
	State         record.DeliveryState `json:"state"`
	Recipients    int                  `json:"recipients"` // how many; addresses are not shown
	Attempts      int                  `json:"attempts"`
	Error         string               `json:"error,omitempty"`
	CreatedAt     domain.Time          `json:"created_at"`
	LastAttemptAt domain.Time          `json:"last_attempt_at"`
	DeliveredAt   domain.Time          `json:"delivered_at"` // null until it is
	// What the history last told of it; "" when that is not in the tables.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Trace  string `json:"trace,omitempty"`
}

// messages lists the mails about a batch.
func (a *App) messages(ctx context.Context, db query.DB, id domain.BatchID) ([]Message, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	sent, err := records.BatchDeliveries(ctx, id)
	if err != nil {
		return nil, err
	}
	told, err := query.Messages(ctx, db, id)
	if err != nil {
		return nil, err
	}
	all := make([]Message, len(sent))
	for i, d := range sent {
		all[i] = Message{Delivery: d.Key, About: d.About, Channel: d.Channel, Again: strings.HasPrefix(d.Key, string(id)+"/again/"), State: d.State,
			Recipients: len(d.Recipients), Attempts: d.Attempts, Error: d.LastError,
			CreatedAt: d.CreatedAt, LastAttemptAt: d.LastAttemptAt, DeliveredAt: d.DeliveredAt}
		for _, e := range told {
			if e.Delivery == d.Key {
				all[i].By, all[i].Reason, all[i].Trace = e.Actor, e.Reason, e.TraceParent
			}
		}
	}
	return all, nil
}

// MailAddresses tells whom the service writes to about a batch, as its profile says.
func (a *App) MailAddresses(ctx context.Context, id domain.BatchID) (from string, to []string, err error) {
	what := "write to the depositor of " + string(id)
	db, err := a.Open.DB(ctx)
	if err != nil {
		return "", nil, explain(what, err)
	}
	b, err := query.Summary(ctx, db, id)
	if err != nil {
		return "", nil, explain(what, err)
	}
	profiles, err := a.Open.Profiles()
	if err != nil {
		return "", nil, explain(what, err)
	}
	p, err := profiles.Get(b.ProfileName)
	if err != nil {
		return "", nil, explain(what, err)
	}
	if p.Notify.From == "" || len(p.Notify.To) == 0 {
		return "", nil, &Error{Kind: Invalid, What: what, Err: errors.New("the profile " + p.Name + " names nobody"),
			Hint: "name them with --from and --to"}
	}
	return p.Notify.From, p.Notify.To, nil
}
