package record

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// OutgoingMail is a mail that waits for a mail server.
type OutgoingMail struct {
	Key     string   // of its delivery
	Sender  string   // address, as the mail server is told
	To      []string // the addresses for which it waits
	Content []byte   // in the form of RFC 5322
	// Attempts is how often a mail server was asked to take it, Age since when it is kept.
	Attempts int
	Age      time.Duration
}

// MailAttempt is what one attempt to send a mail has brought.
type MailAttempt struct {
	Waiting, Taken []string // addresses
	Refused        []string // addresses with the words of the mail server
	Error          string   // why addresses still wait
	Wait           time.Duration
}

// LeadMail makes this process the only one that sends mails, until release is called; false
// when another one is.
func (r *Records) LeadMail(ctx context.Context) (release func(), leads bool, err error) {
	return r.leads.take(ctx, "accession mail")
}

// LeadDaily makes this process the only one that sends the daily mail, until release is
// called; false when another one is.
func (r *Records) LeadDaily(ctx context.Context) (release func(), leads bool, err error) {
	return r.leads.take(ctx, "accession daily mail")
}

// KeepMail keeps a mail whose delivery has begun until a mail server takes it. One that waits
// already, or was taken, stays as it is; one that no address got is tried again.
func (r *Records) KeepMail(ctx context.Context, m OutgoingMail) error {
	_, err := change("outgoing/keep", func() (none struct{}, err error) {
		return none, r.q.KeepMail(ctx, pgdb.KeepMailParams{Key: m.Key, Sender: m.Sender, Waiting: m.To, Content: m.Content})
	})
	return wrap(err, "keep the mail", m.Key)
}

// DueMails returns up to most mails whose time has come.
func (r *Records) DueMails(ctx context.Context, most int) ([]OutgoingMail, error) {
	rows, err := r.q.DueMails(ctx, int32(most)) //nolint:gosec // a small number
	mails := make([]OutgoingMail, len(rows))
	for i, row := range rows {
		mails[i] = OutgoingMail{Key: row.Key, Sender: row.Sender, To: row.Waiting, Content: row.Content, Attempts: int(row.Attempts),
			Age: time.Duration(row.Age * float64(time.Second))}
	}
	return mails, wrap(err, "find which mails are due of", "all")
}

// NextMail returns in how long the next mail is due; false = none waits.
func (r *Records) NextMail(ctx context.Context) (in time.Duration, waits bool, err error) {
	seconds, err := r.q.NextMail(ctx)
	return time.Duration(max(seconds, 0) * float64(time.Second)), seconds >= 0, wrap(err, "find when the next mail is due of", "all")
}

// EndMailAttempt keeps what an attempt has brought. When no address waits any more, the
// delivery has its end: delivered if any address got the mail, else failed.
func (r *Records) EndMailAttempt(ctx context.Context, key string, a MailAttempt) error {
	texts := func(list []string) []string {
		all := make([]string, 0, len(list)) // the table knows no null
		for _, s := range list {
			all = append(all, bounded(s))
		}
		return all
	}
	last := ""
	if a.Error != "" {
		last = bounded(a.Error)
	}
	_, err := change("outgoing/end", func() (int64, error) {
		return r.q.EndMailAttempt(ctx, pgdb.EndMailAttemptParams{Key: key, Waiting: append([]string{}, a.Waiting...), Taken: append([]string{}, a.Taken...),
			Refused: texts(a.Refused), LastError: last, Wait: a.Wait.Seconds()})
	})
	return wrap(err, "end an attempt at the mail", key)
}

// MailsWaiting returns how many mails wait for a mail server, and for how long the oldest.
func (r *Records) MailsWaiting(ctx context.Context) (n int, oldest time.Duration, err error) {
	row, err := r.q.MailsWaiting(ctx)
	return int(row.Waiting), time.Duration(row.Age * float64(time.Second)), wrap(err, "count the mails of", "all")
}
