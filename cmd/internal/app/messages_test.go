package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
)

// fakeMail has a report that can be sent again, or a refusal, and mails that may
// fail.
type fakeMail struct {
	*fakeLive
	refusal, failure error
	sent             int
	by               map[string]bool // commands by which the mail was delivered
}

func (w *fakeMail) Resend(_ context.Context, b domain.Batch, command string) (Resend, error) {
	made := domain.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return Resend{Key: string(b.ID) + "/again/1", Made: made, To: 2, Open: made, Sent: command != "" && w.by[command],
		Send: func(ctx context.Context, why *domain.Reason, tell func(context.Context, domain.NoteDelivery) error) (failure, err error) {
			w.sent++
			w.by = map[string]bool{command: w.failure == nil}
			return w.failure, tell(ctx, domain.NoteDelivery{Channel: "mail", About: "report", Delivered: w.failure == nil, Reason: why})
		}}, w.refusal
}

// Sending a report again leaves the batch as it is, and tells the history who asked
// and why; tried, it sends and writes nothing.
func TestSendReport(t *testing.T) {
	t.Parallel()
	mem, a := newFakeLive(t)
	w := &fakeMail{fakeLive: mem}
	a.Open = resources(w)
	ctx := t.Context()
	w.refused(NotFound, "there is no such batch", "accession report batch --batch bid0000000009 --format mail",
		func() (Changed, error) { return a.SendReport(ctx, "bid0000000009", "") })

	id, jobs := w.Started(5)
	w.refusal = &domain.Refused{Aggregate: id.Aggregate(), Command: "send", State: "processing", Code: "not_reported", Message: "its report is not made yet"}
	w.refused(Refused, "its report is not made yet", "accession batch show "+string(id), func() (Changed, error) { return a.SendReport(ctx, id, "") })
	w.refusal = &domain.Refused{Aggregate: id.Aggregate(), Command: "send", State: "completed", Code: "no_mail_address", Message: "the profile names nobody"}
	w.refused(Refused, "the profile names nobody", "name them in the profile", func() (Changed, error) { return a.SendReport(ctx, id, "") })
	w.refusal = nil

	w.Walk(jobs[0], domain.JobCompleted)
	w.Reported(id)
	same := Changed{Target: target.Of(id.Aggregate()), From: "completed", State: "completed"}
	c := w.try(a, same, "they lost it", func() (Changed, error) { return a.SendReport(ctx, id, "they lost it") })
	said := strings.Join(c.Effects, "\n")
	if w.sent != 1 || !strings.Contains(said, "the report made on 2026-03-01 12:00:00 goes to 2 address(es)") || !strings.Contains(said, "did not come to its end") {
		t.Errorf("sent %d times: %s", w.sent, said)
	}

	// One command that is repeated is one mail; what may change another version only sends none.
	key := &Command{ID: "key-1", IfVersion: w.Batch(id).State.Version}
	for range 2 {
		a.Command = &Command{ID: key.ID, IfVersion: key.IfVersion}
		if c, err := a.SendReport(ctx, id, "they lost it"); err != nil || c.Version != key.IfVersion+1 || w.sent != 2 {
			t.Errorf("%+v, %v; sent %d times", c, err, w.sent)
		}
	}
	a.Command = &Command{ID: "key-2", IfVersion: key.IfVersion}
	w.refused(Outdated, "it has version", "", func() (Changed, error) { return a.SendReport(ctx, id, "they lost it") })
	if a.Command = nil; w.sent != 2 {
		t.Error("a mail is sent about a version that is not the one that may be changed")
	}

	w.failure = errors.New("the drop is full")
	_, err := a.SendReport(ctx, id, "they lost it")
	var e *Error
	if !errors.As(err, &e) || e.Kind != Failed || !errors.Is(err, w.failure) || !strings.Contains(e.Hint, "accession batch show "+string(id)) {
		t.Errorf("%v (%+v)", err, e)
	}
}
