package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// MailAddresses returns the addresses of the service's mails about a batch, as its profile has
// them.
func MailAddresses(ctx context.Context, a *app.App, id domain.BatchID) (from string, to []string, err error) {
	defer app.Explained(&err, "write to the depositor of "+string(id))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return "", nil, err
	}
	b, err := query.Summary(ctx, db, id)
	if errors.Is(err, query.ErrNotFound) {
		return "", nil, &app.Error{Kind: app.NotFound, Err: errors.New("there is no such batch in the tables"), Hint: "`accession batch ls` lists them"}
	}
	if err != nil {
		return "", nil, err
	}
	profiles, err := a.ReadProfiles(ctx)
	if err != nil {
		return "", nil, err
	}
	p, err := profiles.Get(b.ProfileName)
	if err == nil && (p.Notify.From == "" || len(p.Notify.To) == 0) {
		err = &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the profile %s has no mail addresses", p.Name), Hint: "give them with --from and --to"}
	}
	return p.Notify.From, p.Notify.To, err
}

// mail returns how a report is written, with the addresses if it is a mail.
func (in *ReportShow) mail(ctx context.Context, c *Call, batch domain.BatchID) (o export.ReportOptions, err error) {
	o = export.ReportOptions{Format: in.Format, Table: in.Table, Made: time.Now(), From: in.From, To: in.To}
	switch given := in.From != "" || len(in.To) > 0; {
	case in.Format != export.FormatMail && given:
		return o, invalid("from and to need format=mail")
	case in.Format != export.FormatMail:
	case !given && batch != "":
		o.From, o.To, err = MailAddresses(ctx, c.App, batch)
	case in.From == "" || len(in.To) == 0:
		return o, invalid("a mail needs from and to, or batch: then its profile has the addresses")
	}
	return o, err
}
