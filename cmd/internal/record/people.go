package record

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain/access"
)

// Rows of the tables of people; the comments of their columns are in the database.
type (
	// User is a person or program, with whether it has a password, and who it is at an OpenID
	// Connect provider.
	User = pgdb.UsersRow
	// LockedUser is a user that a transaction has locked.
	LockedUser = pgdb.RecordUser
	// Secret is the hash of a password.
	Secret = pgdb.RecordUserSecret
	// Key is an API key without its secret.
	Key = pgdb.RecordApiKey
	// Session is a sign-in.
	Session = pgdb.RecordSession
	// Attempts are those to sign in by a name, or from an address.
	Attempts = pgdb.RecordSignIn
	// AuditEntry is what a caller did, or was refused.
	AuditEntry = pgdb.RecordAuditEntry
)

// PeopleTx changes people in one transaction, at one moment.
type PeopleTx struct {
	ctx context.Context
	q   *pgdb.Queries
	// Now is the moment, by PostgreSQL's clock.
	Now time.Time
	// Entry is what is audited of the change.
	Entry AuditEntry
}

// ChangePeople changes people, and keeps an entry of the audit with it: both or neither.
func (r *Records) ChangePeople(ctx context.Context, e AuditEntry, do func(tx *PeopleTx) error) error {
	err := r.inTx(ctx, func(q *pgdb.Queries) error {
		now, err := q.Now(ctx)
		if err != nil {
			return err
		}
		tx := &PeopleTx{ctx, q, now, e}
		if err := do(tx); err != nil {
			return err
		}
		return q.AddAuditEntry(ctx, pgdb.AddAuditEntryParams{Now: now, Caller: tx.Entry.Caller, Via: tx.Entry.Via, Address: tx.Entry.Address, Action: tx.Entry.Action,
			Subject: tx.Entry.Subject, Outcome: tx.Entry.Outcome, Detail: tx.Entry.Detail, Reason: tx.Entry.Reason})
	})
	return wrap(err, e.Action, e.Subject)
}

// Once keeps that a change is requested under the id of a command, and returns the row of the
// first such request, and whether it is this one.
func (tx *PeopleTx) Once(id, request, subject string) (c pgdb.RecordPeopleCommand, first bool, err error) {
	n, err := tx.q.AddPeopleCommand(tx.ctx, pgdb.AddPeopleCommandParams{ID: id, RequestSha256: request, Subject: subject, Now: tx.Now})
	if err == nil {
		c, err = tx.q.PeopleCommand(tx.ctx, id)
	}
	return c, n == 1, err
}

// AddUser adds a user; false = the name is taken.
func (tx *PeopleTx) AddUser(name, display, mail string) (added bool, err error) {
	n, err := tx.q.AddUser(tx.ctx, pgdb.AddUserParams{Name: name, DisplayName: display, Mail: mail, Now: tx.Now})
	return n == 1, err
}

// User locks a user, until the transaction ends.
func (tx *PeopleTx) User(name string) (u LockedUser, found bool, err error) {
	u, err = tx.q.LockUser(tx.ctx, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, false, nil
	}
	return u, err == nil, err
}

// SaveUser saves a user that is locked.
func (tx *PeopleTx) SaveUser(u LockedUser) error {
	return tx.q.SaveUser(tx.ctx, pgdb.SaveUserParams{Name: u.Name, DisplayName: u.DisplayName, Mail: u.Mail, DisabledAt: u.DisabledAt, Now: tx.Now})
}

// Grant adds a right of a user that is locked; false = the user had it.
func (tx *PeopleTx) Grant(user string, r access.Right) (changed bool, err error) {
	return tx.each(user, r, func(collection string) (int64, error) {
		return tx.q.GrantRight(tx.ctx, pgdb.GrantRightParams{UserName: user, Role: string(r.Role), Everywhere: r.Scope.All, Collection: collection, Now: tx.Now})
	})
}

// Withdraw removes a right of a user that is locked; false = the user had nothing of it.
func (tx *PeopleTx) Withdraw(user string, r access.Right) (changed bool, err error) {
	return tx.each(user, r, func(collection string) (int64, error) {
		return tx.q.WithdrawRight(tx.ctx, pgdb.WithdrawRightParams{UserName: user, Role: string(r.Role), Everywhere: r.Scope.All, Collection: collection})
	})
}

func (tx *PeopleTx) each(user string, r access.Right, do func(collection string) (int64, error)) (changed bool, err error) {
	collections := r.Scope.Collections
	if r.Scope.All {
		collections = []string{""}
	}
	for _, c := range collections {
		n, err := do(c)
		if err != nil {
			return false, err
		}
		changed = changed || n > 0
	}
	if changed {
		err = tx.q.RaiseUser(tx.ctx, pgdb.RaiseUserParams{Now: tx.Now, Name: user})
	}
	return changed, err
}

