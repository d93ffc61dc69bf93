package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// Command is a deposit that is requested under an idempotency key. The row has no answer:
// whether the batch was made, the live state and the log say.
type Command struct {
	Submitter   string
	Key         string
	InputSHA256 string         // of what is deposited
	Batch       domain.BatchID // the id that is reserved for it
}

// Command returns what was kept under the key of a submitter.
func (r *Records) Command(ctx context.Context, submitter, key string) (c Command, found bool, err error) {
	row, err := r.q.Command(ctx, pgdb.CommandParams{Submitter: submitter, Key: key})
	if errors.Is(err, pgx.ErrNoRows) {
		return Command{}, false, nil
	}
	return commandOf(row), err == nil, wrap(err, "find the key", key)
}

// KeepCommand keeps a command before it is made, unless its key is known: what was kept
// first stays and is returned.
func (r *Records) KeepCommand(ctx context.Context, c Command) (Command, error) {
	row, err := change("command/keep", func() (pgdb.RecordCommand, error) {
		return r.q.KeepCommand(ctx, pgdb.KeepCommandParams{Submitter: c.Submitter, Key: c.Key, InputSha256: c.InputSHA256, BatchID: string(c.Batch)})
	})
	return commandOf(row), wrap(err, "keep the key", c.Key)
}

func commandOf(row pgdb.RecordCommand) Command {
	return Command{row.Submitter, row.Key, row.InputSha256, domain.BatchID(row.BatchID)}
}
