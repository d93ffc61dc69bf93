package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// reporting is what the flags of report say.
type reporting struct {
	app.ReportOptions
	format, table, file string
	from                string
	to                  []string
}

func (p *program) reports() *cobra.Command {
	var r reporting
	names := make([]string, 0, 8)
	for _, k := range app.ReportKinds() {
		names = append(names, k.Name)
	}
	c := &cobra.Command{
		Use:   "report NAME",
		Short: "Report on batches, files, failures, throughput",
		Long: `Make a report, as text, as a page for browsers and printers, as JSON, or as CSV for
spreadsheets, or as a mail; throughput and states also as a drawing. The reports are:
` + strings.Join(names, ", ") + `;
accession report ls explains them.

Reports are read from the tables, page by page, so that a long one needs little
memory. With --at, each tells what was known then: of one batch its events are folded,
failures, retries and submitters of all need the whole log up to there.
A CSV file has room for one table: --table chooses another than the first.
A mail is a whole one, with text and page, ready for a mail system; one about a batch
goes to those whom its profile names unless --from and --to name others.`,
		Example: `  accession report ls
  accession report batch --batch bid0000000001 --format html --out report.html
  accession report reconciliation --batch bid0000000001 --at 2026-03-01T12:00
  accession report retries --since 7d --format csv > retries.csv
  accession report throughput --since 30d --format png --out throughput.png
  accession report batch --batch bid0000000001 --format mail | sendmail -t
  accession report failures --since 1d --format mail --from accession@example.org --to team@example.org | sendmail -t`,
		ValidArgs: names,
		Args:      exactly("the name of a report"),
		PreRunE: func(c *cobra.Command, _ []string) error {
			return r.check(p, c.CommandPath())
		},
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.report1(ctx, a, args[0], r) })
		}),
	}
	flags := c.Flags()
	flags.StringVar(&r.format, "format", "", "`FORMAT`: "+strings.Join(export.ReportFormats, ", ")+" (default: as -o says)")
	flags.StringVar((*string)(&r.Batch), "batch", "", "only this `BATCH`")
	flags.Var(&whenFlag{at: &r.Since}, "since", "from this `TIME` on ("+whenHelp+")")
	flags.Var(&whenFlag{at: &r.Until}, "until", "until before this `TIME`")
	atFlag(c, &r.At)
	flags.StringVar(&r.table, "table", "", "which `TABLE` of the report a CSV file has (default: the first)")
	flags.StringVar(&r.from, "from", "", "`ADDRESS` that a mail comes from")
	flags.StringArrayVar(&r.to, "to", nil, "`ADDRESS` that a mail goes to; may be given several times")
	flags.StringVar(&r.file, "out", "", "write to this `FILE`, which is there only when it is complete")
	c.AddCommand(p.reportLs())
	return c
}

func (r *reporting) check(p *program, command string) error {
	if r.format == "" {
		r.format = map[string]string{"table": export.FormatText, "json": export.FormatJSON}[p.output]
	}
	if err := oneOf(command, "--format", r.format, export.ReportFormats); err != nil {
		return err
	}
	if r.Batch != "" {
		if _, err := domain.ParseBatchID(string(r.Batch)); err != nil {
			return &usageError{err, command}
		}
	}
	switch mail := r.format == export.FormatMail; {
	case !mail && (r.from != "" || len(r.to) > 0):
		return &usageError{errors.New("--from and --to are for --format mail"), command}
	case (r.from == "") != (len(r.to) == 0), mail && r.from == "" && r.Batch == "":
		return &usageError{errors.New("a mail needs --from and --to; one about a batch has them from its profile"), command}
	case r.table != "" && r.format != export.FormatCSV:
		return &usageError{errors.New("--table is for --format csv: all others have all tables"), command}
	case r.format == export.FormatPNG && r.file == "" && p.Terminal:
		return &usageError{errors.New("a picture is nothing for a terminal: name a file with --out"), command}
	}
	return nil
}

// report1 makes one report.
func (p *program) report1(ctx context.Context, a *app.App, name string, r reporting) error {
	kinds := app.ReportKinds()
	i := slices.IndexFunc(kinds, func(k app.ReportKind) bool { return k.Name == name })
	if i >= 0 && !kinds[i].Plot && (r.format == export.FormatSVG || r.format == export.FormatPNG) {
		return &usageError{fmt.Errorf("the report %s has no drawing", name), "accession report"}
	}
	report, err := a.Report(ctx, name, r.ReportOptions)
	if err != nil {
		return err
	}
	defer report.Close()
	if r.format == export.FormatMail && r.from == "" {
		if r.from, r.to, err = a.MailAddresses(ctx, r.Batch); err != nil {
			return err
		}
	}
	total := uint64(0)
	for _, t := range report.Tables {
		total += uint64(t.Total)
	}
	if r.format == export.FormatCSV {
		t, err := export.TableOf(report, r.table)
		if err != nil {
			return &usageError{err, "accession report"}
		}
		total = uint64(t.Total)
	}
	at, end := p.bar(ctx, r.file == "", "rows", total)
	n := uint64(0)
	write := func(w io.Writer) error {
		return export.WriteReport(w, report, export.ReportOptions{Format: r.format, Table: r.table, From: r.from, To: r.to, Made: time.Now(), Row: func() {
			n++
			at(n)
		}})
	}
	if r.file != "" {
		err = export.File(r.file, write)
	} else {
		out := bufio.NewWriterSize(p.Out, 1<<16)
		err = write(out)
		if flushed := out.Flush(); err == nil {
			err = flushed
		}
	}
	end()
	return err
}

func (p *program) reportLs() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the reports there are",
		Long:    "List the reports there are: which tell of one batch, and which can be drawn.",
		Example: "  accession report ls",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			kinds := app.ReportKinds()
			return p.show(kinds, func(w io.Writer) {
				lines := make([][]any, len(kinds))
				for i, k := range kinds {
					lines[i] = []any{k.Name, yes(k.Batch, "--batch"), yes(k.Plot, "svg, png"), k.About}
				}
				rows(w, "", []any{"report", "needs", "drawn", "about"}, lines)
			})
		},
	}
}

// yes gives a word when something is so.
func yes(is bool, word string) string {
	if is {
		return word
	}
	return ""
}
