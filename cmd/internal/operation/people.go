package operation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain/access"
)

// UserName names a user.
type UserName struct {
	Name string `path:"name" maxLength:"64" example:"ana" doc:"Name of the user"`
}

// Keyed makes a request that is repeated have its effect once.
type Keyed struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"The same for every try of one request: it then has its effect once"`
}

// key implements keyed.
func (k *Keyed) key() string { return k.Key }

// Trial is what commands take that are tried, and have no version.
type Trial struct {
	DryRun bool `query:"dry_run" doc:"Answer with what would change, and change nothing"`
}

func (t *Trial) prepare(_ *Operation, c *Call) error { //nolint:unparam // as prepared has it
	c.App.DryRun = t.DryRun
	return nil
}

// IfMatch is what commands about users and keys take of the version that may be changed.
type IfMatch struct {
	Trial
	IfMatch string `header:"If-Match" maxLength:"60" example:"\"7\"" doc:"ETag of the version that may be changed"`
}

func (m *IfMatch) prepare(_ *Operation, c *Call) (err error) {
	c.App.DryRun = m.DryRun
	c.By.IfVersion, err = versionIn(m.IfMatch)
	return err
}

// keyed is an input that has the key of its request.
type keyed interface{ key() string }

// once returns who asks, with the id of the command if the request has a key. What is only tried
// is not kept under it.
func once(c *Call, name string, in any) people.By {
	by := c.By
	by.DryRun = c.App.DryRun
	k, ok := in.(keyed)
	if !ok || k.key() == "" || by.DryRun {
		return by
	}
	v := reflect.ValueOf(in).Elem()
	request, err := json.Marshal([]any{in.(about).Subject(), v.FieldByName("Body").Interface()})
	if err != nil {
		panic(err) // a fault of the table: it came as JSON
	}
	sum := sha256.Sum256(request)
	by.Command, by.Request = commandID(c, name, k.key()), hex.EncodeToString(sum[:])
	return by
}

// NewUser adds a user.
type NewUser struct {
	Keyed
	Trial
	Body struct {
		Name        string `json:"name" maxLength:"64" example:"ana" doc:"1 to 64 of a-z, 0-9, dot, underscore, at sign and hyphen"`
		DisplayName string `json:"display_name,omitempty" maxLength:"200" doc:"How people call the user"`
		Mail        string `json:"mail,omitempty" maxLength:"200" doc:"Mail address"`
		Reason      string `json:"reason,omitempty" maxLength:"500" doc:"Why; the audit has it"`
	}
}

// UserSet changes what is said of a user.
type UserSet struct {
	Keyed
	IfMatch
	UserName
	Body struct {
		DisplayName *string          `json:"display_name,omitempty" maxLength:"200" doc:"How people call the user; absent = as it is"`
		Mail        *string          `json:"mail,omitempty" maxLength:"200" doc:"Mail address; absent = as it is"`
		OpenID      *people.Identity `json:"openid,omitempty" doc:"Who signs in as the user at the OpenID Connect provider; absent = as it is; the sessions of the user end"`
		Reason      string           `json:"reason,omitempty" maxLength:"500" doc:"Why; the audit has it"`
	}
}

// UserPassword sets a password.
type UserPassword struct {
	IfMatch
	UserName
	Body struct {
		Password string `json:"password" secret:"true" maxLength:"256" doc:"At least 10 characters"`
		Reason   string `json:"reason,omitempty" maxLength:"500" doc:"Why; the audit has it"`
	}
}

// UserRight adds or removes a right of a user.
type UserRight struct {
	Keyed
	IfMatch
	UserName
	Body struct {
		people.Right
		Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why; the audit has it"`
	}
}

// UserReason is a command about a user.
type UserReason struct {
	Keyed
	IfMatch
	UserName
	Body *Reason `doc:"Why"`
}

// NewKey makes an API key.
type NewKey struct {
	Keyed
	Trial
	Body struct {
		User        string        `json:"user" maxLength:"64" doc:"As whom the key acts"`
		Label       string        `json:"label,omitempty" maxLength:"200" doc:"What it is for"`
		Roles       []access.Role `json:"roles,omitempty" maxItems:"4" enum:"reader,depositor,operator,admin" doc:"Rights in these roles only"`
		Collections []string      `json:"collections,omitempty" maxItems:"1000" doc:"Rights in these collections only"`
		ExpiresAt   time.Time     `json:"expires_at,omitzero" doc:"From when on it is refused; absent = never"`
		Reason      string        `json:"reason,omitempty" maxLength:"500" doc:"Why; the audit has it"`
	}
}

