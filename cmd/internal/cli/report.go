package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/mails"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
	"github.com/accession-ingest/accession/domain"
)

// reporting is what the flags of the command say.
type reporting struct {
	app.ReportOptions
	format, table, file string
	from                string
	to                  []string
	zone                string
}

func (p *program) reports() *cobra.Command {
	var r reporting
	var names []string
	for _, k := range app.ReportKinds() {
		names = append(names, k.Name)
	}
	c := &cobra.Command{
		Use:   "report NAME",
		Short: "Report on batches, files, failures, throughput",
		Long: `Write a report as text, HTML, JSON, CSV or mail; throughput and states also as a chart.
The reports are:
` + strings.Join(names[:6], ", ") + ",\n" + strings.Join(names[6:], ", ") + `;
` + "`accession report ls`" + ` explains them.

Reports are read from the tables and written row by row, so that long ones need little
memory. With --at, a report shows what was known then: for one batch its events are
read, for failures, retries and submitters of all batches the complete log up to then.

Times are in UTC; in text, HTML and mail in the zone that --zone names.

CSV has one table: the first, or the one that --table names. A mail is complete, with
text and HTML; a mail about a batch goes to the addresses of its profile unless --from
and --to are given.`,
		Example: `  accession report ls
  accession report batch --batch bid0000000001 --format html --out report.html
  accession report reconciliation --batch bid0000000001 --at 2026-03-01T12:00
  accession report reconciliation --dataset nights --format csv
  accession report batch --batch bid0000000001 --zone Europe/Berlin
  accession report retries --since 7d --format csv > retries.csv
  accession report throughput --since 30d --format png --out throughput.png
  accession report batch --batch bid0000000001 --format mail | sendmail -t
  accession report failures --since 1d --format mail --from accession@example.org --to team@example.org | sendmail -t`,
		ValidArgs: names,
		Args:      one("report name", anyName),
		PreRunE:   func(*cobra.Command, []string) error { return r.check(p) },
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			if d.There != nil {
				return r.fetch(ctx, p, d.There, args[0])
			}
			return r.run(ctx, p, d.Here, args[0])
		}),
	}
	c.AddCommand(p.reportLs())
	f := c.Flags()
	flags.Parsed(c, &r.format, "format", "", "`FORMAT`: "+strings.Join(export.ReportFormats, ", ")+" (default: as -o says)", flags.Optional(flags.Among(export.ReportFormats...)))
	flags.Parsed(c, &r.Batch, "batch", "", "only this `BATCH`", flags.Optional(domain.ParseBatchID))
	f.StringVar(&r.Dataset, "dataset", "", "of reconciliation: this `DATASET` in place of a batch")
	flags.Times(c, &r.Since, &r.Until)
	flags.At(c, &r.At)
	flags.Parsed(c, &r.By, "by", "", "rows for each `SPAN` of ingest: "+strings.Join(app.Spans, ", ")+" (default day)", flags.Optional(flags.Among(app.Spans...)))
	f.StringVar(&r.zone, "zone", "", "times in this `ZONE`, such as Europe/Berlin; with the formats "+strings.Join(export.Zoned, ", ")+" (default UTC)")
	f.StringVar(&r.table, "table", "", "the `TABLE` of the report that CSV has (default: the first)")
	f.StringVar(&r.from, "from", "", "sender `ADDRESS` of a mail")
	f.StringArrayVar(&r.to, "to", nil, "recipient `ADDRESS` of a mail; may be repeated")
	f.StringVar(&r.file, "out", "", flags.OutHelp)
	return c
}

func (r *reporting) check(p *program) error {
	r.format = cmp.Or(r.format, map[string]string{"table": export.FormatText, "json": export.FormatJSON}[p.output])
	switch mail := r.format == export.FormatMail; {
	case !mail && (r.from != "" || len(r.to) > 0):
		return errors.New("--from and --to need --format mail")
	case (r.from == "") != (len(r.to) == 0), mail && r.from == "" && r.Batch == "":
		return errors.New("a mail needs --from and --to, or --batch: then its profile has the addresses")
	case r.table != "" && r.format != export.FormatCSV:
		return errors.New("--table needs --format csv: the other formats have all tables")
	case r.format == export.FormatPNG && r.file == "" && p.Terminal:
		return errors.New("refusing to write an image to a terminal; use --out FILE")
	}
	_, err := export.Zone(r.zone, r.format)
	return err
}

// fetch gets one report from a service over HTTP.
func (r *reporting) fetch(ctx context.Context, p *program, there *remote.Server, name string) error {
	in := &operation.ReportShow{Name: name, Format: r.format, Table: r.table, From: r.from, To: r.to, Batch: string(r.Batch), Dataset: r.Dataset, Since: r.Since, Until: r.Until, Zone: r.zone, By: r.By, At: at(r.At)}
	return p.write(r.file, func(w io.Writer) error { return there.Fetch(ctx, "report.show", in, nil, w) })
}

// run makes one report.
func (r *reporting) run(ctx context.Context, p *program, a *app.App, name string) error {
	report, err := a.Report(ctx, name, r.ReportOptions)
	if err != nil {
		return err
	}
	defer report.Close()
	if r.format == export.FormatMail && r.from == "" {
		if r.from, r.to, err = mails.Addresses(ctx, a, r.Batch); err != nil {
			return err
		}
	}
	zone, err := export.Zone(r.zone, r.format)
	if err != nil {
		return err
	}
	tables := report.Tables
	if r.format == export.FormatCSV {
		t, err := export.TableOf(report, r.table)
		if err != nil {
			return exit.Usagef("%w", err)
		}
		tables = []app.Table{t}
	}
	total, n := uint64(0), uint64(0)
	for _, t := range tables {
		total += uint64(t.Total)
	}
	written, end := p.counter(ctx, r.file == "", "rows", total)
	err = p.write(r.file, func(w io.Writer) error {
		return export.WriteReport(w, report, export.ReportOptions{Format: r.format, Table: r.table, From: r.from, To: r.to, Made: time.Now(), Zone: zone, Row: func() {
			n++
			written(n)
		}})
	})
	end()
	return err
}

func (p *program) reportLs() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the reports",
		Long:    "List the reports: which need a batch, and which have a chart.",
		Example: "  accession report ls",
		Args:    cobra.NoArgs,
		RunE: p.anywhere(func(context.Context, []string) error {
			return show(p, app.Page[app.ReportKind]{Items: app.ReportKinds()}, func(w io.Writer, kinds app.Page[app.ReportKind]) {
				render.Rows(w, "", render.Row{"report", "needs", "chart", "about"}, kinds.Items, func(k app.ReportKind) render.Row {
					needs, chart := k.Needs(), ""
					if k.Plot {
						chart = "svg, png"
					}
					return render.Row{k.Name, needs, chart, k.About}
				})
			})
		}),
	}
}
