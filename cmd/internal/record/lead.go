package record

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// leadTimeout is how long PostgreSQL may take to give a lead, or to end it.
const leadTimeout = 10 * time.Second

// leads are what this process alone does of all processes of an installation: the sending of
// mails, the audit. They are locks of one session, which is held while there is any: the
// session ends with the process at the latest, and its locks with it.
//
// A process whose session ends early does not notice: what it does alone is such that two may
// do it for a moment.
type leads struct {
	pool *pgxpool.Pool
	mu   sync.Mutex
	conn *pgxpool.Conn // nil = nothing is held
	held map[string]bool
}

// take takes the lead of a name until release is called; false when another has it, in this
// process or elsewhere.
func (l *leads) take(ctx context.Context, name string) (release func(), taken bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[name] {
		return nil, false, nil
	}
	if l.conn == nil || l.conn.Conn().IsClosed() {
		l.drop()
		if l.conn, err = l.pool.Acquire(ctx); err != nil {
			return nil, false, wrap(err, "lead the", name)
		}
	}
	// A query that is given up ends the session, and the other leads with it.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), leadTimeout)
	defer cancel()
	if taken, err = pgdb.New(l.conn).TryLead(asking, name); !taken {
		l.rest()
		return nil, false, wrap(err, "lead the", name)
	}
	l.held[name] = true
	return sync.OnceFunc(func() { l.end(name) }), true, nil
}

// end ends a lead.
func (l *leads) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.conn == nil {
		return
	}
	if pgdb.New(l.conn).EndLead(ctx, name) != nil {
		_ = l.conn.Conn().Close(ctx) // the locks end with the session
	}
	l.rest()
}

// rest releases the session when nothing is held.
func (l *leads) rest() {
	if len(l.held) == 0 {
		l.drop()
	}
}

// drop releases the session.
func (l *leads) drop() {
	if l.conn != nil {
		l.conn.Release()
		l.conn = nil
	}
}