// KeyPrefix names an API key.
type KeyPrefix struct {
	Keyed
	IfMatch
	Prefix string  `path:"prefix" maxLength:"20" doc:"What the key shows of itself: acc_PREFIX_SECRET"`
	Body   *Reason `doc:"Why"`
}

// KeyList chooses API keys.
type KeyList struct {
	Page
	User string `query:"user" maxLength:"64" doc:"Only of this user"`
}

// AuditList chooses entries of the audit.
type AuditList struct {
	Page
	Audited
}

// Audited chooses what was audited.
type Audited struct {
	Age
	User   string `query:"user" maxLength:"64" doc:"Only what this user did"`
	Action string `query:"action" maxLength:"64" doc:"Only this action, such as user.grant, or user for all of a kind"`
	On     string `query:"on" maxLength:"200" doc:"Only what was done to this, such as user/ana"`
}

func (a *Audited) filter() people.AuditFilter {
	return people.AuditFilter{Since: a.Since, Until: a.OlderThan, Caller: a.User, Action: a.Action, Subject: a.On}
}

// AuditReport is the audit in a format.
type AuditReport struct {
	Audited
	Format string `query:"format" enum:"text,csv,json,html" default:"csv" doc:"Format of the report"`
}

// why returns the reason of a command, "" = none is given.
func (r *Reason) why() string {
	if r == nil {
		return ""
	}
	return r.Reason
}

// administer returns the row of an operation on people: only an admin may request it.
func administer[I, O any](name, method, path, summary string, do func(ctx context.Context, c *Call, p *people.People, in *I) (O, error)) *Operation {
	return row(Operation{Name: name, Method: method, Path: path, Summary: summary, Need: access.Administer, On: OnInstallation,
		Write: method != http.MethodGet, Audits: true}, func(ctx context.Context, c *Call, in *I) (out O, err error) {
		p, err := people.Of(ctx, c.App)
		if err != nil {
			return out, err
		}
		c.By = once(c, name, in)
		return do(ctx, c, p, in)
	})
}

// userChange is administer for a command that answers with the user as it is then.
func userChange[I any](verb, path, summary string, do func(ctx context.Context, c *Call, p *people.People, in *I) (people.Change, error)) *Operation {
	return administer("user."+verb, http.MethodPost, path, summary, func(ctx context.Context, c *Call, p *people.People, in *I) (u ChangedUser, err error) {
		changed, err := do(ctx, c, p, in)
		if err == nil && !c.App.DryRun {
			c.version = changed.User.Version
		}
		return ChangedUser{changed.User, changed.Changed, c.App.DryRun, changed.Effects}, err
	})
}

// ChangedUser is a user after a change.
type ChangedUser struct {
	people.User
	Changed bool     `json:"changed" doc:"Whether it is not as it was before"`
	DryRun  bool     `json:"dry_run,omitempty" doc:"Nothing was changed: so it would be"`
	Effects []string `json:"effects,omitempty" doc:"What follows from it"`
}

