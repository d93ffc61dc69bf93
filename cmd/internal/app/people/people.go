// Package people has the use cases about users and programs: who they are, what they may
// do, how they prove who they are, and what is audited of what they did.
package people

import (
	"cmp"
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
	// DryRun says that nothing is changed: it is only found out what would be.
	DryRun bool
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

// errTried undoes a change that was only tried.
var errTried = errors.New("it was only tried")

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
	if done := do; by.DryRun {
		do = func(tx *record.PeopleTx) error { return cmp.Or(done(tx), errTried) }
	}
	err := p.Records.ChangePeople(ctx, record.AuditEntry{Caller: by.Name, Via: by.Via, Address: by.Address, Action: action, Subject: subject, Outcome: Done, Reason: reason}, do)
	if known, ok := errors.AsType[*app.Error](err); ok {
		return known
	}
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

// Change is what a command changes of a user, or would change.
type Change struct {
	User    User     // as it is then
	Changed bool     // whether it is not as it was before
	Effects []string // what else follows, a line each
}

// changeUser is change for what do does to a user, and returns that.
func (p *People) changeUser(ctx context.Context, by By, action, name, reason string, do func(tx *record.PeopleTx) (changed bool, effects []string, err error)) (c Change, err error) {
	err = p.changeNow(ctx, by, action, "user/"+name, reason, func(tx *record.PeopleTx) error {
		if c.Changed, c.Effects, err = do(tx); err != nil {
			return err
		}
		rows, err := tx.Users(name)
		if err != nil {
			return err
		}
		rights, err := tx.RightsOf(name)
		c.User = usersOf(rows, rights)[0]
		return err
	})
	if _, ok := errors.AsType[*repeatedError](err); ok {
		c = Change{Changed: action != actionGrant && action != actionWithdraw}
		c.User, err = p.Show(ctx, name)
	}
	return c, err
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
func (p *People) Add(ctx context.Context, by By, name string, f Profile, why string) (c Change, err error) {
	defer app.Explained(&err, "add the user "+name)
	if err := access.CheckName(name); err != nil {
		return c, invalid("", "%v", err)
	}
	if err := f.check(); err != nil {
		return c, err
	}
	return p.changeUser(ctx, by, "user.add", name, why, func(tx *record.PeopleTx) (bool, []string, error) {
		added, err := tx.AddUser(name, deref(f.DisplayName), deref(f.Mail))
		if err == nil && !added {
			err = &app.Error{Kind: app.Refused, Err: fmt.Errorf("there is a user %q already", name), Hint: "`accession user show " + name + "` shows it"}
		}
		return true, []string{"the user may do nothing before a right is granted, and signs in once a password is set"}, err
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Set changes what is said of a user. Who is bound to another person is signed out.
func (p *People) Set(ctx context.Context, by By, name string, f Profile, why string) (c Change, err error) {
	defer app.Explained(&err, "change the user "+name)
	if err := f.check(); err != nil {
		return c, err
	}
	return p.changeUser(ctx, by, "user.set", name, why, func(tx *record.PeopleTx) (changed bool, effects []string, err error) {
		u, err := lock(tx, by, name)
		if err != nil {
			return false, nil, err
		}
		if f.DisplayName != nil {
			u.DisplayName = *f.DisplayName
		}
		if f.Mail != nil {
			u.Mail = *f.Mail
		}
		if f.OpenID != nil {
			effects = []string{sessionsEnd}
			if err := f.OpenID.bind(tx, name); err != nil {
				return false, nil, err
			}
		}
		return true, effects, tx.SaveUser(u)
	})
}

// sessionsEnd says that a user is signed out.
const sessionsEnd = "sessions of the user end"

// Disable keeps a user, with all keys, from doing anything more, and ends the sessions; with
// enable the user may again.
func (p *People) Disable(ctx context.Context, by By, name string, enable bool, why string) (c Change, err error) {
	action, effects := "user.disable", []string{sessionsEnd, "password and keys of the user are refused until it is enabled"}
	if enable {
		action, effects = "user.enable", []string{"rights, password and keys count again, as they were"}
	}
	defer app.Explained(&err, strings.TrimPrefix(action, "user.")+" the user "+name)
	return p.changeUser(ctx, by, action, name, why, func(tx *record.PeopleTx) (bool, []string, error) {
		u, err := lock(tx, by, name)
		if err != nil {
			return false, nil, err
		}
		if u.DisabledAt = &tx.Now; enable {
			u.DisabledAt = nil
		}
		if err := tx.SaveUser(u); err != nil {
			return false, nil, err
		}
		return true, effects, tx.EndSessions(name)
	})
}

// Actions that change nothing where the right is, or is not, there.
const (
	actionGrant    = "user.grant"
	actionWithdraw = "user.withdraw"
)

// Grant adds a right of a user, or removes it.
func (p *People) Grant(ctx context.Context, by By, name string, r access.Right, withdraw bool, why string) (c Change, err error) {
	action, effect, none := actionGrant, "the user is "+r.String(), "nothing changes: the user has this right"
	if withdraw {
		action, effect, none = actionWithdraw, "the user is no "+r.String()+" any more, from the next request on", "nothing changes: the user has no such right"
	}
	defer app.Explained(&err, strings.TrimPrefix(action, "user.")+" a right of the user "+name)
	if err := r.Check(); err != nil {
		return c, invalid("name collections with --collection, or give --all", "%v", err)
	}
	return p.changeUser(ctx, by, action, name, why, func(tx *record.PeopleTx) (changed bool, effects []string, err error) {
		if _, err := lock(tx, by, name); err != nil {
			return false, nil, err
		}
		tx.Entry.Detail = r.String()
		if withdraw {
			changed, err = tx.Withdraw(name, r)
		} else {
			changed, err = tx.Grant(name, r)
		}
		if !changed {
			effect = none
		}
		return changed, []string{effect}, err
	})
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
	return usersOf(rows, rights), err
}

func usersOf(rows []record.User, rights map[string][]access.Right) []User {
	all := make([]User, len(rows))
	for i, row := range rows {
		all[i] = User{ID: row.Name, DisplayName: row.DisplayName, Mail: row.Mail, Rights: rightsOf(rights[row.Name]), HasPassword: row.HasPassword,
			CreatedAt: row.CreatedAt.UTC(), DisabledAt: row.DisabledAt, Version: row.Version}
		if row.Subject != "" {
			all[i].OpenID = &Identity{row.Issuer, row.Subject}
		}
	}
	return all
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
