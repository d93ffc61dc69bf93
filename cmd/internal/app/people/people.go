// Package people has the use cases about users and programs: who they are, what they may
// do, how they prove who they are, and what is audited of what they did.
package people

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
)

// By is who asks for a change, and how that is known.
type By struct {
	Name    string
	Via     string // machine, password, session, or key and its prefix
	Address string // from where, "" = unknown

	// Command is the id of the command, the same whenever its request is repeated, and
	// Request the digest of what is requested; "" = it is a new one.
	Command, Request string
	// IfVersion is the only version of what is changed that may be changed, 0 = any.
	IfVersion int64
}

// Machine is a user of the operating system, who has the installation's settings and so
// every right.
func Machine(a *app.App) By {
	host, _ := os.Hostname() // "" is as good
	return By{Name: strings.TrimPrefix(string(a.Actor), "user/"), Via: "machine", Address: host}
}

// People are the users of an installation.
type People struct {
	Records *record.Records
	Cost    Cost // of hashes of passwords; the zero value is DefaultCost

	idKey func(password, salt []byte, passes, memory uint32, lanes uint8, size uint32) []byte // nil = argon2.IDKey
}

// Of returns the people of an installation.
func Of(ctx context.Context, a *app.App) (*People, error) {
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	return &People{Records: records}, nil
}

