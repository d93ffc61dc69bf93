package operation

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/mails"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

// ReportShow chooses a report.
type ReportShow struct {
	Name    string    `path:"name" maxLength:"40" example:"failures" doc:"Name of the report"`
	Format  string    `query:"format" enum:"text,html,json,csv,mail,svg,png" default:"json" doc:"Format; svg and png are charts, which some reports have"`
	Table   string    `query:"table" maxLength:"60" doc:"With csv: which table; default the first"`
	From    string    `query:"from" maxLength:"256" doc:"With mail: sender; default that of the profile of the batch"`
	To      []string  `query:"to" maxItems:"100" doc:"With mail: recipients, separated by commas; default those of the profile of the batch"`
	Batch   string    `query:"batch" maxLength:"40" doc:"Only of this batch; some reports need one"`
	Dataset string    `query:"dataset" maxLength:"64" doc:"Of reconciliation: of this dataset in place of a batch"`
	Since   time.Time `query:"since" doc:"Only from this time on"`
	Until   time.Time `query:"until" doc:"Only before this time"`
	Zone    string    `query:"zone" maxLength:"64" example:"Europe/Berlin" doc:"With text, html and mail: the zone of times, by its name in the IANA time zone database; default UTC"`
	By      string    `query:"by" enum:"hour,day,week,month,year" doc:"Of ingest: rows for each such span of time; default day"`
	At
}

// permit implements naming.
func (in *ReportShow) permit(ctx context.Context, op *Operation, c *Call) error {
	if _, err := c.batch(ctx, in.Batch); err != nil {
		return err
	}
	where := ""
	switch {
	case in.Dataset != "":
		d := DatasetName{Name: in.Dataset}
		var err error
		if where, err = d.Collection(ctx, c); err != nil {
			return err
		}
	case in.Batch != "":
		return nil
	}
	if where == "" && in.past() && slices.Contains(app.SeenThen, in.Name) {
		return nil // the use case counts what the caller sees
	}
	if !c.Caller.May(op.Need, where) {
		return forbidden(op, "in "+cmp.Or(where, "all collections"))
	}
	return nil
}

// mediaTypes are those of the formats of reports.
var mediaTypes = map[string]string{export.FormatText: "text/plain; charset=utf-8", export.FormatHTML: "text/html; charset=utf-8", export.FormatJSON: "application/json",
	export.FormatCSV: "text/csv; charset=utf-8", export.FormatMail: "message/rfc822", export.FormatSVG: "image/svg+xml", export.FormatPNG: "image/png"}

// reportTypes are the media types of reports, without their parameters.
func reportTypes() (all []string) {
	for _, t := range mediaTypes {
		kind, _, _ := strings.Cut(t, ";")
		all = append(all, kind)
	}
	return all
}

// written returns what sends a report, row by row, and closes it.
func written(r app.Report, format, table string, made time.Time) send {
	return writtenAs(r, export.ReportOptions{Format: format, Table: table, Made: made})
}

func writtenAs(r app.Report, o export.ReportOptions) send {
	return func(w http.ResponseWriter, _ *http.Request) error {
		defer r.Close()
		w.Header().Set("Content-Type", mediaTypes[o.Format])
		p := &sending.Noted{W: w}
		return cmp.Or(export.WriteReport(p, r, o), p.Failed())
	}
}

func reports() []*Operation {
	return []*Operation{
		get("report.ls", "/v1/reports", "List the reports", OnSelf, false, func(context.Context, *Call, *None) (app.Page[app.ReportKind], error) {
			return Whole(app.ReportKinds(), nil)
		}),
		stream(Operation{Name: "report.show", Method: http.MethodGet, Path: "/v1/reports/{name}", Summary: "Get a report", Past: true,
			Need: access.See, On: OnNamed, Sends: reportTypes()}, func(ctx context.Context, c *Call, in *ReportShow) (send, error) {
			then, err := in.moment()
			if err != nil {
				return nil, err
			}
			batch, err := c.batch(ctx, in.Batch)
			if err != nil {
				return nil, err
			}
			mail, err := in.mail(ctx, c, batch)
			if err != nil {
				return nil, err
			}
			sees := c.Caller.Filter()
			r, err := c.App.Report(ctx, in.Name, app.ReportOptions{Range: query.Range{Since: in.Since, Until: in.Until, Batch: batch, Dataset: in.Dataset}, At: then, By: in.By, Sees: &sees})
			if err != nil {
				return nil, err
			}
			if in.Format == export.FormatCSV {
				if _, err := export.TableOf(r, in.Table); err != nil {
					r.Close()
					return nil, invalid("%v", err)
				}
			}
			return writtenAs(r, mail), nil
		}),
	}
}

// mail returns how a report is written, with the addresses if it is a mail.
func (in *ReportShow) mail(ctx context.Context, c *Call, batch domain.BatchID) (o export.ReportOptions, err error) {
	o = export.ReportOptions{Format: in.Format, Table: in.Table, Made: time.Now(), From: in.From, To: in.To}
	if o.Zone, err = export.Zone(in.Zone, in.Format); err != nil {
		return o, err
	}
	switch given := in.From != "" || len(in.To) > 0; {
	case in.Format != export.FormatMail && given:
		return o, invalid("from and to need format=mail")
	case in.Format != export.FormatMail:
	case !given && batch != "" && !c.Caller.May(access.Administer, ""):
		return o, &app.Error{Kind: app.Forbidden, What: "report.show", Err: errors.New("only administrators see the addresses of a profile"),
			Hint: "give from and to yourself, or choose another format"}
	case !given && batch != "":
		o.From, o.To, err = mails.Addresses(ctx, c.App, batch)
	case in.From == "" || len(in.To) == 0:
		return o, invalid("a mail needs from and to, or batch: then its profile has the addresses")
	}
	return o, err
}
