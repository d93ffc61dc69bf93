package operation

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/mails"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// mail returns how a report is written, with the addresses if it is a mail.
func (in *ReportShow) mail(ctx context.Context, c *Call, batch domain.BatchID) (o export.ReportOptions, err error) {
	o = export.ReportOptions{Format: in.Format, Table: in.Table, Made: time.Now(), From: in.From, To: in.To}
	switch given := in.From != "" || len(in.To) > 0; {
	case in.Format != export.FormatMail && given:
		return o, invalid("from and to need format=mail")
	case in.Format != export.FormatMail:
	case !given && batch != "":
		o.From, o.To, err = mails.Addresses(ctx, c.App, batch)
	case in.From == "" || len(in.To) == 0:
		return o, invalid("a mail needs from and to, or batch: then its profile has the addresses")
	}
	return o, err
}
