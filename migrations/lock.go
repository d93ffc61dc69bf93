package migrations

import (
	"context"
	"database/sql"
	"fmt"
)

// A migration locks tables one after another, and so does a transaction of the
// projector, in another order: together they end in a deadlock. Therefore each takes
// an advisory lock of the schema before it locks any table, a migration alone, writers
// together. PostgreSQL serves it in the order of the requests, so that writers which
// come while a migration waits let it pass, and wait without holding a table.

// BeginWriter is the statement that begins a transaction which writes to the live
// tables of the projection: while they are migrated, it waits.
var BeginWriter = fmt.Sprintf("begin; select pg_advisory_xact_lock_shared(%s)", lockKey(ProjectionSchema))

// lockKey is the SQL of a schema's key. Each schema has its own: a rebuild migrates
// its tables while the projector goes on with the live ones.
func lockKey(schema string) string { return "hashtext('accession migration of " + schema + "')" }

// lockWait is how long a migration waits for writers and for other migrations.
const lockWait = "2min"

// lockAlone is the SQL that takes the lock of a schema for a migration, until the end
// of the transaction or, with the function pg_advisory_lock, of the session.
func lockAlone(function, schema string) string {
	return fmt.Sprintf("set lock_timeout = '%s'; select %s(%s); reset lock_timeout", lockWait, function, lockKey(schema))
}

// sessionLock holds the lock of a schema while goose migrates it.
type sessionLock struct{ schema string }

// SessionLock implements lock.SessionLocker.
func (l sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, lockAlone("pg_advisory_lock", l.schema))
	return err
}

// SessionUnlock implements lock.SessionLocker.
func (l sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("select pg_advisory_unlock(%s)", lockKey(l.schema)))
	return err
}
