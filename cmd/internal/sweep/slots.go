package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/projections/query"
)

// Slots is files.Slots as the sweeper needs it.
type Slots interface {
	All(ctx context.Context, asks []files.SlotRequest, o eventstore.Meta) ([]files.SlotResult, error)
}

// Due is a slot whose window has begun or is over, as the tables show it.
type Due struct {
	ID      slot.ID
	Closes  domain.Time
	Arrived int // files, of a slot whose window is over
}

// Windows finds slots.
type Windows interface {
	// Due returns up to limit slots whose window has begun or is over now, and whose id comes
	// after the one given, in the order of their ids.
	Due(ctx context.Context, now domain.Time, after slot.ID, limit int) ([]Due, error)
	// CaughtUp returns when the tables show everything that is in the log now.
	CaughtUp(ctx context.Context) error
}

// patience is how long the tables may take to show what is in the log, before slots are
// ended. A file that they do not show yet would not count as arrived.
const patience = 10 * time.Second

// command returns the command that opens or ends a slot.
func (d Due) command(now domain.Time) slot.Command {
	if now.Before(d.Closes.Time) {
		return slot.Open{Now: now}
	}
	return slot.End{Now: now, Files: d.Arrived}
}

// sweepSlots decides every slot that is due now. Slots end only once the tables show all
// files that have arrived until now.
func (s *Sweeper) sweepSlots(ctx context.Context, now domain.Time, sum *Summary) error {
	asked := false
	for after := slot.ID(""); ; {
		found, err := s.Windows.Due(ctx, now, after, page)
		if err != nil {
			return err
		}
		if !asked && slices.ContainsFunc(found, func(d Due) bool { return !now.Before(d.Closes.Time) }) {
			asked = true
			waiting, cancel := context.WithTimeout(ctx, patience)
			err := s.Windows.CaughtUp(waiting)
			cancel()
			if err != nil {
				return fmt.Errorf("wait until the tables show the files that have arrived: %w", err)
			}
			continue // they may show other slots, and more files
		}
		var asks []files.SlotRequest
		for _, d := range found {
			asks = append(asks, files.SlotRequest{ID: d.ID, Command: d.command(now)})
		}
		if err := s.decideSlots(ctx, asks, sum); err != nil || len(found) < page {
			return err
		}
		after = found[len(found)-1].ID
	}
}

// decideSlots sends the commands for one page of slots.
func (s *Sweeper) decideSlots(ctx context.Context, asks []files.SlotRequest, sum *Summary) error {
	if len(asks) == 0 {
		return nil
	}
	results, err := s.Slots.All(ctx, asks, eventstore.Meta{Actor: domain.DaemonActor(domain.DaemonSweeper), TraceParent: eventstore.NewTrace().Parent()})
	for i, r := range results {
		sum.Looked++
		var refused *domain.Refused
		switch {
		case r.Err == nil:
			sum.Slots[r.Slot.State]++
		case errors.As(r.Err, &refused) && refused.State == string(domain.SlotNone):
			sum.fault(fmt.Errorf("%s is in the tables and not in the log: do both belong to the same installation?", asks[i].ID.Aggregate()))
		case refused != nil: // an operator or another sweeper was first
			sum.Moved++
		default:
			sum.fault(r.Err)
		}
	}
	if err != nil {
		err = fmt.Errorf("open and end slots: %w", err)
	}
	return err
}

// TableWindows finds slots in PostgreSQL.
type TableWindows struct {
	DB    query.DB
	Ready func(ctx context.Context) error // see Windows.CaughtUp
}

var _ Windows = TableWindows{}

// CaughtUp implements Windows.
func (t TableWindows) CaughtUp(ctx context.Context) error { return t.Ready(ctx) }

// Due implements Windows.
func (t TableWindows) Due(ctx context.Context, now domain.Time, after slot.ID, limit int) ([]Due, error) {
	rows, err := query.SlotsToMove(ctx, t.DB, now, after, limit)
	if err != nil {
		return nil, err
	}
	due := make([]Due, len(rows))
	for i, r := range rows {
		due[i] = Due{ID: slot.ID(r.ID), Closes: domain.At(r.ClosesAt), Arrived: int(r.Files)}
	}
	return due, nil
}