func users() []*Operation {
	able := func(verb, summary string, enable bool) *Operation {
		return userChange(verb, "/v1/users/{name}/"+verb, summary, func(ctx context.Context, c *Call, p *people.People, in *UserReason) (people.Change, error) {
			if !enable && in.Name == c.Caller.Name && !c.machine {
				return people.Change{}, &app.Error{Kind: app.Refused, What: "disable the user " + in.Name, Err: errors.New("that is you"), Hint: "another admin can"}
			}
			return p.Disable(ctx, c.By, in.Name, enable, in.Body.why())
		})
	}
	grant := func(verb, summary string, withdraw bool) *Operation {
		return userChange(verb, "/v1/users/{name}/"+verb, summary, func(ctx context.Context, c *Call, p *people.People, in *UserRight) (people.Change, error) {
			r := access.Right{Role: in.Body.Role, Scope: access.Scope{All: in.Body.All, Collections: in.Body.Collections}}
			return p.Grant(ctx, c.By, in.Name, r, withdraw, in.Body.Reason)
		})
	}
	return []*Operation{
		administer("user.ls", http.MethodGet, "/v1/users", "List users and their rights", func(ctx context.Context, _ *Call, p *people.People, in *Page) (app.Page[people.User], error) {
			return p.List(ctx, in.Limit, app.Cursor(in.Cursor))
		}),
		administer("user.show", http.MethodGet, "/v1/users/{name}", "Show a user and its rights", func(ctx context.Context, c *Call, p *people.People, in *UserName) (people.User, error) {
			u, err := p.Show(ctx, in.Name)
			c.version = u.Version
			return u, err
		}),
		userChange("add", "/v1/users", "Add a user, who may do nothing yet", func(ctx context.Context, c *Call, p *people.People, in *NewUser) (people.Change, error) {
			b := in.Body
			return p.Add(ctx, c.By, b.Name, people.Profile{DisplayName: &b.DisplayName, Mail: &b.Mail}, b.Reason)
		}),
		userChange("set", "/v1/users/{name}/set", "Change the display name or mail address of a user, or who signs in as it", func(ctx context.Context, c *Call, p *people.People, in *UserSet) (people.Change, error) {
			return p.Set(ctx, c.By, in.Name, people.Profile{DisplayName: in.Body.DisplayName, Mail: in.Body.Mail, OpenID: in.Body.OpenID}, in.Body.Reason)
		}),
		userChange("password", "/v1/users/{name}/password", "Set the password of a user, whose sessions end", func(ctx context.Context, c *Call, p *people.People, in *UserPassword) (people.Change, error) {
			return p.SetPassword(ctx, c.By, in.Name, in.Body.Password, in.Body.Reason)
		}),
		able("disable", "Let a user do nothing more", false),
		able("enable", "Let a disabled user in again", true),
		grant("grant", "Give a user a role in collections", false),
		grant("withdraw", "Take a role in collections away from a user", true),
		administer("key.ls", http.MethodGet, "/v1/keys", "List API keys", func(ctx context.Context, _ *Call, p *people.People, in *KeyList) (app.Page[people.Key], error) {
			return p.Keys(ctx, in.User, in.Limit, app.Cursor(in.Cursor))
		}),
		administer("key.add", http.MethodPost, "/v1/keys", "Make an API key, which is shown once", func(ctx context.Context, c *Call, p *people.People, in *NewKey) (people.MadeKey, error) {
			b := in.Body
			k, err := p.AddKey(ctx, c.By, people.NewKey{User: b.User, Label: b.Label, Roles: b.Roles, Collections: b.Collections, Expires: b.ExpiresAt}, b.Reason)
			if !k.DryRun {
				c.version = k.Version
			}
			return k, err
		}),
		administer("key.revoke", http.MethodPost, "/v1/keys/{prefix}/revoke", "Revoke an API key", func(ctx context.Context, c *Call, p *people.People, in *KeyPrefix) (Revoked, error) {
			effects, err := p.RevokeKey(ctx, c.By, in.Prefix, in.Body.why())
			return Revoked{in.Prefix, c.App.DryRun, effects}, err
		}),
		administer("audit.ls", http.MethodGet, "/v1/audit", "List what was done and refused, newest first", func(ctx context.Context, _ *Call, p *people.People, in *AuditList) (app.Page[people.Entry], error) {
			list, err := p.Audit(ctx, in.filter(), in.Limit, app.Cursor(in.Cursor))
			if err == nil && len(list.Items) == 0 && in.User != "" {
				_, err = p.Show(ctx, in.User)
			}
			return list, err
		}),
		stream(Operation{Name: "audit.report", Method: http.MethodGet, Path: "/v1/audit/report", Summary: "Get what was done and refused as a report, newest first",
			Need: access.Administer, On: OnInstallation, Sends: reportTypes()}, func(ctx context.Context, c *Call, in *AuditReport) (send, error) {
			p, err := people.Of(ctx, c.App)
			if err != nil {
				return nil, err
			}
			return written(p.Report(ctx, in.filter()), in.Format, "", time.Now()), nil
		}),
	}
}

// Revoked is an API key that is revoked.
type Revoked struct {
	ID      string   `json:"id" doc:"Its prefix"`
	DryRun  bool     `json:"dry_run,omitempty" doc:"Nothing was changed"`
	Effects []string `json:"effects,omitempty" doc:"What follows from it"`
}

func self() []*Operation {
	return []*Operation{
		get("self.show", "/v1/self", "Show who you are, and what you may do", OnSelf, false, func(_ context.Context, c *Call, _ *None) (people.Self, error) {
			return people.SelfOf(c.Caller), nil
		}),
	}
}
