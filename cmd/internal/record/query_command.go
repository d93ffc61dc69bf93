package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// QueryCommand is a query that is requested under an idempotency key. The row has no answer:
// whether the query was made, the live state and the log say.
type QueryCommand struct {
	Submitter   string
	Key         string
	InputSHA256 string         // of what is asked
	Query       domain.QueryID // the id that is reserved for it
}

// QueryCommand returns what was kept under the key of who asks.
func (r *Records) QueryCommand(ctx context.Context, submitter, key string) (c QueryCommand, found bool, err error) {
	row, err := r.q.QueryCommand(ctx, pgdb.QueryCommandParams{Submitter: submitter, Key: key})
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	return queryCommandOf(row), err == nil, wrap(err, "find the key", key)
}

// KeepQueryCommand keeps a query before it is made, unless its key is known: what was kept
// first stays and is returned.
func (r *Records) KeepQueryCommand(ctx context.Context, c QueryCommand) (QueryCommand, error) {
	row, err := change("query-command/keep", func() (pgdb.RecordQueryCommand, error) {
		return r.q.KeepQueryCommand(ctx, pgdb.KeepQueryCommandParams{Submitter: c.Submitter, Key: c.Key, InputSha256: c.InputSHA256, QueryID: string(c.Query)})
	})
	return queryCommandOf(row), wrap(err, "keep the key", c.Key)
}

func queryCommandOf(row pgdb.RecordQueryCommand) QueryCommand {
	return QueryCommand{row.Submitter, row.Key, row.InputSha256, domain.QueryID(row.QueryID)}
}
