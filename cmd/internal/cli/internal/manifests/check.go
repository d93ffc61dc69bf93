package manifests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain/manifest"
)

// What becomes of a deposit for what is wrong with its manifest.
const (
	levelRefused = "refused" // the whole manifest is
	levelFails   = "fails"   // the object of this row does
	levelWarning = "warning" // it is taken, but not as it is written
)

// Checked is what is wrong with a manifest.
type Checked struct {
	OK     bool    `json:"ok"`             // nothing would be refused, and no object fail, for its manifest
	Type   string  `json:"type,omitempty"` // of the submission, as submit --type has it
	Rows   int     `json:"rows"`           // that it lists
	Faults []Fault `json:"faults"`         // in the order of what they do, then of their lines
	More   int     `json:"more,omitempty"` // warnings beside them
}

// Fault is one thing wrong with a manifest.
type Fault struct {
	Line    int    `json:"line"` // counted from 1
	Level   string `json:"level"`
	Code    string `json:"code"`
	Message string `json:"message"` // what is wrong, and what to do
}

func (e Env) check() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a manifest and report every fault",
		Long: `Check a manifest as the service does, or the standard input if FILE is -. Each fault has
its line, what is wrong, what to do, and what becomes of the deposit: it is refused, the
object of the row fails, or what is written is not taken as it stands (warning). No URL
is fetched. Exit code 1 if anything would be refused or fail.`,
		Example: "  accession manifest check maps.checkm\n  accession manifest check maps.checkm -o json | jq -r '.faults[] | [.line, .code] | @tsv'",
		Args:    flags.Exactly(1),
		RunE: e.Anywhere(func(_ context.Context, args []string) error {
			text, err := e.read(args[0])
			if err != nil {
				return err
			}
			c := Check(text)
			if err := e.Show(c, c.write); err != nil || c.OK {
				return err
			}
			return &app.Error{Kind: app.Failed, What: "check " + args[0], Err: errors.New(c.outcome()), Hint: "correct the lines that are listed, and check again"}
		}),
	}
}

// maxManifest is more than any manifest may have, in bytes: what is longer is refused for it.
const maxManifest = 65 << 20

func (e Env) read(name string) ([]byte, error) {
	from := e.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, &app.Error{Kind: app.NotFound, What: "check", Err: err, Hint: "give the file of the manifest, or - for the standard input"}
		}
		defer f.Close() //nolint:errcheck // only read
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxManifest))
	if err != nil {
		err = &app.Error{Kind: app.Failed, What: "read " + name, Err: err}
	}
	return text, err
}

// Check returns what is wrong with a manifest.
func Check(text []byte) Checked {
	c := Checked{Faults: []Fault{}}
	add := func(level string, errs ...*manifest.Error) {
		for _, e := range errs {
			c.Faults = append(c.Faults, Fault{e.Line, level, e.Code, e.Message})
		}
	}
	m, err := manifest.Parse(text, manifest.Limits{})
	if err != nil {
		all, _ := errors.AsType[manifest.Errors](err)
		add(levelRefused, all...)
		return c
	}
	c.Type, c.Rows = m.Profile.SubmissionType(), len(m.Rows)
	for i := range m.Rows {
		if fault := m.Rows[i].Fault; fault != nil {
			add(levelFails, fault)
		}
	}
	c.OK = len(c.Faults) == 0
	add(levelWarning, m.Warnings...)
	c.More = m.MoreWarnings
	return c
}

// outcome says on a line what becomes of a deposit of the manifest.
func (c Checked) outcome() string {
	faults := 0
	for _, f := range c.Faults {
		if f.Level == levelFails {
			faults++
		}
	}
	switch {
	case c.OK:
		return fmt.Sprintf("the manifest is valid: %s, %d rows", c.Type, c.Rows)
	case faults > 0 && c.Type == manifest.MrtIngest.SubmissionType():
		return "the object would fail"
	case faults > 0:
		return fmt.Sprintf("%d of %d objects would fail", faults, c.Rows)
	default:
		return "the manifest would be refused"
	}
}

func (c Checked) write(w io.Writer) {
	if len(c.Faults) > 0 {
		render.Rows(w, "", render.Row{"line", "outcome", "code", "why"}, c.Faults, func(f Fault) render.Row {
			return render.Row{f.Line, f.Level, f.Code, export.Line(f.Message)}
		})
	}
	if c.More > 0 {
		fmt.Fprintf(w, "and %d more warnings\n", c.More)
	}
	if c.OK {
		fmt.Fprintln(w, c.outcome())
	}
}
