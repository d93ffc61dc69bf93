package leases

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// request is a claim that a worker may send again under its idempotency key because it got no
// answer. The token is then made again, of the key, which only the worker has, and of the salt
// in the lease: neither alone says anything about it.
type request struct {
	key     string // "" = it cannot be sent again
	said    []byte
	command string // of the event by which it takes work
	before  int64  // see eventstore.Lease
}

// newRequest returns the claim of a caller of work of a kind, with what it says.
func newRequest(a *app.App, of, key string, body any) (r request, err error) {
	if key == "" {
		return r, nil
	}
	who := string(a.Actor) + "\x00" + of + "\x00" + key
	r.key, r.command = who, eventstore.ClaimCommand+digest(who)[:40]
	r.said, err = json.Marshal(body)
	return r, err
}

// meta returns what is written beside the claim.
func (r request) meta(a *app.App) eventstore.Meta {
	m := a.Meta()
	if r.key != "" {
		m.CommandID = r.command
	}
	return m
}

// lease returns a new lease of a worker, with the secret of its token.
func (r request) lease(worker string, timeout time.Duration) (secret string, l eventstore.Lease) {
	secret, l = rand.Text(), eventstore.Lease{Worker: worker, Timeout: timeout}
	if r.key != "" {
		l.Command, l.Before, l.Salt = r.command, r.before, secret
		secret = r.secret(l.Salt)
	}
	l.SHA256 = digest(secret)
	return secret, l
}

// secret returns the secret of the token of a lease that was taken by the request.
func (r request) secret(salt string) string {
	h := hmac.New(sha256.New, []byte(r.key))
	h.Write([]byte(salt))
	h.Write(r.said)
	return hex.EncodeToString(h.Sum(nil))
}

// taken returns the entry that the same request has taken before, if its lease lasts: that
// begins again. The entry is empty otherwise.
func (r *request) taken(ctx context.Context, handler *eventstore.Handler) (e compute.Entry, l eventstore.Lease, secret string, err error) {
	if r.key == "" {
		return e, l, "", nil
	}
	id, l, err := handler.Leases.LeaseOfCommand(ctx, r.command)
	r.before = l.Before
	if errors.Is(err, eventstore.ErrNotFound) {
		return e, l, "", nil
	}
	if err != nil {
		return e, l, "", err
	}
	secret = r.secret(l.Salt)
	if digest(secret) != l.SHA256 {
		return e, l, "", &app.Error{Kind: app.KeyReused, Err: fmt.Errorf("the key was used for another claim, by which %s was taken", id), Hint: "nothing was taken: send the claim as it was, or give this one a key of its own"}
	}
	at, l, err := handler.RenewLease(ctx, id, l.SHA256, "")
	if errors.Is(err, eventstore.ErrFenced) {
		return e, l, "", nil // it has ended in this moment
	}
	return at.State, l, secret, err
}