// PutSecret sets the password of a user that is locked, whose sessions end.
func (tx *PeopleTx) PutSecret(s Secret) error {
	err := tx.q.PutSecret(tx.ctx, pgdb.PutSecretParams{UserName: s.UserName, Salt: s.Salt, Hash: s.Hash, MemoryKib: s.MemoryKib, Passes: s.Passes, Lanes: s.Lanes, Now: tx.Now})
	if err == nil {
		_, err = tx.q.EndSessionsOf(tx.ctx, s.UserName)
	}
	if err == nil {
		err = tx.q.RaiseUser(tx.ctx, pgdb.RaiseUserParams{Now: tx.Now, Name: s.UserName})
	}
	return err
}

// AddKey adds an API key.
func (tx *PeopleTx) AddKey(k Key) error {
	return tx.q.AddKey(tx.ctx, pgdb.AddKeyParams{Prefix: k.Prefix, UserName: k.UserName, Label: k.Label, Sha256: k.Sha256, Roles: k.Roles, Collections: k.Collections,
		Now: tx.Now, ExpiresAt: k.ExpiresAt})
}

// Key locks an API key, until the transaction ends; found = false if there is none.
func (tx *PeopleTx) Key(prefix string) (k Key, found bool, err error) {
	k, err = tx.q.LockKey(tx.ctx, prefix)
	if errors.Is(err, pgx.ErrNoRows) {
		return k, false, nil
	}
	return k, err == nil, err
}

// RevokeKey revokes an API key that is locked, unless it was before.
func (tx *PeopleTx) RevokeKey(k Key) error {
	if k.RevokedAt != nil {
		return nil
	}
	return tx.q.RevokeKey(tx.ctx, pgdb.RevokeKeyParams{Now: &tx.Now, Prefix: k.Prefix})
}

// sessionsKept is for how long an expired session stays.
const sessionsKept = 24 * time.Hour

// AddSession adds a session, and removes some that have expired long ago.
func (tx *PeopleTx) AddSession(s Session) error {
	err := tx.q.AddSession(tx.ctx, pgdb.AddSessionParams{Sha256: s.Sha256, UserName: s.UserName, Address: s.Address, Now: tx.Now, ExpiresAt: s.ExpiresAt})
	if err == nil {
		err = tx.q.PurgeSessions(tx.ctx, tx.Now.Add(-sessionsKept))
	}
	return err
}

// EndSession ends a session; EndSessions all of a user.
func (tx *PeopleTx) EndSession(sha256 []byte) error {
	_, err := tx.q.EndSession(tx.ctx, sha256)
	return err
}

// EndSessions ends the sessions of a user.
func (tx *PeopleTx) EndSessions(user string) error {
	_, err := tx.q.EndSessionsOf(tx.ctx, user)
	return err
}

// Users lists users by name: those after one, or those that are named.
func (r *Records) Users(ctx context.Context, after string, limit int, names ...string) ([]User, error) {
	rows, err := r.q.Users(ctx, pgdb.UsersParams{After: after, Names: append([]string{}, names...), MaxRows: int32(limit)})
	return rows, wrap(err, "list", "users")
}

// RightsOf returns the rights of users: one for each role in all collections, and one for
// each role in those that are named.
func (r *Records) RightsOf(ctx context.Context, names ...string) (map[string][]access.Right, error) {
	return rightsOf(ctx, r.q, names)
}

// Users returns users as they are in the transaction; RightsOf what they may do.
func (tx *PeopleTx) Users(names ...string) ([]User, error) {
	return tx.q.Users(tx.ctx, pgdb.UsersParams{Names: names, MaxRows: int32(len(names))})
}

// RightsOf returns the rights of users as they are in the transaction.
func (tx *PeopleTx) RightsOf(names ...string) (map[string][]access.Right, error) {
	return rightsOf(tx.ctx, tx.q, names)
}

func rightsOf(ctx context.Context, q *pgdb.Queries, names []string) (map[string][]access.Right, error) {
	rows, err := q.RightsOfUsers(ctx, names)
	if err != nil {
		return nil, wrap(err, "read the rights of", "users")
	}
	all := map[string][]access.Right{}
	for _, row := range rows {
		list, role := all[row.UserName], access.Role(row.Role)
		last := len(list) - 1
		switch {
		case row.Everywhere:
			list = append(list, access.Right{Role: role, Scope: access.Everywhere})
		case last >= 0 && list[last].Role == role && !list[last].Scope.All:
			list[last].Scope.Collections = append(list[last].Scope.Collections, row.Collection)
		default:
			list = append(list, access.Right{Role: role, Scope: access.In(row.Collection)})
		}
		all[row.UserName] = list
	}
	return all, nil
}

// Secret returns the hash of a user's password; found = false if there is none.
func (r *Records) Secret(ctx context.Context, user string) (s Secret, found bool, err error) {
	s, err = r.q.Secret(ctx, user)
	return s, err == nil, wrap(noRows(err), "read the password of", user)
}

