package wire

import (
	"cmp"
	"context"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/answer"
	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/daemon/answering"
	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/query"
)

// Answering returns the service that answers queries.
func (in *Installation) Answering(ctx context.Context) (*answering.Service, error) {
	s := &answering.Service{Log: in.log.With("role", "query"), Retention: in.cfg.Retention}
	var live *LiveState
	var db query.DB
	var pool *pgxpool.Pool
	if err := openAll(ctx, into(&live, in.LiveState), into(&s.Handler, in.Handler), into(&db, in.DB), into(&pool, in.Pool), into(&s.Objects, in.Uploads)); err != nil {
		return nil, err
	}
	records := record.New(pool)
	s.Claims, s.Queues, s.Sources = live, live, answer.Sources{Tables: db, Records: records}
	s.Mailing = in.mailing(meteredRecords{records, in.metrics}, in.mailer(records))
	return s, nil
}

func (in *Installation) mailing(records answering.Records, mail delivery.Mailer) answering.Mailing {
	return answering.Mailing{From: in.cfg.MailFrom, Records: records, Mail: mail, Report: in.queryReport}
}

// resendAnswers prepares the report of a query to be mailed once more.
func (in *Installation) resendAnswers(ctx context.Context, q lookup.Query, command string) (app.Resend, error) {
	var objects *store.Store
	var records *record.Records
	if err := openAll(ctx, into(&objects, in.Uploads), into(&records, in.Records)); err != nil {
		return app.Resend{}, err
	}
	again := answering.Resender{Mailing: in.mailing(records, in.mailer(records)), Objects: objects}
	r, err := again.Prepare(ctx, q, command)
	if err != nil {
		return app.Resend{}, err
	}
	return app.Resend{Key: r.Message.Key, Made: r.Made, To: len(r.Message.Recipients), Open: r.Open, Sent: r.Sent,
		Send: func(ctx context.Context, _ *domain.Reason, note func(context.Context, domain.NoteDelivery) error) (failure, err error) {
			return again.Send(ctx, r, note)
		}}, nil
}

// queryReport writes the report of an answered query in its format: the same one, however
// often it is written.
func (in *Installation) queryReport(ctx context.Context, to io.Writer, q lookup.Query) error {
	r := queries.ReportOf(ctx, in.Uploads, q)
	defer r.Close()
	return export.WriteReport(to, r, export.ReportOptions{Format: cmp.Or(q.Request.Format, asked.FormatText), Made: q.Modified.Time})
}
