package record

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
)

// BindOpenID says who a user that is locked is at an OpenID Connect provider, "" = nothing, and
// ends the sessions of the user; false = another user is that person.
func (tx *PeopleTx) BindOpenID(user, issuer, subject string) (bound bool, err error) {
	if err := tx.q.RemoveOpenID(tx.ctx, user); err != nil {
		return false, err
	}
	if subject != "" {
		n, err := tx.q.AddOpenID(tx.ctx, pgdb.AddOpenIDParams{UserName: user, Issuer: issuer, Subject: subject, Now: tx.Now})
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, tx.EndSessions(user)
}

// UserOfOpenID returns the user who is a person at an OpenID Connect provider, "" = none.
func (r *Records) UserOfOpenID(ctx context.Context, issuer, subject string) (string, error) {
	name, err := r.q.UserOfOpenID(ctx, pgdb.UserOfOpenIDParams{Issuer: issuer, Subject: subject})
	return name, wrap(noRows(err), "find the user of", issuer)
}

// UserOfOpenID is that of [Records] within a change.
func (tx *PeopleTx) UserOfOpenID(issuer, subject string) (string, error) {
	name, err := tx.q.UserOfOpenID(tx.ctx, pgdb.UserOfOpenIDParams{Issuer: issuer, Subject: subject})
	return name, noRows(err)
}

// openIDKept is for how long a sign-in by an OpenID Connect provider stays that did not come back.
const openIDKept = time.Hour

// BeginOpenID keeps a sign-in by an OpenID Connect provider that begins, by the digest of its token,
// and removes some that have expired long ago.
func (r *Records) BeginOpenID(ctx context.Context, sha256 []byte, next string, lasts time.Duration) error {
	return wrap(r.inTx(ctx, func(q *pgdb.Queries) error {
		now, err := q.Now(ctx)
		if err != nil {
			return err
		}
		if err := q.PurgeOpenID(ctx, now.Add(-openIDKept)); err != nil {
			return err
		}
		return q.BeginOpenID(ctx, pgdb.BeginOpenIDParams{Sha256: sha256, Next: next, ExpiresAt: now.Add(lasts)})
	}), "begin", "a sign-in")
}

// EndOpenID ends a sign-in that comes back, and returns the page to which it leads; found = false if
// there is none, it has expired, or it came back before.
func (r *Records) EndOpenID(ctx context.Context, sha256 []byte) (next string, found bool, err error) {
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		now, err := q.Now(ctx)
		if err != nil {
			return err
		}
		row, err := q.EndOpenID(ctx, sha256)
		next, found = row.Next, err == nil && now.Before(row.ExpiresAt)
		return noRows(err)
	})
	return next, found && err == nil, wrap(err, "end", "a sign-in")
}

// GiveBack makes an attempt from an address count no more: it succeeded, or others were at fault.
func (r *Records) GiveBack(ctx context.Context, address string) error {
	return wrap(r.inTx(ctx, func(q *pgdb.Queries) error { return q.GiveBackAttempts(ctx, []string{address}) }), "give back an attempt from", address)
}
