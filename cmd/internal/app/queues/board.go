package queues

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Board is how a deposit queue stands.
type Board struct {
	ID      string      `json:"id"` // its name
	Queue   string      `json:"queue"`
	At      domain.Time `json:"at"`
	Waiting int         `json:"waiting"`
	Running int         `json:"running"`
	Parked  *int64      `json:"parked"` // null = not known
	// Stopped says why nothing is grabbed from the queue, "" = deposits are grabbed.
	Stopped string `json:"stopped,omitempty"`
	// Grabs were made in the last Seconds, null = not known: the rate behind expected times.
	Grabs   *int     `json:"recent_grabs"`
	Seconds float64  `json:"recent_seconds"`
	Users   []OfUser `json:"users"`
	// Synchronous are the synchronous deposits that run, of at most Pool at once.
	Synchronous []Direct `json:"synchronous"`
	Pool        int      `json:"synchronous_limit"`
	// Resting are running batches all of whose open jobs are held or wait for space.
	Resting []query.Resting `json:"resting"`
	// Unknown says why numbers are not known.
	Unknown string `json:"unknown,omitempty"`
}

// Direct is a synchronous deposit that runs.
type Direct struct {
	Batch domain.BatchID `json:"batch"`
	User  string         `json:"user"`
}

// OfUser is how the deposits of a user stand.
type OfUser struct {
	User       string        `json:"user"`
	Waiting    int           `json:"waiting"`
	Running    int           `json:"running"`
	Limit      int           `json:"concurrency"`
	Allocation int           `json:"allocation"`
	Parked     *int64        `json:"parked"`   // null = not known
	Position   int           `json:"position"` // in the order of visits, 0 = nothing waits
	NextLap    bool          `json:"next_lap,omitempty"`
	Before     *int          `json:"before"`           // deposits of others that are grabbed before, null = is not served
	Expected   *float64      `json:"expected_seconds"` // until the next one is grabbed, null = unknown
	Why        fair.Obstacle `json:"obstacle,omitempty"`
}

const (
	// paceOver is how far back the rate of grabs looks.
	paceOver = time.Hour
	// tablesWait is how long a board waits for the tables.
	tablesWait = 5 * time.Second
)

// ShowBoard returns how a deposit queue stands. Without PostgreSQL some numbers are unknown.
func ShowBoard(ctx context.Context, a *app.App, queue string) (b Board, err error) {
	defer app.Explained(&err, "show the deposit queue "+queue)
	set, err := settings(ctx, a, queue)
	if err != nil {
		return b, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return b, err
	}
	b = Board{ID: queue, Queue: queue, At: domain.At(handler.Clock()), Users: []OfUser{}, Resting: []query.Resting{}, Synchronous: []Direct{}}
	var view eventstore.RingView
	if handler.Rings != nil {
		if view, err = handler.Rings.View(ctx, queue); err != nil {
			return b, err
		}
		if err := b.direct(ctx, handler, view.Synchronous); err != nil {
			return b, err
		}
	}
	if queue == fair.QueueMetadata {
		b.Pool = set.Config.Synchronous
	}
	if b.Stopped, err = stopped(ctx, handler, set); err != nil {
		return b, err
	}
	known, err := tables(ctx, a, queue, b.At.Time)
	if err != nil {
		if ctx.Err() != nil {
			return b, err
		}
		b.Unknown = err.Error()
	}
	b.fill(view.Ring().Standings(set.Config, criteria(set.Processors)), known)
	return b, nil
}

// direct names whose the synchronous deposits are.
func (b *Board) direct(ctx context.Context, h *eventstore.Handler, ids []domain.BatchID) error {
	for _, id := range ids {
		is, err := h.Live.Batch(ctx, id)
		switch {
		case errors.Is(err, eventstore.ErrNotFound):
			continue
		case err != nil:
			return err
		}
		b.Synchronous = append(b.Synchronous, Direct{id, is.State.Submission.Submitter})
	}
	return nil
}

// stopped says why nothing is grabbed.
func stopped(ctx context.Context, h *eventstore.Handler, set eventstore.QueueSettings) (string, error) {
	holds, err := h.Live.Holds(ctx)
	switch {
	case err != nil:
		return "", err
	case len(set.Unreadable) > 0:
		return "a setting cannot be read: `accession queue show` names it", nil
	case set.Config.Suspended:
		return "suspended", nil
	case holds.Paused(domain.QueueIngest):
		return "the queue ingest is paused", nil
	}
	return "", nil
}

// criteria returns what the processors ask for that are not stopped.
func criteria(all map[string]domain.Processor) (list []fair.Processor) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p := all[name]; !p.Stopped {
			list = append(list, p.Criteria())
		}
	}
	return list
}

// tables reads what the tables know, nil = they do not answer.
func tables(ctx context.Context, a *app.App, queue string, now time.Time) (*query.Board, error) {
	ctx, cancel := context.WithTimeout(ctx, tablesWait)
	defer cancel()
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, err
	}
	b, err := query.DepositBoard(ctx, db, queue, now.Add(-paceOver))
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// fill fills in the users, and what the tables know, nil = nothing.
func (b *Board) fill(all []fair.Standing, known *query.Board) {
	var pace fair.Pace
	parked := map[string]int64{}
	if known != nil {
		pace = fair.NewPace(known.Grabs, b.At.Time)
		b.Grabs, b.Seconds, b.Resting = &pace.Grabs, pace.Over.Seconds(), append(b.Resting, known.Resting...)
		parked = maps.Clone(known.Parked)
		b.Parked = new(int64)
		for _, n := range parked {
			*b.Parked += n
		}
	}
	for _, s := range all {
		u := OfUser{User: s.User, Waiting: s.Waiting, Running: s.Running, Limit: s.Concurrency, Allocation: s.Allocation, Position: s.Position, NextLap: s.NextLap, Why: s.Why}
		if s.Why == fair.ObstacleNone && b.Stopped == "" {
			u.Before = &s.Before
			if in, ok := s.Expected(pace); ok {
				u.Expected = new(in.Seconds())
			}
		}
		if known != nil {
			u.Parked = new(parked[s.User])
			delete(parked, s.User)
		}
		b.Waiting += s.Waiting
		b.Running += s.Running
		b.Users = append(b.Users, u)
	}
	for _, user := range slices.Sorted(maps.Keys(parked)) { // of whom nothing else is there
		b.Users = append(b.Users, OfUser{User: user, Parked: new(parked[user]), Why: fair.ObstacleEmpty})
	}
}
