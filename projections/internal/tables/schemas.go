package tables

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Queries returns the queries for the tables of a generation.
func Queries(db pgdb.DBTX, names migrations.Names) *pgdb.Queries {
	if names != migrations.Live {
		db = renaming{db, names}
	}
	return pgdb.New(db)
}

// renaming sends statements to other schemas than they are written for.
type renaming struct {
	db    pgdb.DBTX
	names migrations.Names
}

type renamedSQL struct {
	names migrations.Names
	sql   string
}

// renamedSQLs remembers what was rewritten: there are a few dozen statements.
var renamedSQLs sync.Map // renamedSQL → string

func (r renaming) rewrite(sql string) string {
	key := renamedSQL{r.names, sql}
	if known, ok := renamedSQLs.Load(key); ok {
		return known.(string)
	}
	other := r.names.Rewrite(sql)
	renamedSQLs.Store(key, other)
	return other
}

func (r renaming) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return r.db.Exec(ctx, r.rewrite(sql), args...)
}

func (r renaming) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return r.db.Query(ctx, r.rewrite(sql), args...)
}

func (r renaming) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return r.db.QueryRow(ctx, r.rewrite(sql), args...)
}
