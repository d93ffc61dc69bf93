// Package tables holds what the projector, its readers and a rebuild share: the
// checkpoint, and the queries of each generation of tables.
package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

var (
	// ErrNotFound reports that a row is not there.
	ErrNotFound = errors.New("not in the projection")
	// ErrMoved reports that another process has moved the checkpoint.
	ErrMoved = errors.New("another projector has moved the checkpoint: run one projector for each projection")
)

// Reader is what one question needs: a pool, a connection or a transaction.
type Reader = pgdb.DBTX

// DB is what several questions, or writing, need: a pool or a connection.
type DB interface {
	Reader
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// Main is the name of the live projection's checkpoint.
const Main = "main"

// Version is the version of the rules by which this program folds events into rows. It
// is incremented when the same events lead to other rows: tables of another version
// must be rebuilt.
const Version = 5

// PartitionWidth is the number of events in a partition of the event table, as in
// accession.make_event_partitions.
const PartitionWidth = 1_000_000

// Checkpoint is the position of a projection in a log.
type Checkpoint = pgdb.AccessionCheckpoint

// Snapshot are the options of a transaction that reads the tables as they are at one
// moment.
var Snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// Writing are the options of a transaction that writes to more than one of the live
// tables: it waits while they are migrated, and a migration waits until it has ended.
var Writing = pgx.TxOptions{BeginQuery: migrations.BeginWriter}

// IdleTimeout is PostgreSQL's code for a transaction that it ended because it was idle
// for too long.
const IdleTimeout = "25P03"

// Stream describes a log. Name and Created together identify it; Last is the sequence
// of its last event when it was asked.
type Stream struct {
	Name    string
	Created time.Time
	Last    uint64
}

// Stored returns the stream as the tables hold it: PostgreSQL keeps microseconds.
func (s Stream) Stored() Stream {
	s.Created = s.Created.UTC().Truncate(time.Microsecond)
	return s
}

// Create makes the checkpoint of a stream unless it is there.
func Create(ctx context.Context, q *pgdb.Queries, name string, s Stream) error {
	return q.CreateCheckpoint(ctx, pgdb.CreateCheckpointParams{Name: name, Stream: s.Name, StreamCreated: s.Created, Meaning: Version})
}

// After returns the checkpoint after an event.
func After(at Checkpoint, last domain.Recorded) Checkpoint {
	at.Seq, at.Epoch = int64(last.Seq), last.Epoch
	at.LastEventID, at.LastCommandID = last.ID(), last.CommandID
	at.LastStored = &last.Stored
	return at
}

// Move moves the checkpoint if it is still where this projector left it, else it
// returns [ErrMoved]. The row stays locked until the commit, so that no other projector
// can write meanwhile. It returns how many events are held, and which generation of
// tables this is.
func Move(ctx context.Context, q *pgdb.Queries, from, to Checkpoint) (pgdb.MoveCheckpointRow, error) {
	row, err := q.MoveCheckpoint(ctx, pgdb.MoveCheckpointParams{
		Name: from.Name, Stream: from.Stream, StreamCreated: from.StreamCreated, Meaning: Version,
		FromSeq: from.Seq, FromEpoch: from.Epoch,
		ToSeq: to.Seq, ToEpoch: to.Epoch, LastStored: *to.LastStored,
		LastEventID: to.LastEventID, LastCommandID: to.LastCommandID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, ErrMoved
	}
	if err != nil {
		return row, fmt.Errorf("move checkpoint: %w", err)
	}
	return row, nil
}

// InUTC makes connections return times in UTC, not in the zone of this machine.
func InUTC(cfg *pgxpool.Config) {
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		return nil
	}
}
