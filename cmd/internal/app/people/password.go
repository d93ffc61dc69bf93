package people

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// Cost is what it takes to compute the hash of a password.
type Cost struct {
	MemoryKiB, Passes, Lanes int32
}

// DefaultCost is that of new passwords. Those of a lower cost are hashed again when their
// user signs in.
var DefaultCost = Cost{MemoryKiB: 19 << 10, Passes: 2, Lanes: 1}

// Bounds of passwords, in characters and bytes.
const (
	minPassword = 10
	maxPassword = 256
)

const hashSize, saltSize = 32, 16

// hashing bounds how many passwords are hashed at once: each takes the memory of its cost.
var hashing = make(chan struct{}, 2)

// checking is how many passwords are checked or wait for it, at most crowd: a crowd of them holds
// neither memory nor connections to the database, and the wait of the others is short.
var checking atomic.Int32

const (
	crowd      = 64
	retryCrowd = 2 * time.Second
)

// errCrowd refuses an attempt to sign in that does not count as one.
func errCrowd() error {
	return &app.Error{Kind: app.Full, What: "sign in", Err: errors.New("too many passwords are being checked at this moment"), RetryAfter: retryCrowd,
		Hint: "try again in a moment; keys and sessions need no check of a password"}
}

// hash returns argon2id of a password.
func (p *People) hash(ctx context.Context, password string, salt []byte, c Cost) ([]byte, error) {
	select {
	case hashing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-hashing }()
	idKey := p.idKey
	if idKey == nil {
		idKey = argon2.IDKey
	}
	return idKey([]byte(password), salt, uint32(c.Passes), uint32(c.MemoryKiB), uint8(c.Lanes), hashSize), nil
}

func (p *People) cost() Cost {
	if p.Cost == (Cost{}) {
		return DefaultCost
	}
	return p.Cost
}

// secretOf returns a new hash of a password.
func (p *People) secretOf(ctx context.Context, name, password string) (s record.Secret, err error) {
	c := p.cost()
	s = record.Secret{UserName: name, Salt: make([]byte, saltSize), MemoryKib: c.MemoryKiB, Passes: c.Passes, Lanes: c.Lanes}
	_, _ = rand.Read(s.Salt) // it never fails
	s.Hash, err = p.hash(ctx, password, s.Salt, c)
	return s, err
}

// matches reports whether a password is that of a user. For a user without one it takes as
// long.
func (p *People) matches(ctx context.Context, name, password string) (bool, error) {
	s, found, err := p.Records.Secret(ctx, name)
	if err != nil {
		return false, err
	}
	c := Cost{s.MemoryKib, s.Passes, s.Lanes}
	if !found {
		c, s.Salt, s.Hash = p.cost(), make([]byte, saltSize), make([]byte, hashSize)
	}
	got, err := p.hash(ctx, password, s.Salt, c)
	if err != nil || subtle.ConstantTimeCompare(got, s.Hash) != 1 || !found {
		return false, err
	}
	if want := p.cost(); c.MemoryKiB < want.MemoryKiB || c.Passes < want.Passes {
		again, err := p.secretOf(ctx, name, password)
		if err == nil {
			err = p.Records.Rehash(ctx, s.Hash, again)
		}
		return true, err
	}
	return true, nil
}

// SetPassword sets the password of a user, whose sessions end.
func (p *People) SetPassword(ctx context.Context, by By, name, password, why string) (c Change, err error) {
	defer app.Explained(&err, "set the password of "+name)
	if n := utf8.RuneCountInString(password); n < minPassword || len(password) > maxPassword || !utf8.ValidString(password) {
		return c, invalid("", "a password has at least %d characters and at most %d bytes of UTF-8", minPassword, maxPassword)
	}
	s, err := p.secretOf(ctx, name, password)
	if err != nil {
		return c, err
	}
	return p.changeUser(ctx, by, "user.password", name, why, func(tx *record.PeopleTx) (bool, []string, error) {
		if _, err := lock(tx, by, name); err != nil {
			return false, nil, err
		}
		return true, []string{sessionsEnd, "a password of before is refused"}, tx.PutSecret(s)
	})
}