// User is a user, with its rights.
type User struct {
	ID          string     `json:"id"` // its name
	DisplayName string     `json:"display_name,omitempty"`
	Mail        string     `json:"mail,omitempty"`
	Rights      []Right    `json:"rights"`
	HasPassword bool       `json:"has_password"`
	OpenID      *Identity  `json:"openid,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	DisabledAt  *time.Time `json:"disabled_at,omitempty"`
	Version     int64      `json:"version"` // of the user, its rights and its password, for If-Match
}

// Right is a role in all collections, or in some.
type Right struct {
	Role        access.Role `json:"role" enum:"reader,depositor,operator,admin" doc:"reader, depositor, operator or admin"`
	All         bool        `json:"all,omitempty" doc:"In all collections"`
	Collections []string    `json:"collections,omitempty" doc:"In these collections"`
}

// The outcomes of what is audited.
const (
	Done    = "done"
	Refused = "refused"
	Failed  = "failed"
)

// repeatedError ends a change that was made before by the same command.
type repeatedError struct{ subject string }

// Error implements error.
func (e *repeatedError) Error() string { return e.subject + " was changed by this request before" }

// once returns a change that is made once by one command, however often it is requested.
func (by By) once(subject string, do func(tx *record.PeopleTx) error) func(tx *record.PeopleTx) error {
	if by.Command == "" {
		return do
	}
	return func(tx *record.PeopleTx) error {
		c, first, err := tx.Once(by.Command, by.Request, subject)
		switch {
		case err != nil:
			return err
		case c.RequestSha256 != by.Request:
			return &app.Error{Kind: app.KeyReused, Err: errors.New("this key was used for another request"), Hint: "use a new one for every request"}
		case !first:
			return &repeatedError{c.Subject}
		}
		return do(tx)
	}
}

// change changes people and audits it. What the same command has changed before stays as it
// is. The error is that of do, if that is an *app.Error.
func (p *People) change(ctx context.Context, by By, action, subject, reason string, do func(tx *record.PeopleTx) error) error {
	err := p.changeNow(ctx, by, action, subject, reason, do)
	if _, ok := errors.AsType[*repeatedError](err); ok {
		return nil
	}
	return err
}

// changeNow is change, but what the same command has changed before is a *repeatedError.
func (p *People) changeNow(ctx context.Context, by By, action, subject, reason string, do func(tx *record.PeopleTx) error) error {
	do = by.once(subject, do)
	err := p.Records.ChangePeople(ctx, record.AuditEntry{Caller: by.Name, Via: by.Via, Address: by.Address, Action: action, Subject: subject, Outcome: Done, Reason: reason}, do)
	if known, ok := errors.AsType[*app.Error](err); ok {
		return known
	}
	return err
}

// lock keeps a user from being changed by others. It must be there, in the version that may
// be changed.
func lock(tx *record.PeopleTx, by By, name string) (record.LockedUser, error) {
	u, found, err := tx.User(name)
	if err == nil && !found {
		err = noUser(name)
	}
	if err == nil {
		err = by.outdated(u.Version)
	}
	return u, err
}

// outdated returns an error if what is to be changed has another version than the one that may be.
func (by By) outdated(version int64) (err error) {
	defer app.Explained(&err, "")
	return eventstore.Meta{IfVersion: by.IfVersion}.Outdated(version)
}

func noUser(name string) error {
	return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("there is no user %q", name), Hint: "`accession user ls` lists them"}
}

func invalid(hint, format string, args ...any) error {
	return &app.Error{Kind: app.Invalid, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Profile is what is said of a user; nil = it stays as it is.
type Profile struct {
	DisplayName, Mail *string
	OpenID            *Identity // who signs in as the user; one without a subject = no person does
}

func (f Profile) check() error {
	for what, s := range map[string]*string{"display name": f.DisplayName, "mail address": f.Mail} {
		if s != nil && (len(*s) > 200 || !text.Valid(*s)) {
			return invalid("", "the %s has %d bytes, or is not text: use at most 200 bytes of it", what, len(*s))
		}
	}
	if f.Mail != nil && *f.Mail != "" && !strings.Contains(*f.Mail, "@") {
		return invalid("write user@host", "%q is no mail address", *f.Mail)
	}
	if f.OpenID != nil {
		return f.OpenID.check()
	}
	return nil
}

// Add adds a user, who has no rights and no password yet.
func (p *People) Add(ctx context.Context, by By, name string, f Profile, why string) (err error) {
	defer app.Explained(&err, "add the user "+name)
	if err := access.CheckName(name); err != nil {
		return invalid("", "%v", err)
	}
	if err := f.check(); err != nil {
		return err
	}
	return p.change(ctx, by, "user.add", "user/"+name, why, func(tx *record.PeopleTx) error {
		added, err := tx.AddUser(name, deref(f.DisplayName), deref(f.Mail))
		if err == nil && !added {
			err = &app.Error{Kind: app.Refused, Err: fmt.Errorf("there is a user %q already", name), Hint: "`accession user show " + name + "` shows it"}
		}
		return err
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Set changes what is said of a user. Who is bound to another person is signed out.
func (p *People) Set(ctx context.Context, by By, name string, f Profile, why string) (err error) {
	defer app.Explained(&err, "change the user "+name)
	if err := f.check(); err != nil {
		return err
	}
	return p.change(ctx, by, "user.set", "user/"+name, why, func(tx *record.PeopleTx) error {
		u, err := lock(tx, by, name)
		if err != nil {
			return err
		}
		if f.DisplayName != nil {
			u.DisplayName = *f.DisplayName
		}
		if f.Mail != nil {
			u.Mail = *f.Mail
		}
		if f.OpenID != nil {
			if err := f.OpenID.bind(tx, name); err != nil {
				return err
			}
		}
		return tx.SaveUser(u)
	})
}

// Disable keeps a user, with all keys, from doing anything more, and ends the sessions; with
// enable the user may again.
func (p *People) Disable(ctx context.Context, by By, name string, enable bool, why string) (err error) {
	action := "user.disable"
	if enable {
		action = "user.enable"
	}
	defer app.Explained(&err, strings.TrimPrefix(action, "user.")+" the user "+name)
	return p.change(ctx, by, action, "user/"+name, why, func(tx *record.PeopleTx) error {
		u, err := lock(tx, by, name)
		if err != nil {
			return err
		}
		if u.DisabledAt = &tx.Now; enable {
			u.DisabledAt = nil
		}
		if err := tx.SaveUser(u); err != nil {
			return err
		}
		return tx.EndSessions(name)
	})
}

// Grant adds a right of a user, or removes it.
func (p *People) Grant(ctx context.Context, by By, name string, r access.Right, withdraw bool, why string) (changed bool, err error) {
	action := "user.grant"
	if withdraw {
		action = "user.withdraw"
	}
	defer app.Explained(&err, strings.TrimPrefix(action, "user.")+" a right of the user "+name)
	if err := r.Check(); err != nil {
		return false, invalid("name collections with --collection, or give --all", "%v", err)
	}
	err = p.change(ctx, by, action, "user/"+name, why, func(tx *record.PeopleTx) error {
		if _, err := lock(tx, by, name); err != nil {
			return err
		}
		tx.Entry.Detail = r.String()
		if withdraw {
			changed, err = tx.Withdraw(name, r)
		} else {
			changed, err = tx.Grant(name, r)
		}
		return err
	})
	return changed, err
}

// List lists users by name, from a cursor on.
func (p *People) List(ctx context.Context, limit int, from app.Cursor) (page app.Page[User], err error) {
	defer app.Explained(&err, "list users")
	after, err := app.After(from, "user", asItIs)
	if err != nil {
		return page, err
	}
	rows, err := p.Records.Users(ctx, after, limit+1)
	if err != nil {
		return page, err
	}
	all, err := p.withRights(ctx, rows)
	return app.PageOf(limit, all, "user", func(u User) string { return u.ID }), err
}

// Show shows one user.
func (p *People) Show(ctx context.Context, name string) (u User, err error) {
	defer app.Explained(&err, "show the user "+name)
	rows, err := p.Records.Users(ctx, "", 1, name)
	if err == nil && len(rows) == 0 {
		err = noUser(name)
	}
	if err != nil {
		return u, err
	}
	all, err := p.withRights(ctx, rows)
	if err != nil {
		return u, err
	}
	return all[0], nil
}

// asItIs takes the last name of a page as it is.
func asItIs(s string) (string, error) { return s, nil }

func (p *People) withRights(ctx context.Context, rows []record.User) ([]User, error) {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	rights, err := p.Records.RightsOf(ctx, names...)
	all := make([]User, len(rows))
	for i, row := range rows {
		all[i] = User{ID: row.Name, DisplayName: row.DisplayName, Mail: row.Mail, Rights: rightsOf(rights[row.Name]), HasPassword: row.HasPassword,
			CreatedAt: row.CreatedAt.UTC(), DisabledAt: row.DisabledAt, Version: row.Version}
		if row.Subject != "" {
			all[i].OpenID = &Identity{row.Issuer, row.Subject}
		}
	}
	return all, err
}

func rightsOf(rights []access.Right) []Right {
	all := make([]Right, len(rights))
	for i, r := range rights {
		all[i] = Right{Role: r.Role, All: r.Scope.All, Collections: slices.Sorted(slices.Values(r.Scope.Collections))}
	}
	return all
}

// Self is who calls, and what the caller may do.
type Self struct {
	Name   string  `json:"name" doc:"Name of the user"`
	Rights []Right `json:"rights" doc:"What the user may do"`
}

// SelfOf returns what a caller is told about itself.
func SelfOf(c access.Caller) Self { return Self{Name: c.Name, Rights: rightsOf(c.Rights)} }
