package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/text"
)

// keyBegins begins every API key, so that scanners for secrets know it: acc_PREFIX_SECRET.
const keyBegins = "acc_"

const prefixSize = 8

// keyForm is what keys look like.
var keyForm = regexp.MustCompile(`^acc_[a-z0-9]{8}_[a-z0-9]{52}$`)

// Key is an API key without its secret.
type Key struct {
	ID          string        `json:"id"` // its prefix
	User        string        `json:"user"`
	Label       string        `json:"label,omitempty"`
	Roles       []access.Role `json:"roles,omitempty"`
	Collections []string      `json:"collections,omitempty"`
	CreatedAt   time.Time     `json:"created_at"`
	ExpiresAt   *time.Time    `json:"expires_at,omitempty"`
	RevokedAt   *time.Time    `json:"revoked_at,omitempty"`
	UsedOn      string        `json:"used_on,omitempty"` // the last day (UTC)
	Version     int64         `json:"version"`           // for If-Match: 1, and 2 once it is revoked
	// Secret is the whole key, which is shown when it is made, and never again.
	Secret string `json:"secret,omitempty"`
}

// NewKey describes an API key that is to be made.
type NewKey struct {
	User, Label string
	// Roles and Collections limit the rights of the key to a part of its user's; empty = to
	// no part.
	Roles       []access.Role
	Collections []string
	Expires     time.Time // zero = never
}

// MadeKey is an API key that was made, or of a dry run would be: without prefix and secret then.
type MadeKey struct {
	Key
	DryRun  bool     `json:"dry_run,omitempty"`
	Effects []string `json:"effects,omitempty" doc:"What follows from it"`
}

// AddKey makes an API key.
func (p *People) AddKey(ctx context.Context, by By, n NewKey, why string) (k MadeKey, err error) {
	defer app.Explained(&err, "make a key of "+n.User)
	if len(n.Label) > 200 || !text.Valid(n.Label) {
		return k, invalid("", "the label is too long, or is not text: use at most 200 bytes of it")
	}
	row := record.Key{UserName: n.User, Label: n.Label, Roles: []string{}, Collections: append([]string{}, n.Collections...)}
	for _, r := range n.Roles {
		if _, err := access.ParseRole(string(r)); err != nil {
			return k, invalid("", "%v", err)
		}
		row.Roles = append(row.Roles, string(r))
	}
	if !n.Expires.IsZero() {
		row.ExpiresAt = &n.Expires
	}
	row.Prefix = strings.ToLower(rand.Text())[:prefixSize]
	secret := keyBegins + row.Prefix + "_" + strings.ToLower(rand.Text()+rand.Text())
	sum := sha256.Sum256([]byte(secret))
	row.Sha256 = sum[:]
	err = p.changeNow(ctx, by, "key.add", "key/"+row.Prefix, why, func(tx *record.PeopleTx) error {
		if _, err := lock(tx, By{}, n.User); err != nil {
			return err
		}
		if !n.Expires.IsZero() && !n.Expires.After(tx.Now) {
			return invalid("give a time to come, such as 90d", "the key would have expired on %s", n.Expires.UTC().Format(time.DateTime))
		}
		row.CreatedAt = tx.Now
		tx.Entry.Detail = "of user/" + n.User
		return tx.AddKey(row)
	})
	if again, ok := errors.AsType[*repeatedError](err); ok {
		prefix := strings.TrimPrefix(again.subject, "key/")
		return k, &app.Error{Kind: app.Refused, Err: fmt.Errorf("the key %s was made by this request before, and is shown once", prefix),
			Hint: "if it did not arrive, `accession key revoke " + prefix + "`, and make another by a new request"}
	}
	k = MadeKey{Key: keyOf(row), DryRun: by.DryRun, Effects: []string{"a program that has the key may do what " + n.User + " may" + n.limits()}}
	if k.Secret = secret; by.DryRun {
		k.ID, k.Secret = "", ""
	}
	return k, err
}

// limits returns what a key is limited to, as people read it.
func (n NewKey) limits() string {
	var parts []string
	if len(n.Roles) > 0 {
		roles := make([]string, len(n.Roles))
		for i, r := range n.Roles {
			roles[i] = string(r)
		}
		parts = append(parts, "as "+strings.Join(roles, ", "))
	}
	if len(n.Collections) > 0 {
		parts = append(parts, "in "+strings.Join(n.Collections, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, " ") + " only"
}

// RevokeKey revokes an API key, and returns what follows from it.
func (p *People) RevokeKey(ctx context.Context, by By, prefix, why string) (effects []string, err error) {
	defer app.Explained(&err, "revoke the key "+prefix)
	err = p.change(ctx, by, "key.revoke", "key/"+prefix, why, func(tx *record.PeopleTx) error {
		k, found, err := tx.Key(prefix)
		if err == nil && !found {
			err = &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no key %q", prefix), Hint: "`accession key ls` lists them by their prefixes"}
		}
		if err == nil {
			err = by.outdated(keyOf(k).Version)
		}
		if err != nil {
			return err
		}
		if effects = []string{"programs with the key of " + k.UserName + " are refused, from the next request on"}; k.RevokedAt != nil {
			effects = []string{"nothing changes: it is revoked already"}
		}
		tx.Entry.Detail = "of user/" + k.UserName
		return tx.RevokeKey(k)
	})
	return effects, err
}

// Keys lists API keys, of a user or of all, from a cursor on.
func (p *People) Keys(ctx context.Context, user string, limit int, from app.Cursor) (page app.Page[Key], err error) {
	defer app.Explained(&err, "list keys")
	after, err := app.After(from, "key", asItIs)
	if err != nil {
		return page, err
	}
	if user != "" {
		if _, err := p.Show(ctx, user); err != nil {
			return page, err
		}
	}
	rows, err := p.Records.Keys(ctx, user, after, limit+1)
	all := make([]Key, len(rows))
	for i, row := range rows {
		all[i] = keyOf(row)
	}
	return app.PageOf(limit, all, "key", func(k Key) string { return k.ID }), err
}

func keyOf(row record.Key) Key {
	k := Key{ID: row.Prefix, User: row.UserName, Label: row.Label, Collections: row.Collections, CreatedAt: row.CreatedAt.UTC(), ExpiresAt: row.ExpiresAt, RevokedAt: row.RevokedAt, Version: 1}
	if k.RevokedAt != nil {
		k.Version = 2
	}
	for _, r := range row.Roles {
		k.Roles = append(k.Roles, access.Role(r))
	}
	if row.UsedOn.Valid {
		k.UsedOn = row.UsedOn.Time.Format(time.DateOnly)
	}
	return k
}

// limited returns the part of a user's rights that a key has.
func limited(rights []access.Right, k record.Key) (left []access.Right) {
	for _, r := range rights {
		if len(k.Roles) > 0 && !slices.Contains(k.Roles, string(r.Role)) {
			continue
		}
		if len(k.Collections) > 0 {
			r.Scope = access.In(slices.DeleteFunc(slices.Clone(k.Collections), func(c string) bool { return !r.Scope.Covers(c) })...)
		}
		if r.Check() == nil { // such as an admin in some collections
			left = append(left, r)
		}
	}
	return left
}
