package wire

import (
	"context"
	"os"
	"regexp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Daemons gives the runner of the consumer daemons with all that they need of the
// world. version is told to the servers that payloads are fetched from.
func (w *World) Daemons(ctx context.Context, version string) (*daemon.Runner, error) {
	live, err := w.Store(ctx)
	if err != nil {
		return nil, err
	}
	handler, err := w.Handler(ctx)
	if err != nil {
		return nil, err
	}
	files, err := w.FileHandler(ctx)
	if err != nil {
		return nil, err
	}
	profiles, err := w.Profiles()
	if err != nil {
		return nil, err
	}
	pool, err := w.Pool(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := w.Uploads(ctx)
	if err != nil {
		return nil, err
	}
	work, err := w.Work(ctx)
	if err != nil {
		return nil, err
	}
	client, err := w.client(ctx, version)
	if err != nil {
		return nil, err
	}
	crash.Point("wire/daemons/before-make-mail-drop")
	if err := os.MkdirAll(w.cfg.MailDir, 0o750); err != nil {
		return nil, failed("open the mail drop", err, "the setting mail_dir names it: "+w.cfg.MailDir)
	}
	crash.Point("wire/daemons/after-make-mail-drop")
	w.runner, err = daemon.New(daemon.Config{
		Handler: handler, Claims: live, Space: live, Outbox: live, Files: files, Profiles: profiles, Fetch: client, Records: meteredRecords{record.New(pool), w.metrics},
		Mail:    mailer{notify.MailDrop{Dir: w.cfg.MailDir}},
		Objects: objects, Work: work, Installation: w.cfg.Instance, Log: w.log, Meter: w.metrics, Workers: w.cfg.Workers,
		Grace: w.cfg.StopGrace, RetryDelay: w.cfg.RetryDelay, SpaceReserve: int64(w.cfg.SpaceReserve),
		SpaceCycle: w.cfg.SpaceCycle, JanitorInterval: w.cfg.JanitorInterval, Retention: w.cfg.Retention,
		ProcessingAttempts: w.cfg.MaxProcessingAttempts, HandOver: w.cfg.HandOver,
	})
	return w.runner, err
}

// Resend implements app.Effects.
func (w *World) Resend(ctx context.Context, b domain.Batch) (app.Resend, error) {
	profiles, err := w.Profiles()
	if err != nil {
		return app.Resend{}, err
	}
	objects, err := w.Uploads(ctx)
	if err != nil {
		return app.Resend{}, err
	}
	records, err := w.Records(ctx)
	if err != nil {
		return app.Resend{}, err
	}
	again := daemon.Again{Profiles: profiles, Objects: objects, Records: records, Mail: mailer{notify.MailDrop{Dir: w.cfg.MailDir}}}
	r, err := again.Prepare(ctx, b)
	if err != nil {
		return app.Resend{}, err
	}
	return app.Resend{Key: r.Message.Key, Made: r.Made, To: len(r.Message.Recipients), Open: r.Open,
		Send: func(ctx context.Context, why *domain.Reason, tell func(context.Context, domain.NoteDelivery) error) (failure, err error) {
			return again.Send(ctx, r, why, tell)
		}}, nil
}

// noToken is what a User-Agent cannot hold of a version.
var noToken = regexp.MustCompile(`[^A-Za-z0-9.+_-]`)

func (w *World) client(ctx context.Context, version string) (*fetch.Client, error) {
	return w.requests.get(ctx, func(context.Context) (*fetch.Client, error) {
		return fetch.NewClient(fetch.Config{Version: noToken.ReplaceAllString(version, "-"),
			Connect: w.cfg.FetchConnectTimeout, ResponseHeader: w.cfg.FetchResponseTimeout})
	})
}

// mailer puts the daemons' mails into the drop directory.
type mailer struct{ drop notify.MailDrop }

// Send implements daemon.Mailer.
func (m mailer) Send(_ context.Context, mail daemon.Mail) error {
	_, err := m.drop.Deliver(notify.Message{Key: mail.Key, From: mail.From, To: mail.To, Subject: mail.Subject, Text: mail.Text, Date: mail.Date})
	return err
}
