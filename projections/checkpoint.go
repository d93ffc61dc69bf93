package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// open finds the checkpoint, or makes it, and checks that the stream is the one
// that it tells of.
func (p *Projector) open(ctx context.Context) error {
	s := p.cfg.Stream
	p.known = nil
	crash.Point("projections/checkpoint/before-create")
	err := p.q.CreateCheckpoint(ctx, pgdb.CreateCheckpointParams{Name: p.cfg.Name, Stream: s.Name, StreamCreated: s.Created, Meaning: Meaning})
	crash.Point("projections/checkpoint/after-create")
	if err != nil {
		return fmt.Errorf("open checkpoint: %w", err)
	}
	if p.at, err = p.q.Checkpoint(ctx, p.cfg.Name); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	if p.at.Meaning != Meaning {
		return &MeaningError{Tables: p.at.Meaning}
	}
	return fits(p.at, s)
}

// Continues gives a [*StreamError] when the log is not the one that the main
// projection applied, or lost events that it applied: who writes to it now takes the
// places of others. Tables that were never filled say nothing. stream is asked after
// the checkpoint was read, so that it is the newer of both.
func Continues(ctx context.Context, db Reader, stream func(context.Context) (StreamInfo, error)) error {
	at, err := pgdb.New(db).Checkpoint(ctx, defaultName)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && at.Seq == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	s, err := stream(ctx)
	if err != nil {
		return err
	}
	s.Created = s.Created.UTC().Truncate(time.Microsecond)
	return fits(at, s)
}

// fits refuses a stream that does not go on from a checkpoint.
func fits(at pgdb.AccessionCheckpoint, s StreamInfo) error {
	switch {
	case at.Stream != s.Name:
		return &StreamError{Stream: s.Name, Seq: at.Seq, Why: "the checkpoint tells of stream " + at.Stream}
	case !at.StreamCreated.Equal(s.Created):
		return broken(at, fmt.Sprintf("it was created at %s, the stream that was applied at %s",
			s.Created.Format(time.RFC3339Nano), at.StreamCreated.UTC().Format(time.RFC3339Nano)))
	case uint64(at.Seq) > s.Last:
		return broken(at, fmt.Sprintf("it ends at %d already", s.Last))
	}
	return nil
}

func broken(at pgdb.AccessionCheckpoint, why string) error {
	return &StreamError{Stream: at.Stream, Seq: at.Seq, Why: why}
}

// after gives the checkpoint behind an event.
func after(at pgdb.AccessionCheckpoint, last domain.Recorded) pgdb.AccessionCheckpoint {
	at.Seq, at.Epoch = int64(last.Seq), last.Epoch
	at.LastEventID, at.LastCommandID = last.ID(), last.CommandID
	at.LastStored = &last.Stored
	return at
}

// fence moves the checkpoint from where this projector stands. It is the first
// statement of a transaction: the row stays locked until the commit, so that what
// is read after it cannot be another projector's half-done work. It tells how many
// events are held, and which generation of tables this is.
func fence(ctx context.Context, q *pgdb.Queries, from, to pgdb.AccessionCheckpoint) (pgdb.MoveCheckpointRow, error) {
	row, err := q.MoveCheckpoint(ctx, pgdb.MoveCheckpointParams{
		Name: from.Name, Stream: from.Stream, StreamCreated: from.StreamCreated, Meaning: Meaning,
		FromSeq: from.Seq, FromEpoch: from.Epoch,
		ToSeq: to.Seq, ToEpoch: to.Epoch, LastStored: *to.LastStored,
		LastEventID: to.LastEventID, LastCommandID: to.LastCommandID,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, ErrOtherProjector
	}
	if err != nil {
		return row, fmt.Errorf("move checkpoint: %w", err)
	}
	return row, nil
}

// Lag tells how many events the main projection is behind a log that ends at
// streamLast.
func Lag(ctx context.Context, db Reader, streamLast uint64) (int64, error) {
	seq, err := pgdb.New(db).Projected(ctx, defaultName)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("read lag of the projection: %w", err)
	}
	return max(int64(streamLast)-seq, 0), nil
}
