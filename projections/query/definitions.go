package query

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// definitions are what the migrations make, as [Definitions] returns them, one a line.
//
//go:embed definitions.txt
var definitions string

// schemas are those that the migrations make.
var schemas = []string{"accession", "report", "record"}

// Definitions returns the columns of the tables and views of the database, such as
// "report.batch id text", and its functions, such as "report.batch_at (batch text, moment
// bigint)".
func Definitions(ctx context.Context, db Reader) ([]string, error) {
	rows, err := pgdb.New(db).Definitions(ctx, schemas)
	if err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r.Thing + " " + r.Part
	}
	return all, nil
}

// Missing is a table, view or function that lacks something.
type Missing struct {
	Name  string   // such as report.batch_at
	Parts []string // columns with their types, or the arguments of a function
}

// MissingDefinitions returns what the migrations make and the database lacks. What it has
// besides, as after a later migration, is not of interest.
func MissingDefinitions(ctx context.Context, db Reader) (missing []Missing, err error) {
	all, err := Definitions(ctx, db)
	if err != nil {
		return nil, err
	}
	have := make(map[string]bool, len(all))
	for _, d := range all {
		have[d] = true
	}
	for want := range strings.Lines(definitions) {
		want = strings.TrimSuffix(want, "\n")
		if have[want] {
			continue
		}
		name, part, _ := strings.Cut(want, " ")
		if last := len(missing) - 1; last >= 0 && missing[last].Name == name {
			missing[last].Parts = append(missing[last].Parts, part)
		} else {
			missing = append(missing, Missing{name, []string{part}})
		}
	}
	return missing, nil
}
