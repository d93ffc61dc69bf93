package query

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// Rows about files. Their fields are the columns, which the database explains.
type (
	// FileRow is a row of accession.file.
	FileRow = pgdb.AccessionFile
	// FileTransition is a row of accession.file_transition.
	FileTransition = pgdb.AccessionFileTransition
	// FileCounts is a row of accession.file_count.
	FileCounts = pgdb.AccessionFileCount
)

// FileByHash returns one file, or ErrNotFound.
func FileByHash(ctx context.Context, db Reader, id domain.FileHash) (FileRow, error) {
	row, err := pgdb.New(db).File(ctx, string(id))
	return row, wrap(id.Aggregate().String(), err)
}

// FileHistory lists the changes of a file's state in their order.
func FileHistory(ctx context.Context, db Reader, id domain.FileHash) ([]FileTransition, error) {
	rows, err := pgdb.New(db).FileTransitions(ctx, string(id))
	return rows, wrap("history of "+id.Aggregate().String(), err)
}

// RetriesOfFile lists the failed attempts of one file in their order.
func RetriesOfFile(ctx context.Context, db Reader, id domain.FileHash) ([]Retry, error) {
	rows, err := pgdb.New(db).FileRetries(ctx, string(id))
	return rows, wrap("retry history of "+id.Aggregate().String(), err)
}

// CountFiles counts the files of a job or a batch by state. Without files all counts
// are 0.
func CountFiles(ctx context.Context, db Reader, of domain.Aggregate) (FileCounts, error) {
	row, err := pgdb.New(db).FileCount(ctx, of.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return FileCounts{ID: of.ID}, nil
	}
	return row, wrap("count files of "+of.String(), err)
}
