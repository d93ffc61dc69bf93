package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// again gives what sends reports of w again, with the records of w.
func (w *fixture) again() delivery.Resender {
	return delivery.Resender{Profiles: w.set, Objects: w.cfg.Objects, Records: w.records, Mail: w.mail}
}

// sendAgain sends the report of a batch again, as the command does.
func (w *fixture) sendAgain(id domain.BatchID, tell func(context.Context, domain.NoteDelivery) error) (r delivery.Resend, failure, err error) {
	w.Helper()
	if r, err = w.again().Prepare(w.Context(), w.batch(id), ""); err != nil {
		return r, nil, err
	}
	why := &domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "the depositor lost it"}
	failure, err = w.again().Send(w.Context(), r, why, tell)
	return r, failure, err
}

// The report that was kept is sent again, to the addresses that the profile has
// now, each time under a key of its own once the one before is delivered; what
// failed, or has no known end, keeps its key.
// Shows: P6
func TestReportAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	id, _ := w.mixed()
	var refused *domain.Refused
	if _, err := w.again().Prepare(t.Context(), w.batch(id), ""); !errors.As(err, &refused) || refused.Code != delivery.CodeNotReported {
		t.Fatalf("before there is a report: %v", err)
	}
	w.turn(domain.DaemonBatchReporting)
	first, before := w.mail.mails[0], w.batch(id)

	var told []domain.NoteDelivery
	tell := func(ctx context.Context, note domain.NoteDelivery) error {
		told = append(told, note)
		_, err := w.h.Batch(ctx, id, note, operator())
		return err
	}
	send := func(key string, n int) delivery.Mail {
		t.Helper()
		r, failure, err := w.sendAgain(id, tell)
		if err != nil || failure != nil || r.Message.Key != string(id)+key || len(w.mail.mails) != n || w.mail.mails[n-1].Key != r.Message.Key {
			t.Fatalf("%+v, %v, %v, %d mails", r.Message, failure, err, len(w.mail.mails))
		}
		return w.mail.mails[n-1]
	}
	m := send("/again/1", 2)
	if !strings.HasPrefix(m.Text, "Sent again on ") || !strings.HasSuffix(m.Text, "\n\n"+first.Text) || m.Subject != first.Subject+" (sent again)" || !slices.Equal(m.To, first.To) {
		t.Errorf("%+v\nfirst it was\n%+v", m, first)
	}
	if n := told[0]; !n.Delivered || n.About != delivery.Report || n.Reason.Message != "the depositor lost it" {
		t.Errorf("told %+v", n)
	}

	w.mail.fails = true
	if _, failure, err := w.sendAgain(id, tell); failure == nil || err != nil || told[1].Delivered || !strings.Contains(told[1].Reason.Message, "the mail drop is full; it was asked for because: the depositor lost it") {
		t.Errorf("%v, %v, told %+v", failure, err, told[1])
	}
	w.mail.fails = false
	p := w.set[tides]
	p.Notify.To = []string{"new@files.test"}
	w.set[tides] = p
	if m := send("/again/2", 3); !slices.Equal(m.To, p.Notify.To) {
		t.Errorf("after a failure it goes to %q", m.To)
	}

	// The history cannot be told: the same mail is asked for again, and to the same.
	away := errors.New("away")
	if _, _, err := w.sendAgain(id, func(context.Context, domain.NoteDelivery) error { return away }); !errors.Is(err, away) || len(w.mail.mails) != 4 {
		t.Fatalf("%v, %d mails", err, len(w.mail.mails))
	}
	p.Notify.To = []string{"newer@files.test"}
	w.set[tides] = p
	if r, err := w.again().Prepare(t.Context(), w.batch(id), ""); err != nil || r.Open.IsZero() {
		t.Errorf("nothing says that a sending has no end: %+v, %v", r, err)
	}
	if m := send("/again/3", 5); m.Key != w.mail.mails[3].Key || m.Text != w.mail.mails[3].Text || !slices.Equal(m.To, w.mail.mails[3].To) {
		t.Errorf("%+v, was %+v", m, w.mail.mails[3])
	}

	// A command that is repeated is one mail, delivered or not.
	ready, err := w.again().Prepare(t.Context(), w.batch(id), "key")
	if err != nil || ready.Tried || ready.Sent || ready.Message.Key != string(id)+"/again/4" {
		t.Fatalf("%+v, %v", ready, err)
	}
	for _, end := range []error{away, nil} {
		if _, err := w.again().Send(t.Context(), ready, nil, func(context.Context, domain.NoteDelivery) error { return end }); !errors.Is(err, end) {
			t.Error(err)
		}
		got, err := w.again().Prepare(t.Context(), w.batch(id), "key")
		if err != nil || !got.Tried || got.Sent != (end == nil) || got.Message.Key != ready.Message.Key {
			t.Errorf("after %v: %+v, %v", end, got, err)
		}
	}
	if other, err := w.again().Prepare(t.Context(), w.batch(id), "another key"); err != nil || other.Tried || other.Message.Key != string(id)+"/again/5" {
		t.Errorf("%+v, %v", other, err)
	}

	if b := w.batch(id); b.State != before.State || b.Report.ReportSHA256 != before.Report.ReportSHA256 || b.Reason != before.Reason {
		t.Errorf("the batch has changed: %+v", b)
	}
	all, err := w.again().Records.BatchDeliveries(t.Context(), id)
	if err != nil || len(all) != 5 || slices.ContainsFunc(all, func(d record.Delivery) bool { return d.State != record.DeliveryDelivered }) {
		t.Errorf("%+v, %v", all, err)
	}

	p.Notify.To = nil
	w.set[tides] = p
	if _, err := w.again().Prepare(t.Context(), w.batch(id), ""); !errors.As(err, &refused) || refused.Code != delivery.CodeNoAddress {
		t.Errorf("without an address: %v", err)
	}
}

