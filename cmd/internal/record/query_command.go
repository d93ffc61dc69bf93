package record

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/internal/crash"
)

// QueryCommand is a query that is requested under an idempotency key. The row has no answer:
// whether the query was made, the live state and the log say.
type QueryCommand struct {
	Submitter   string
	Key         string         // or its [KeyDigest], if the row was made again
	InputSHA256 string         // of what is asked; of a row that was made again see [AskedSHA256]
	Query       domain.QueryID // the id that is reserved for it
}

// AskedSHA256 returns the digest of what the event of a query says that is asked: it has no
// addresses, only how many there are.
func AskedSHA256(r asked.Request) (string, error) {
	data, err := json.Marshal([]any{r.FileName, r.Format, r.Recipients, r.ListSHA256})
	return hexSHA256(data), err
}

// QueryCommand returns what was kept under the key of who asks.
func (r *Records) QueryCommand(ctx context.Context, submitter, key string) (c QueryCommand, found bool, err error) {
	row, err := r.q.QueryCommand(ctx, pgdb.QueryCommandParams{Submitter: submitter, Keys: []string{key, KeyDigest(KeySHA256(key))}})
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

// QueryCommandsOf returns the commands that are kept of queries, by query.
func (r *Records) QueryCommandsOf(ctx context.Context, queries []domain.QueryID) (map[domain.QueryID]QueryCommand, error) {
	ids := make([]string, len(queries))
	for i, q := range queries {
		ids[i] = string(q)
	}
	rows, err := r.q.CommandsOfQueries(ctx, ids)
	all := make(map[domain.QueryID]QueryCommand, len(rows))
	for _, row := range rows {
		all[domain.QueryID(row.QueryID)] = queryCommandOf(row)
	}
	return all, wrap(err, "read the keys of", "queries")
}

// RestoreQueryCommand keeps a command whose query was made, instead of what is kept of that
// query. Its key is a [KeyDigest].
func (r *Records) RestoreQueryCommand(ctx context.Context, c QueryCommand) error {
	err := crash.Around("record/query-command/restore", func() error {
		return r.q.RestoreQueryCommand(ctx, pgdb.RestoreQueryCommandParams{Submitter: c.Submitter, Key: c.Key, InputSha256: c.InputSHA256, QueryID: string(c.Query)})
	})
	return wrap(err, "make the key again of", string(c.Query))
}

func queryCommandOf(row pgdb.RecordQueryCommand) QueryCommand {
	return QueryCommand{row.Submitter, row.Key, row.InputSha256, domain.QueryID(row.QueryID)}
}
