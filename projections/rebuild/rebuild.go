// Package rebuild rebuilds the tables from the log beside the live ones, compares both
// and swaps them, while the service runs.
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// Config says from what the tables are rebuilt, and how.
type Config struct {
	Pool   *pgxpool.Pool
	Stream projections.StreamInfo
	Source projections.Source                    // must end where the log ends
	Last   func(context.Context) (uint64, error) // the log's last sequence now

	Resume  bool // go on with a rebuild that was interrupted
	KeepOld bool // keep the tables that are replaced, as accession_old and report_old
	Accept  bool // swap even if the tables differ for no known reason
	// DropDependents drops what others have built on the old tables with them; else
	// it ends a rebuild with a [*DependentsError] before it begins.
	DropDependents bool
	// Window is how many events go into one transaction, 0 = 10,000.
	Window int
	// Progress, unless nil, is called at intervals.
	Progress func(Progress)
}

// Progress is how far a rebuild is.
type Progress struct {
	Phase string // replay, index, compare, swap
	Seq   uint64 // sequence that the new tables have reached
	Last  uint64 // sequence that they have to reach
	Rate  float64
	Left  time.Duration // at this rate; 0 = not known
}

// Result describes a completed rebuild.
type Result struct {
	Events   int64         `json:"events"`           // that were replayed, by this run
	Seconds  float64       `json:"seconds"`          // that the replay took
	Compared string        `json:"reason,omitempty"` // why the tables were not compared, or may differ; "" = they are equal
	At       int64         `json:"seq"`              // the sequence at which they were compared
	Tables   []TableDigest `json:"tables"`
	Kept     bool          `json:"kept"` // the old tables are still there
}

// Took returns how long the replay took.
func (r Result) Took() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

var (
	// ErrLeft reports that an interrupted rebuild exists.
	ErrLeft = errors.New("an interrupted rebuild is there: `accession rebuild --resume` goes on with it, `accession rebuild --drop` removes it")
	// ErrNone reports that there is nothing to resume.
	ErrNone = errors.New("there is no interrupted rebuild to resume: `accession rebuild` begins one")
	// ErrOldKept reports that the tables which an earlier rebuild replaced still exist.
	ErrOldKept = errors.New("the tables that an earlier rebuild replaced are still kept: `accession rebuild --drop` removes them")
	// ErrBusy reports that another process rebuilds, or compares.
	ErrBusy = errors.New("another process is rebuilding or comparing the tables: wait until it has ended")
)

// DifferentError reports that the new tables are not equal to the live ones, although
// they should be. Nothing was swapped.
type DifferentError struct {
	At     int64
	Tables []TableDigest
}

// Error implements error.
func (e *DifferentError) Error() string {
	text := ""
	for _, t := range e.Tables {
		if !t.Same() {
			text += fmt.Sprintf("; %s has %d rows, the new one %d", t.Table, t.LiveRows, t.NewRows)
			if t.LiveRows == t.NewRows {
				text += " and other contents"
			}
		}
	}
	return fmt.Sprintf("at event %d the new tables are not equal to the live ones%s; nothing was swapped. The new ones are in accession_next: `accession diff` shows the rows, then `accession rebuild --resume --accept` swaps all the same, or `--drop` removes the new ones", e.At, text)
}

// errNewer reports that this program would take away what a newer one has added.
var errNewer = errors.New("the live tables were migrated by a newer program: rebuild with that one; `accession rebuild --drop` removes what an older one has begun")

// defaultWindow is few enough events that PostgreSQL soon has rows to write while more are
// read, and so many that few states are written more than once.
const defaultWindow = 10_000

// Run rebuilds all tables and views beside the live ones, compares both at
// one sequence, and swaps them in one transaction, while the projector and
// readers go on. Interrupted before that it leaves the live ones untouched, and can be
// resumed. An event that cannot be applied ends it with an [*EventError].
func Run(ctx context.Context, cfg Config) (Result, error) {
	if cfg.Window <= 0 {
		cfg.Window = defaultWindow
	}
	if cfg.Progress == nil {
		cfg.Progress = func(Progress) {}
	}
	cfg.Stream = cfg.Stream.Stored()
	var out Result
	err := withLock(ctx, cfg.Pool, func() error {
		r := &rebuild{cfg: cfg, live: pgdb.New(cfg.Pool), next: tables.Queries(cfg.Pool, migrations.Next)}
		err := r.run(ctx)
		out = r.out
		return err
	})
	if err != nil {
		return out, fmt.Errorf("rebuild: %w", err)
	}
	return out, nil
}

// Drop removes what an interrupted rebuild left, and old tables that were
// kept, with what others have built on them if that is wanted; else that is a
// [*DependentsError].
func Drop(ctx context.Context, pool *pgxpool.Pool, dropDependents bool) error {
	err := withLock(ctx, pool, func() error {
		return errors.Join(drop(ctx, pool, migrations.Next, dropDependents), drop(ctx, pool, migrations.Old, dropDependents))
	})
	if err != nil {
		return fmt.Errorf("drop tables of a rebuild: %w", err)
	}
	return nil
}

// unlockTime bounds the release of a lock.
const unlockTime = 5 * time.Second

