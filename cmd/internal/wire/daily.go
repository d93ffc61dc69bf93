package wire

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/daemon/daily"
	"github.com/accession-ingest/accession/projections/query"
)

// Daily returns what mails the operators each day, nil if no address is set.
func (in *Installation) Daily(ctx context.Context) (*daily.Mailer, error) {
	to := config.Addresses(in.cfg.DailyMail)
	if len(to) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	at, err := config.TimeOfDay(in.cfg.DailyMailAt)
	if err != nil {
		return nil, err
	}
	records, err := in.Records(ctx)
	if err != nil {
		return nil, err
	}
	return &daily.Mailer{Records: records, Mail: in.mailer(records), Instance: in.cfg.Instance, From: in.cfg.MailFrom, To: to, At: at,
		Look: in.day, Clock: time.Now, Log: in.log.With("role", "daily mail")}, nil
}

// unresolvedFor is how far back the daily mail looks for failures.
const unresolvedFor = 30 * 24 * time.Hour

// day returns what the daily mail says now.
func (in *Installation) day(ctx context.Context) (d daily.Day) {
	all := status.Of(ctx, &app.App{Open: in.Resources()})
	for _, s := range all.Servers {
		if !s.OK {
			d.Unknown = append(d.Unknown, fmt.Sprintf("%s does not answer: %s", s.Name, s.Error))
		}
	}
	for _, l := range all.Standing {
		d.Lines = append(d.Lines, daily.Line{What: l.What, Remedy: l.Remedy})
	}
	if err := in.fill(ctx, &d); err != nil && ctx.Err() == nil {
		d.Unknown = append(d.Unknown, "the tables: "+err.Error())
	}
	return d
}

// fill reads from the tables what failed, and what was done.
func (in *Installation) fill(ctx context.Context, d *daily.Day) error {
	db, err := in.DB(ctx)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	failures, err := query.Failures(ctx, db, query.Range{Since: now.Add(-unresolvedFor), Until: now})
	if err != nil {
		return err
	}
	for _, f := range failures {
		if f.Unresolved > 0 {
			d.Failures = append(d.Failures, daily.Failure{Kind: f.Kind, In: f.FailedIn, Code: f.Code, Class: f.Class, Unresolved: f.Unresolved, Last: f.LastMessage})
		}
	}
	slices.SortStableFunc(d.Failures, func(a, b daily.Failure) int { return cmp.Compare(b.Unresolved, a.Unresolved) })
	today := now.Truncate(24 * time.Hour)
	d.Done.Day = today.AddDate(0, 0, -1)
	rows, err := query.Throughput(ctx, db, query.Range{Since: d.Done.Day, Until: today})
	for _, r := range rows {
		if r.Day.Equal(d.Done.Day) {
			d.Done.Batches, d.Done.Completed, d.Done.Failed, d.Done.Files, d.Done.Bytes = r.BatchesSubmitted, r.JobsCompleted, r.JobsFailed, r.FilesDownloaded, r.BytesDownloaded
		}
	}
	return err
}
