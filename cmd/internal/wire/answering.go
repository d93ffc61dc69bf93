package wire

import (
	"cmp"
	"context"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/answer"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/daemon/answering"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/record"
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
	s.Mailing = answering.Mailing{From: in.cfg.MailFrom, Records: meteredRecords{records, in.metrics}, Mail: in.mailer(), Report: in.queryReport}
	return s, nil
}

// queryReport writes the report of an answered query in its format: the same one, however
// often it is written.
func (in *Installation) queryReport(ctx context.Context, to io.Writer, q lookup.Query) error {
	r := queries.ReportOf(ctx, in.Uploads, q)
	defer r.Close()
	return export.WriteReport(to, r, export.ReportOptions{Format: cmp.Or(q.Request.Format, asked.FormatText), Made: q.Modified.Time})
}
