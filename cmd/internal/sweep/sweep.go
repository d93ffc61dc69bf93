package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// Files is files.Handler as the sweeper needs it.
type Files interface {
	Now(ctx context.Context) (domain.Time, error)
	All(ctx context.Context, asks []files.Request, o eventstore.Meta) ([]files.Result, error)
}

// Sweeper ends overdue attempts, opens and ends slots, and returns entries of the compute queue
// whose workers are gone. All fields are required.
type Sweeper struct {
	Files  Files
	Finder Finder
	// Limits returns the limits as they are now; each pass asks once.
	Limits  func(ctx context.Context) (Limits, error)
	Slots   Slots
	Windows Windows
	// Entries returns the entries of the compute queue whose workers are gone, or whose leases
	// are overdue, and reports how many it brought to each state.
	Entries  func(ctx context.Context) (map[entry.State]int, error)
	Interval time.Duration // of Run, from the end of a pass to the next; above 0
	Log      *slog.Logger
}

// page is how many candidates are decided in one write: each makes two events at
// most, so that they fit into one append.
const page = files.MaxEvents / 2

// Run makes a pass at once and after each interval, until ctx ends. What a pass
// could not do is logged and left to the next one.
func (s *Sweeper) Run(ctx context.Context) error {
	var notes []string
	for {
		sum := s.pass(ctx)
		if len(sum.Notes) > 0 && !slices.Equal(notes, sum.Notes) {
			notes = sum.Notes
			s.Log.Info("where the timeouts of files come from", "notes", notes)
		}
		select {
		case <-time.After(s.Interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// pass makes a pass and logs its result.
func (s *Sweeper) pass(ctx context.Context) Summary {
	sum, err := s.Once(ctx)
	switch {
	case ctx.Err() != nil:
		return sum
	case err != nil:
		s.Log.Warn("the sweeper could not finish its pass; it goes on with the next one", "error", err)
	case sum.Errors > 0:
		s.Log.Warn("the sweeper could not decide all files and slots; it looks again in the next pass", "errors", sum.Errors, "faults", sum.Faults)
	}
	if n := sum.Total(); n > 0 {
		s.Log.Info("overdue files recovered", "files", n, "states", sum.Recovered, "moved", sum.Moved)
	}
	if len(sum.Slots) > 0 {
		s.Log.Info("slots opened and ended", "states", sum.Slots)
	}
	if len(sum.Entries) > 0 {
		s.Log.Info("entries of the compute queue returned", "states", sum.Entries)
	}
	return sum
}

// Once makes a pass at the log's time. With an error the summary covers what was done
// before.
func (s *Sweeper) Once(ctx context.Context) (Summary, error) {
	now, err := s.Files.Now(ctx)
	if err != nil {
		return newSummary(now), fmt.Errorf("ask the log for its time: %w", err)
	}
	return s.Sweep(ctx, now)
}

// Sweep decides every file that may be overdue now, by the log's clock, then every slot whose
// window has begun or is over, and then the entries of the compute queue whose workers are gone.
// A file that cannot be decided keeps no other one out. With an error the summary covers what
// was done before.
func (s *Sweeper) Sweep(ctx context.Context, now domain.Time) (Summary, error) {
	sum := newSummary(now)
	limits, err := s.Limits(ctx)
	if err != nil {
		return sum, fmt.Errorf("ask for the timeouts: %w", err)
	}
	sum.Notes = limits.Notes
	filter := limits.Filter(now)
	for after := domain.FileHash(""); ; {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		found, err := s.Finder.Candidates(ctx, filter, after, page)
		if err != nil {
			return sum, fmt.Errorf("look for overdue files: %w", err)
		}
		if err := s.decide(ctx, now, limits, found, &sum); err != nil {
			return sum, err
		}
		if len(found) < page {
			err := errors.Join(s.sweepSlots(ctx, now, &sum), s.sweepEntries(ctx, &sum))
			return sum, err
		}
		after = found[len(found)-1].Hash
	}
}

// sweepEntries returns the entries whose workers are gone.
func (s *Sweeper) sweepEntries(ctx context.Context, sum *Summary) (err error) {
	if sum.Entries, err = s.Entries(ctx); err != nil {
		return fmt.Errorf("return the entries of the compute queue whose workers are gone: %w", err)
	}
	return nil
}

// decide sends the commands for one page of candidates.
func (s *Sweeper) decide(ctx context.Context, now domain.Time, limits Limits, found []Candidate, sum *Summary) error {
	var asks []files.Request
	for _, c := range found {
		if cmd := c.command(now, limits.Of(c.Profile)); cmd != nil {
			asks = append(asks, files.Request{Hash: c.Hash, Command: cmd})
		}
	}
	if len(asks) == 0 {
		return nil
	}
	results, err := s.Files.All(ctx, asks, eventstore.Meta{Actor: domain.DaemonActor(domain.DaemonSweeper),
		TraceParent: eventstore.NewTrace().Parent()})
	for i, r := range results {
		sum.Looked++
		var refused *domain.Refused
		switch {
		case r.Err == nil && len(r.Events) > 0:
			sum.Recovered[r.File.State]++
		case errors.As(r.Err, &refused) && refused.State == string(domain.FileNone):
			sum.fault(fmt.Errorf("%s is in the tables and not in the log: do both belong to the same installation?", asks[i].Hash.Aggregate()))
		case errors.As(r.Err, &refused) && refused.Code == domain.CodeBadLimits:
			sum.fault(refused)
		case refused != nil:
			sum.Moved++
		case r.Err != nil:
			sum.fault(r.Err)
		}
	}
	if err != nil {
		err = fmt.Errorf("recover overdue files: %w", err)
	}
	return err
}

// Overdue counts, up to limit, the attempts that a sweep would end now.
func Overdue(ctx context.Context, in Finder, limits Limits, now domain.Time, limit int) (n int, err error) {
	for after := domain.FileHash(""); n < limit; {
		found, err := in.Candidates(ctx, limits.Filter(now), after, page)
		if err != nil {
			return n, fmt.Errorf("look for overdue files: %w", err)
		}
		for _, c := range found {
			if c.State.Running() && c.command(now, limits.Of(c.Profile)) != nil {
				n++
			}
		}
		if len(found) < page {
			break
		}
		after = found[len(found)-1].Hash
	}
	return min(n, limit), nil
}

func newSummary(now domain.Time) Summary {
	return Summary{Now: now, Recovered: map[domain.FileState]int{}, Slots: map[domain.SlotState]int{}, Entries: map[entry.State]int{}, Faults: []string{}}
}

// Summary is the result of a pass.
type Summary struct {
	Now       domain.Time              `json:"now"`             // the log's time that decided
	Looked    int                      `json:"looked"`          // candidates
	Recovered map[domain.FileState]int `json:"recovered"`       // files, by the state that the sweeper brought them to
	Slots     map[domain.SlotState]int `json:"slots"`           // slots, by the state that the sweeper brought them to
	Entries   map[entry.State]int      `json:"entries"`         // entries of the compute queue whose workers were gone, by the state that the sweeper brought them to
	Moved     int                      `json:"moved"`           // candidates that a worker or another sweeper had moved on
	Errors    int                      `json:"errors"`          // candidates that could not be decided; the next pass looks again
	Faults    []string                 `json:"faults"`          // why, of the first few
	Notes     []string                 `json:"notes,omitempty"` // where the timeouts come from, if operators should know
}

// maxFaults bounds how many causes a summary holds.
const maxFaults = 10

// Total counts the files that the pass recovered.
func (s Summary) Total() (n int) {
	for _, files := range s.Recovered {
		n += files
	}
	return n
}

func (s *Summary) fault(err error) {
	s.Errors++
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, err.Error())
	}
}
