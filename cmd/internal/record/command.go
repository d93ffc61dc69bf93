package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Command is a deposit that is requested under an idempotency key. The row has no answer:
// whether the batch was made, the live state and the log say.
type Command struct {
	Submitter   string
	Key         string         // or its [KeyDigest], if the row was made again
	InputSHA256 string         // of what is deposited, see [InputSHA256]
	Batch       domain.BatchID // the id that is reserved for it
}

// KeySHA256 returns the digest of an idempotency key that events have.
func KeySHA256(key string) string { return hexSHA256([]byte(key)) }

// KeyDigest returns what stands for a key of which only its digest is known.
func KeyDigest(keySHA256 string) string { return "sha256:" + keySHA256 }

// InputSHA256 returns the digest of what is deposited: of all that the depositor says,
// and of the content of a local file.
func InputSHA256(sub domain.Submission) (string, error) {
	sub.Received, sub.ProfileVersion = domain.Time{}, ""
	sub.SubmissionID, sub.Queue, sub.User = "", "", "" // how it came
	data, err := json.Marshal(sub)
	return hexSHA256(data), err
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Command returns what was kept under the key of a submitter.
func (r *Records) Command(ctx context.Context, submitter, key string) (c Command, found bool, err error) {
	row, err := r.q.Command(ctx, pgdb.CommandParams{Submitter: submitter, Keys: []string{key, KeyDigest(KeySHA256(key))}})
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

// CommandsOf returns the commands that are kept of batches, by batch.
func (r *Records) CommandsOf(ctx context.Context, batches []domain.BatchID) (map[domain.BatchID]Command, error) {
	ids := make([]string, len(batches))
	for i, b := range batches {
		ids[i] = string(b)
	}
	rows, err := r.q.CommandsOfBatches(ctx, ids)
	all := make(map[domain.BatchID]Command, len(rows))
	for _, row := range rows {
		all[domain.BatchID(row.BatchID)] = commandOf(row)
	}
	return all, wrap(err, "read the keys of", "batches")
}

// RestoreCommand keeps a command whose batch was made, instead of what is kept of that
// batch. Its key is a [KeyDigest].
func (r *Records) RestoreCommand(ctx context.Context, c Command) error {
	err := crash.Around("record/command/restore", func() error {
		return r.q.RestoreCommand(ctx, pgdb.RestoreCommandParams{Submitter: c.Submitter, Key: c.Key, InputSha256: c.InputSHA256, BatchID: string(c.Batch)})
	})
	return wrap(err, "make the key again of", string(c.Batch))
}

func commandOf(row pgdb.RecordCommand) Command {
	return Command{row.Submitter, row.Key, row.InputSha256, domain.BatchID(row.BatchID)}
}