// withLock calls do while this process holds the lock for rebuilds.
func withLock(ctx context.Context, pool *pgxpool.Pool, do func() error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var got bool
	if err := conn.QueryRow(ctx, "select pg_try_advisory_lock(hashtext('accession rebuild'))").Scan(&got); err != nil {
		return err
	}
	if !got {
		return ErrBusy
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
		defer cancel()
		if _, err := conn.Exec(ctx, "select pg_advisory_unlock(hashtext('accession rebuild'))"); err != nil {
			_ = conn.Conn().Close(ctx) // which releases the lock
		}
	}()
	return do()
}

func drop(ctx context.Context, pool *pgxpool.Pool, n migrations.Names, dropDependents bool) error {
	if !dropDependents {
		list, err := dependents(ctx, pool, n)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return &DependentsError{Objects: list, Begun: true}
		}
	}
	return crash.Around("projections/rebuild/drop", func() error {
		_, err := pool.Exec(ctx, fmt.Sprintf("drop schema if exists %s, %s cascade", n.Views, n.Tables))
		return err
	})
}

func exists(ctx context.Context, pool *pgxpool.Pool, n migrations.Names) (yes bool, err error) {
	err = pool.QueryRow(ctx, "select to_regnamespace($1) is not null or to_regnamespace($2) is not null", n.Tables, n.Views).Scan(&yes)
	return yes, err
}

// rebuild is one run.
type rebuild struct {
	cfg          Config
	live, next   *pgdb.Queries
	at           tables.Checkpoint // of the new tables
	incomparable string            // why live and new tables cannot be compared, "" = they can
	out          Result
}

func (r *rebuild) run(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	f := fold.New()
	// Fill up to the checkpoint of the live tables or, if these cannot be used, to the
	// end of the log.
	for {
		to, err := r.target(ctx)
		if err != nil {
			return err
		}
		if uint64(r.at.Seq)+uint64(r.cfg.Window) > to && r.at.Seq > 0 || to == uint64(r.at.Seq) {
			break
		}
		if err := r.fill(ctx, f, to); err != nil {
			return err
		}
	}
	r.report("index", uint64(r.at.Seq))
	if err := r.index(ctx); err != nil {
		return fmt.Errorf("build indexes: %w", err)
	}
	if r.incomparable == "" {
		if err := r.compare(ctx, f); err != nil {
			return err
		}
	} else {
		r.out.Compared = r.incomparable
	}
	return r.swap(ctx, f)
}

// prepare makes the new schemas, or finds them.
func (r *rebuild) prepare(ctx context.Context) error {
	there, err := exists(ctx, r.cfg.Pool, migrations.Next)
	if err != nil {
		return err
	}
	oldThere, err := exists(ctx, r.cfg.Pool, migrations.Old)
	switch {
	case err != nil:
		return err
	case oldThere:
		return ErrOldKept
	case there && !r.cfg.Resume:
		return ErrLeft
	case !there && r.cfg.Resume:
		return ErrNone
	}
	pending, unknown, err := migrations.Compare(ctx, r.cfg.Pool, migrations.ProjectionSchema, migrations.Projection())
	if err != nil {
		return err
	}
	if unknown > 0 {
		return errNewer
	}
	if err := r.checkDependents(ctx); err != nil {
		return err
	}
	if _, err := migrations.Up(ctx, r.cfg.Pool, migrations.Next.Tables, migrations.ProjectionIn(migrations.Next)); err != nil {
		return err
	}
	if err := r.checkForeign(ctx, pending, there); err != nil {
		return err
	}
	if !there {
		if err := r.unindex(ctx); err != nil {
			return fmt.Errorf("drop the indexes until the tables are filled: %w", err)
		}
	}
	s := r.cfg.Stream
	if err := tables.Create(ctx, r.next, tables.Main, s); err != nil {
		return err
	}
	if r.at, err = r.next.Checkpoint(ctx, tables.Main); err != nil {
		return err
	}
	if r.at.Stream != s.Name || !r.at.StreamCreated.Equal(s.Created) || r.at.Meaning != tables.Version {
		return errors.New("the interrupted rebuild is of another log or of another version of this program: `accession rebuild --drop` removes it")
	}
	return r.checkLive(ctx)
}

// checkLive finds out whether the live tables can be compared with the new ones.
func (r *rebuild) checkLive(ctx context.Context) error {
	s := r.cfg.Stream
	// There must be a row that can be locked.
	err := tables.Create(ctx, r.live, tables.Main, s)
	if err != nil {
		return fmt.Errorf("look at the live tables, which `accession migrate` makes: %w", err)
	}
	live, err := r.live.Checkpoint(ctx, tables.Main)
	if err != nil {
		return err
	}
	last, err := r.cfg.Last(ctx) // after the tables: they never have more
	if err != nil {
		return err
	}
	switch {
	case live.Seq == 0:
		r.incomparable = "there was nothing to compare with: nothing had been projected"
	case live.Stream != s.Name || !live.StreamCreated.Equal(s.Created):
		r.incomparable = "the live tables are of another log"
	case uint64(live.Seq) > last:
		r.incomparable = "the live tables have events that the log has lost"
	case live.Seq < r.at.Seq:
		r.incomparable = "the live tables are behind the new ones"
	}
	return nil
}

// target is the sequence that the new tables should reach now.
func (r *rebuild) target(ctx context.Context) (uint64, error) {
	if r.incomparable != "" {
		return r.cfg.Last(ctx)
	}
	live, err := r.live.Checkpoint(ctx, tables.Main)
	return uint64(live.Seq), err
}

func (r *rebuild) report(phase string, to uint64) {
	r.cfg.Progress(Progress{Phase: phase, Seq: uint64(r.at.Seq), Last: to})
}
