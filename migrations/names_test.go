package migrations_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/migrations"
)

// A migration of a rebuild's schemas is one statement for goose, and thus one request to
// PostgreSQL, whose commit does not wait for the disk.
func TestMigrationOfARebuildIsOneRequest(t *testing.T) {
	t.Parallel()
	files := migrations.ProjectionIn(migrations.Next)
	all, err := fs.Glob(files, "*.sql")
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	const begin, end = "-- +goose Up\n-- +goose StatementBegin\nset local synchronous_commit = off;\n", "\n-- +goose StatementEnd\n"
	for _, name := range all {
		sql, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		_, statement, found := strings.Cut(string(sql), begin)
		statement, ends := strings.CutSuffix(statement, end)
		if !found || !ends || strings.Contains(statement, "+goose") {
			t.Errorf("%s is not one statement:\n%s", name, sql)
		}
	}
}
