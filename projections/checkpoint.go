package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// open reads the checkpoint, or creates it, and checks that it belongs to the stream.
func (p *Projector) open(ctx context.Context) error {
	s := p.cfg.Stream
	p.lastFold = nil
	err := crash.Around("projections/checkpoint/create", func() error { return tables.Create(ctx, p.q, p.cfg.Name, s) })
	if err != nil {
		return fmt.Errorf("open checkpoint: %w", err)
	}
	if p.at, err = p.q.Checkpoint(ctx, p.cfg.Name); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	if p.at.Meaning != tables.Version {
		return &VersionError{Tables: p.at.Meaning}
	}
	return fits(p.at, s)
}

// Continues returns a [*StreamError] when the log is not the one that the main
// projection applied, or has lost events that it applied: new events would get
// sequences that others had. Tables that were never filled fit any log. stream is
// called after the checkpoint was read, so that it is the newer of the two.
func Continues(ctx context.Context, db tables.Reader, stream func(context.Context) (StreamInfo, error)) error {
	at, err := pgdb.New(db).Checkpoint(ctx, tables.Main)
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
	return fits(at, s.Stored())
}

// fits returns an error if a stream does not continue from a checkpoint.
func fits(at tables.Checkpoint, s StreamInfo) error {
	switch {
	case at.Stream != s.Name:
		return &StreamError{Stream: s.Name, Seq: at.Seq, Why: "the checkpoint belongs to stream " + at.Stream}
	case !at.StreamCreated.Equal(s.Created):
		return broken(at, fmt.Sprintf("it was created at %s, the stream that was applied at %s",
			s.Created.Format(time.RFC3339Nano), at.StreamCreated.UTC().Format(time.RFC3339Nano)))
	case uint64(at.Seq) > s.Last:
		return broken(at, fmt.Sprintf("it ends at %d already", s.Last))
	}
	return nil
}

func broken(at tables.Checkpoint, why string) error {
	return &StreamError{Stream: at.Stream, Seq: at.Seq, Why: why}
}

// Adopt lets the main projection continue with a stream that holds the same events at
// the same sequences as the one that it followed, which is lost. No projector may run.
func Adopt(ctx context.Context, db tables.Reader, s StreamInfo) error {
	_, err := pgdb.New(db).AdoptStream(ctx, pgdb.AdoptStreamParams{Name: tables.Main, Stream: s.Name, StreamCreated: s.Stored().Created})
	if err != nil {
		return fmt.Errorf("move the checkpoint to stream %s: %w", s.Name, err)
	}
	return nil
}