// Key returns an API key by its prefix; found = false if there is none.
func (r *Records) Key(ctx context.Context, prefix string) (k Key, found bool, err error) {
	k, err = r.q.Key(ctx, prefix)
	return k, err == nil, wrap(noRows(err), "find the key", prefix)
}

// Keys lists API keys after one, of a user or of all.
func (r *Records) Keys(ctx context.Context, user, after string, limit int) ([]Key, error) {
	rows, err := r.q.Keys(ctx, pgdb.KeysParams{UserName: user, After: after, MaxRows: int32(limit)})
	return rows, wrap(err, "list", "keys")
}

// Session returns a session by the digest of its token; found = false if there is none.
func (r *Records) Session(ctx context.Context, sha256 []byte) (s Session, found bool, err error) {
	s, err = r.q.Session(ctx, sha256)
	return s, err == nil, wrap(noRows(err), "find the", "session")
}

func noRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// Now returns the time of PostgreSQL's clock, by which keys and sessions expire.
func (r *Records) Now(ctx context.Context) (time.Time, error) {
	now, err := r.q.Now(ctx)
	return now, wrap(err, "ask for", "the time")
}

// Rehash replaces the hash of a password by another of the same password, unless it was
// changed meanwhile.
func (r *Records) Rehash(ctx context.Context, was []byte, s Secret) error {
	return wrap(r.inTx(ctx, func(q *pgdb.Queries) error {
		return q.RehashSecret(ctx, pgdb.RehashSecretParams{UserName: s.UserName, OldHash: was, Salt: s.Salt, Hash: s.Hash, MemoryKib: s.MemoryKib, Passes: s.Passes, Lanes: s.Lanes})
	}), "hash the password again of", s.UserName)
}

// KeyUsed notes on which day a key was used last.
func (r *Records) KeyUsed(ctx context.Context, prefix string, now time.Time) error {
	return wrap(r.inTx(ctx, func(q *pgdb.Queries) error {
		return q.NoteKeyUse(ctx, pgdb.NoteKeyUseParams{Prefix: prefix, UsedOn: pgtype.Date{Time: now.UTC(), Valid: true}})
	}), "note the use of the key", prefix)
}

// attemptsKept is for how long attempts to sign in are remembered after the last one.
const attemptsKept = 7 * 24 * time.Hour

// Attempt calls decide with the attempts so far by each subject, which it changes, and saves
// them; its error says that there is to be no further attempt, and saves nothing.
func (r *Records) Attempt(ctx context.Context, subjects []string, decide func(now time.Time, so []Attempts) error) error {
	var refused error
	err := r.inTx(ctx, func(q *pgdb.Queries) error {
		now, err := q.Now(ctx)
		if err != nil {
			return err
		}
		rows, err := q.LockAttempts(ctx, pgdb.LockAttemptsParams{Subjects: subjects, Now: now})
		if err != nil {
			return err
		}
		if refused = decide(now, rows); refused == nil {
			err = saveAttempts(ctx, q, now, rows)
		}
		return err
	})
	if err == nil {
		err = refused
	}
	return wrap(err, "count an", "attempt to sign in")
}

func saveAttempts(ctx context.Context, q *pgdb.Queries, now time.Time, rows []Attempts) error {
	for _, a := range rows {
		if err := q.SaveAttempts(ctx, pgdb.SaveAttemptsParams{BeganAt: a.BeganAt, LastAt: a.LastAt, Attempts: a.Attempts, Subject: a.Subject}); err != nil {
			return err
		}
	}
	return q.PurgeAttempts(ctx, now.Add(-attemptsKept))
}

// Succeeded forgets the attempts by a name, and the one from an address that succeeded.
func (r *Records) Succeeded(ctx context.Context, name, address string) error {
	return wrap(r.inTx(ctx, func(q *pgdb.Queries) error {
		if err := q.GiveBackAttempts(ctx, []string{address}); err != nil {
			return err
		}
		return q.ForgetAttempts(ctx, name)
	}), "forget the attempts by", name)
}

// AuditFilter chooses entries of the audit; empty fields choose all.
type AuditFilter struct {
	Before  int64 // only entries with lower numbers, 0 = all
	Since   time.Time
	Until   time.Time
	Caller  string
	Action  string // such as user.grant, or user for all of a kind
	Subject string
	Limit   int
}

// AuditEntries lists entries of the audit, newest first.
func (r *Records) AuditEntries(ctx context.Context, f AuditFilter) ([]AuditEntry, error) {
	p := pgdb.AuditEntriesParams{Since: given(f.Since), Until: given(f.Until), Caller: f.Caller, Action: f.Action, Subject: f.Subject, MaxRows: int32(f.Limit)}
	if f.Before > 0 {
		p.Before = &f.Before
	}
	rows, err := r.q.AuditEntries(ctx, p)
	return rows, wrap(err, "list", "the audit")
}