// Two who ask in the same moment are one mail.
func TestReportAgainAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	id, _ := w.mixed()
	w.turn(domain.DaemonBatchReporting)
	r, err := w.again().Prepare(t.Context(), w.batch(id), "")
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(context.Context, domain.NoteDelivery) error { return nil }
	if _, failure, err := w.sendAgain(id, quiet); failure != nil || err != nil {
		t.Fatal(failure, err)
	}
	if _, err := w.again().Send(t.Context(), r, nil, quiet); err == nil || len(w.mail.mails) != 2 {
		t.Errorf("%v, %d mails", err, len(w.mail.mails))
	}
}

// A report whose profile is away when it is made is not mailed, which is told; when the profile is
// there again an operator sends it.
// Shows: P6
func TestReportWithoutItsProfile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	id, _ := w.mixed()
	p := w.set[tides]
	delete(w.set, tides)
	w.turn(domain.DaemonBatchReporting)
	all, err := w.records.BatchDeliveries(t.Context(), id)
	if b := w.batch(id); err != nil || b.State != domain.BatchFailed || b.Report == nil || len(w.mail.mails) != 0 || len(all) != 1 || all[0].Key != string(id)+"/report" ||
		all[0].State != record.DeliveryFailed || !strings.Contains(all[0].LastError, "`accession batch send-report "+string(id)+"` sends the report") {
		t.Errorf("%+v, %v, %+v, %d mails", b, err, all, len(w.mail.mails))
	}
	events := w.recorded(id.Aggregate())
	if told, ok := events[len(events)-1].Data.(*domain.BatchReported); !ok || told.Delivered || told.Reason == nil || told.Reason.Code != domain.CodeProfileUnknown || told.Reason.Class != domain.ClassSystem {
		t.Errorf("%+v", events[len(events)-1])
	}
	w.set[tides] = p
	r, failure, err := w.sendAgain(id, func(context.Context, domain.NoteDelivery) error { return nil })
	if err != nil || failure != nil || r.Message.Key != string(id)+"/again/1" || len(w.mail.mails) != 1 || !slices.Equal(w.mail.mails[0].To, p.Notify.To) {
		t.Errorf("%+v, %v, %v, %+v", r.Message, failure, err, w.mail.mails)
	}
}
