// Package outgoing sends mails by a mail server: each is kept in the records until the server
// has taken it or will never do so.
package outgoing

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// Records are the mails that wait.
type Records interface {
	LeadMail(ctx context.Context) (release func(), leads bool, err error)
	KeepMail(ctx context.Context, m record.OutgoingMail) error
	DueMails(ctx context.Context, most int) ([]record.OutgoingMail, error)
	NextMail(ctx context.Context) (in time.Duration, waits bool, err error)
	EndMailAttempt(ctx context.Context, key string, a record.MailAttempt) error
}

// Server takes mails. The error is one with which no mail gets through.
type Server interface {
	Send(ctx context.Context, m record.OutgoingMail) ([]notify.Answer, error)
}

// Queue keeps mails for the sender. It is a [delivery.Mailer].
type Queue struct {
	Records interface {
		KeepMail(ctx context.Context, m record.OutgoingMail) error
	}
	Wake func() // the sender of this process; nil = it has none
}

// Send implements delivery.Mailer: when it returns nil, the mail is kept.
func (q Queue) Send(ctx context.Context, m delivery.Mail) error {
	content, err := m.Message().Bytes()
	if err != nil {
		return err
	}
	to := make([]string, 0, len(m.To))
	for _, a := range m.To {
		to = append(to, notify.BareAddress(a))
	}
	if err := q.Records.KeepMail(ctx, record.OutgoingMail{Key: m.Key, Sender: notify.BareAddress(m.From), To: to, Content: content}); err != nil {
		return err
	}
	if q.Wake != nil {
		q.Wake()
	}
	return nil
}

// Sender hands the mails that wait to a mail server. One process at a time sends.
type Sender struct {
	Records Records
	Server  Server
	// Delay is the pause after the first attempt of a mail that must be tried again, and of a
	// server with which nothing gets through; it doubles up to MaxDelay.
	Delay, MaxDelay time.Duration
	// GiveUp is how long a mail is tried, from when it was kept.
	GiveUp time.Duration
	Count  func(failure error) // an attempt at a mail has ended; nil = it is not counted
	Log    *slog.Logger

	once  sync.Once
	woken chan struct{}
}

// look is how often a sender looks for mails that other processes have kept, and whether it
// may send.
const look = 5 * time.Second

// page is how many mails are read at once.
const page = 20

func (s *Sender) init() { s.once.Do(func() { s.woken = make(chan struct{}, 1) }) }

// Wake lets the sender look for mails now.
func (s *Sender) Wake() {
	s.init()
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Run sends mails until ctx ends. A conversation that has begun is cut off then.
func (s *Sender) Run(ctx context.Context) error {
	s.init()
	failures := 0
	for ctx.Err() == nil {
		down, next, err := s.Once(ctx)
		switch {
		case ctx.Err() != nil: // what failed was cut off
		case err != nil:
			s.Log.Warn("cannot read or keep what is known of mails; trying again", "error", err)
			next = look
		case down != nil:
			failures++
			pause := s.pause(failures)
			s.Log.Warn("no mail gets through; all of them wait", "error", down, "pause", pause)
			wait(ctx, nil, pause) // what wakes others does not mend the server
			continue
		default:
			failures = 0
		}
		wait(ctx, s.woken, min(next, look))
	}
	return nil
}

func (s *Sender) pause(failures int) time.Duration {
	return domain.Limits{Delay: s.Delay, MaxDelay: max(s.MaxDelay, s.Delay)}.Wait(max(failures, 1))
}

// Once sends what is due, unless another process does. down is why no mail gets through, next
// in how long one is due again.
func (s *Sender) Once(ctx context.Context) (down error, next time.Duration, err error) {
	release, leads, err := s.Records.LeadMail(ctx)
	if err != nil || !leads {
		return nil, look, err
	}
	defer release()
	for {
		due, err := s.Records.DueMails(ctx, page)
		if err != nil {
			return nil, 0, err
		}
		for _, m := range due {
			if down, err = s.send(ctx, m); down != nil || err != nil {
				return down, 0, err
			}
		}
		if len(due) == 0 {
			break
		}
	}
	next, waits, err := s.Records.NextMail(ctx)
	if !waits {
		next = look
	}
	return nil, next, err
}

// send makes an attempt at one mail and keeps what it has brought.
func (s *Sender) send(ctx context.Context, m record.OutgoingMail) (down, err error) {
	answers, down := s.Server.Send(ctx, m)
	if ctx.Err() != nil && down != nil {
		return down, nil // cut off before the mail was given: nothing has happened
	}
	a := record.MailAttempt{Wait: s.pause(m.Attempts + 1)}
	if down != nil {
		a.Waiting, a.Error, a.Wait = m.To, down.Error(), 0 // the pause is that of all
	}
	for _, of := range answers {
		switch of.Outcome {
		case notify.Taken:
			a.Taken = append(a.Taken, of.To)
		case notify.Refused:
			a.Refused = append(a.Refused, of.To+": "+of.Words)
			s.Log.Warn("a mail cannot be delivered to one of its addresses", "key", m.Key, "answer", record.HideAddresses(of.Words, m.To))
		case notify.Later:
			a.Waiting, a.Error = append(a.Waiting, of.To), "the mail server answers: "+of.Words
		}
	}
	if len(a.Waiting) > 0 && m.Age >= s.GiveUp {
		for _, to := range a.Waiting {
			a.Refused = append(a.Refused, fmt.Sprintf("%s: given up after %s", to, m.Age.Round(time.Second)))
		}
		a.Waiting = nil
		s.Log.Error("a mail is given up", "key", m.Key, "after", m.Age.Round(time.Second), "error", record.HideAddresses(a.Error, m.To))
	}
	if s.Count != nil {
		s.Count(failureOf(a))
	}
	return down, s.keep(ctx, m.Key, a)
}

func failureOf(a record.MailAttempt) error {
	if len(a.Waiting) == 0 && len(a.Refused) == 0 {
		return nil
	}
	return fmt.Errorf("%d addresses without the mail", len(a.Waiting)+len(a.Refused))
}

// keepEvery is the pause between two tries to keep the result of an attempt.
const keepEvery = 200 * time.Millisecond

// keep keeps the result of an attempt. It goes on while the process lives, for a result that
// is lost is a mail that is sent again.
func (s *Sender) keep(ctx context.Context, key string, a record.MailAttempt) error {
	for {
		err := s.Records.EndMailAttempt(context.WithoutCancel(ctx), key, a)
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.Log.Warn("cannot keep the result of a mail; trying again", "key", key, "error", err)
		wait(ctx, nil, keepEvery)
	}
}

func wait(ctx context.Context, woken <-chan struct{}, d time.Duration) {
	select {
	case <-woken:
	case <-time.After(d):
	case <-ctx.Done():
	}
}
