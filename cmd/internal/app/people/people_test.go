package people_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/projtest"
)

// cheap is the cost of passwords in tests.
var cheap = people.Cost{MemoryKiB: 64, Passes: 1, Lanes: 1}

var root = people.By{Name: "root", Via: "machine", Address: "here"}

const password = "correct horse battery"

// world is a database with people.
type world struct {
	*people.People
	t  *testing.T
	db *pgxpool.Pool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db := projtest.DB(t)
	if _, err := record.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return &world{&people.People{Records: record.New(db), Cost: cheap}, t, db}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// is checks the kind of an error.
func (w *world) is(err error, kind app.Kind) {
	w.t.Helper()
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != kind {
		w.t.Errorf("%v, want an error of kind %s", err, kind)
	}
}

// Add is people.Add, of which only the error counts here. So are those that follow.
func (w *world) Add(ctx context.Context, by people.By, name string, f people.Profile, why string) error {
	_, err := w.People.Add(ctx, by, name, f, why)
	return err
}

func (w *world) Set(ctx context.Context, by people.By, name string, f people.Profile, why string) error {
	_, err := w.People.Set(ctx, by, name, f, why)
	return err
}

func (w *world) SetPassword(ctx context.Context, by people.By, name, password, why string) error {
	_, err := w.People.SetPassword(ctx, by, name, password, why)
	return err
}

func (w *world) Disable(ctx context.Context, by people.By, name string, enable bool, why string) error {
	_, err := w.People.Disable(ctx, by, name, enable, why)
	return err
}

func (w *world) RevokeKey(ctx context.Context, by people.By, prefix, why string) error {
	_, err := w.People.RevokeKey(ctx, by, prefix, why)
	return err
}

func (w *world) Grant(ctx context.Context, by people.By, name string, r access.Right, withdraw bool, why string) (changed bool, err error) {
	c, err := w.People.Grant(ctx, by, name, r, withdraw, why)
	return c.Changed, err
}

// user adds a user with a password and rights.
func (w *world) user(name string, rights ...access.Right) {
	w.t.Helper()
	w.must(w.Add(w.t.Context(), root, name, people.Profile{}, ""))
	w.must(w.SetPassword(w.t.Context(), root, name, password, ""))
	for _, r := range rights {
		_, err := w.Grant(w.t.Context(), root, name, r, false, "")
		w.must(err)
	}
}

// moves moves a time in the database into the past.
func (w *world) moves(statement string, by time.Duration) {
	w.t.Helper()
	_, err := w.db.Exec(w.t.Context(), statement, by)
	w.must(err)
}

// rights are what a credential gives, as text; "" = it is refused.
func (w *world) rights(c people.Credential) string {
	w.t.Helper()
	caller, via, err := w.Authenticate(w.t.Context(), c, "192.0.2.1")
	if err != nil {
		w.is(err, app.Unauthenticated)
		return ""
	}
	text := caller.Name + " by " + strings.Fields(via)[0]
	for _, r := range caller.Rights {
		text += "; " + r.String()
	}
	return text
}

// TestUsersAndRights: what is said of users, and what they may do.
func TestUsersAndRights(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	for _, name := range []string{"", "Ana", "a b", "a/b", strings.Repeat("a", 65), "é"} {
		w.is(w.Add(ctx, root, name, people.Profile{}, ""), app.Invalid)
	}
	mail, display, bad := "ana@example.org", "Ana", "a\x1b[31m"
	w.is(w.Add(ctx, root, "ana", people.Profile{DisplayName: &bad}, ""), app.Invalid)
	w.must(w.Add(ctx, root, "ana", people.Profile{DisplayName: &display, Mail: &mail}, "new here"))
	w.is(w.Add(ctx, root, "ana", people.Profile{}, ""), app.Refused)
	w.must(w.Add(ctx, root, "ben", people.Profile{}, ""))
	w.must(w.Set(ctx, root, "ben", people.Profile{Mail: &mail}, ""))
	w.is(w.Set(ctx, root, "cy", people.Profile{}, ""), app.NotFound)
	for _, r := range []access.Right{{Role: access.Admin, Scope: access.In("maps")}, {Role: "root", Scope: access.Everywhere}, {Role: access.Reader}} {
		_, err := w.Grant(ctx, root, "ana", r, false, "")
		w.is(err, app.Invalid)
	}
	_, err := w.Grant(ctx, root, "cy", access.Right{Role: access.Reader, Scope: access.Everywhere}, false, "")
	w.is(err, app.NotFound)
	for _, c := range []struct {
		right    access.Right
		withdraw bool
		changed  bool
	}{
		{access.Right{Role: access.Operator, Scope: access.In("maps", "texts")}, false, true},
		{access.Right{Role: access.Operator, Scope: access.In("maps")}, false, false},
		{access.Right{Role: access.Reader, Scope: access.Everywhere}, false, true},
		{access.Right{Role: access.Operator, Scope: access.In("texts")}, true, true},
		{access.Right{Role: access.Operator, Scope: access.In("texts")}, true, false},
	} {
		changed, err := w.Grant(ctx, root, "ana", c.right, c.withdraw, "")
		if w.must(err); changed != c.changed {
			t.Errorf("%+v: changed = %t", c, changed)
		}
	}
	u, err := w.Show(ctx, "ana")
	w.must(err)
	if text := fmt.Sprint(u.Rights); text != "[{operator false [maps]} {reader true []}]" || u.Mail != mail || u.DisplayName != display || u.HasPassword {
		t.Errorf("%+v", u)
	}
	var names []string
	var from app.Cursor
	for {
		page, err := w.List(ctx, 1, from)
		w.must(err)
		for _, u := range page.Items {
			names = append(names, u.ID)
		}
		if from = page.Next; from == "" {
			break
		}
	}
	if !slices.Equal(names, []string{"ana", "ben"}) {
		t.Errorf("listed: %q", names)
	}
}

// TestPasswords: who knows the password is the user; a hash of a lower cost is made again.
func TestPasswords(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.user("ana", access.Right{Role: access.Depositor, Scope: access.In("maps")})
	w.must(w.Add(ctx, root, "ben", people.Profile{}, ""))
	for _, bad := range []string{"", "short", strings.Repeat("a", 257), "invalid \xff utf-8"} {
		w.is(w.SetPassword(ctx, root, "ana", bad, ""), app.Invalid)
	}
	w.is(w.SetPassword(ctx, root, "cy", password, ""), app.NotFound)
	for c, want := range map[people.Credential]string{
		{Name: "ana", Password: password}:       "ana by password; depositor in maps",
		{Name: "ana", Password: password + " "}: "",
		{Name: "ana"}:                           "",
		{Name: "ben"}:                           "", // has no password
		{Name: "ben", Password: password}:       "",
		{Name: "cy", Password: password}:        "",
		{Name: "ANA", Password: password}:       "",
		{Token: password}:                       "",
		{}:                                      "",
	} {
		if got := w.rights(c); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
	w.Cost.MemoryKiB *= 2
	for range 2 {
		if got := w.rights(people.Credential{Name: "ana", Password: password}); got == "" {
			t.Error("the password is not known any more at a higher cost")
		}
	}
	var memory int32
	w.must(w.db.QueryRow(ctx, `select memory_kib from record.user_secret where user_name = 'ana'`).Scan(&memory))
	if memory != w.Cost.MemoryKiB {
		t.Errorf("hashed with %d KiB", memory)
	}
	w.must(w.Disable(ctx, root, "ana", false, ""))
	if got := w.rights(people.Credential{Name: "ana", Password: password}); got != "" {
		t.Errorf("disabled, and %s", got)
	}
	w.must(w.Disable(ctx, root, "ana", true, ""))
	if got := w.rights(people.Credential{Name: "ana", Password: password}); got == "" {
		t.Error("enabled, and refused")
	}
}

// TestKeys: a key has the rights that its user has now, or a part of them, until it expires
// or is revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.user("ana", access.Right{Role: access.Operator, Scope: access.In("maps", "texts")}, access.Right{Role: access.Admin, Scope: access.Everywhere})
	key := func(n people.NewKey) people.Key {
		t.Helper()
		n.User = "ana"
		k, err := w.AddKey(ctx, root, n, "")
		w.must(err)
		return k.Key
	}
	whole, part := key(people.NewKey{Label: "laptop"}), key(people.NewKey{Roles: []access.Role{access.Operator}, Collections: []string{"maps", "films"}})
	inMaps, short := key(people.NewKey{Collections: []string{"maps"}}), key(people.NewKey{Expires: time.Now().Add(time.Hour)})
	all := "ana by key; admin in all collections; operator in maps, texts"
	for token, want := range map[string]string{
		whole.Secret:                   all,
		part.Secret:                    "ana by key; operator in maps",
		inMaps.Secret:                  "ana by key; operator in maps",
		short.Secret:                   all,
		whole.Secret + "x":             "",
		strings.ToUpper(whole.Secret):  "",
		"acc_" + whole.ID + "_":        "",
		"acc_" + whole.ID:              "",
		"acc_aaaaaaaa_" + whole.Secret: "",
		"acc_" + whole.ID + "_" + strings.Split(part.Secret, "_")[2]: "",
	} {
		if got := w.rights(people.Credential{Token: token}); got != want {
			t.Errorf("%.16s…: %q, want %q", token, got, want)
		}
	}
	w.moves(`update record.api_key set expires_at = expires_at - $1::interval where expires_at is not null`, time.Hour)
	if got := w.rights(people.Credential{Token: short.Secret}); got != "" {
		t.Errorf("expired: %s", got)
	}
	w.must(w.RevokeKey(ctx, root, part.ID, "lost"))
	w.is(w.RevokeKey(ctx, root, "zzzzzzzz", ""), app.NotFound)
	if got := w.rights(people.Credential{Token: part.Secret}); got != "" {
		t.Errorf("revoked: %s", got)
	}
	_, err := w.Grant(ctx, root, "ana", access.Right{Role: access.Admin, Scope: access.Everywhere}, true, "")
	w.must(err)
	if got := w.rights(people.Credential{Token: whole.Secret}); got != "ana by key; operator in maps, texts" {
		t.Errorf("after a right was withdrawn: %s", got)
	}
	w.must(w.Disable(ctx, root, "ana", false, ""))
	if got := w.rights(people.Credential{Token: whole.Secret}); got != "" {
		t.Errorf("disabled: %s", got)
	}
	for _, bad := range []people.NewKey{{User: "ana", Roles: []access.Role{"root"}}, {User: "ana", Label: "a\x00"}, {User: "ana", Expires: time.Now().Add(-time.Hour)}} {
		_, err := w.AddKey(ctx, root, bad, "")
		w.is(err, app.Invalid)
	}
	_, err = w.AddKey(ctx, root, people.NewKey{User: "cy"}, "")
	w.is(err, app.NotFound)
	list, err := w.Keys(ctx, "ana", 10, "")
	w.must(err)
	if len(list.Items) != 4 || list.Items[0].Secret != "" || !slices.ContainsFunc(list.Items, func(k people.Key) bool { return k.ID == whole.ID && k.UsedOn != "" }) {
		t.Errorf("%+v", list.Items)
	}
}

// TestSessions: a session lasts for a while, until it is ended, and no longer than the
// password.
func TestSessions(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.user("ana", access.Right{Role: access.Reader, Scope: access.Everywhere})
	begin := func() people.Credential {
		t.Helper()
		s, err := w.Begin(ctx, people.By{Name: "ana", Via: "password"})
		w.must(err)
		if left := time.Until(s.ExpiresAt); left < time.Hour || left > 24*time.Hour {
			t.Errorf("it expires in %v", left)
		}
		return people.Credential{Token: s.Token}
	}
	const is = "ana by session; reader in all collections"
	ends := map[string]func(c people.Credential){
		"ended": func(c people.Credential) { w.must(w.End(ctx, people.By{Name: "ana"}, c.Token)) },
		"expired": func(people.Credential) {
			w.moves(`update record.session set expires_at = expires_at - $1::interval`, 13*time.Hour)
		},
		"new password": func(people.Credential) { w.must(w.SetPassword(ctx, root, "ana", password+"!", "")) },
		"disabled":     func(people.Credential) { w.must(w.Disable(ctx, root, "ana", false, "")) },
	}
	for _, name := range []string{"ended", "expired", "new password", "disabled"} {
		c := begin()
		if got := w.rights(c); got != is {
			t.Errorf("%s: %q before", name, got)
		}
		if ends[name](c); w.rights(c) != "" {
			t.Errorf("%s: it lasts", name)
		}
	}
	if got := w.rights(people.Credential{Token: "ses_none"}); got != "" {
		t.Error(got)
	}
}

// TestAttemptsAreLimited: ten an hour by a name and from an address, then one after a pause
// that grows; a success forgets those of its name.
func TestAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ana")
	w.user("ben")
	try := func(name, password, address string) (time.Duration, bool) {
		t.Helper()
		_, _, err := w.Authenticate(t.Context(), people.Credential{Name: name, Password: password}, address)
		e, ok := errors.AsType[*app.Error](err)
		if ok && e.Kind == app.Full {
			return e.RetryAfter, false
		}
		if ok && e.Kind != app.Unauthenticated {
			t.Fatal(err)
		}
		return 0, err == nil
	}
	waits := func(pause time.Duration) func(left time.Duration) bool {
		return func(left time.Duration) bool { return left > pause-10*time.Second && left <= pause }
	}
	later := func(d time.Duration) {
		w.moves(`update record.sign_in set last_at = last_at - $1::interval, began_at = began_at - $1::interval`, d)
	}
	for i := range 10 {
		if left, ok := try("ana", "wrong wrong", fmt.Sprintf("192.0.2.%d", i)); left != 0 || ok {
			t.Fatalf("attempt %d: %v", i, left)
		}
	}
	if left, _ := try("ana", password, "192.0.2.200"); !waits(time.Minute)(left) {
		t.Errorf("after ten: %v", left)
	}
	if _, ok := try("ben", password, "192.0.2.1"); !ok {
		t.Error("another user cannot sign in")
	}
	for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		later(pause)
		if left, _ := try("ana", "wrong wrong", "192.0.2.201"); left != 0 {
			t.Errorf("after %v: %v", pause, left)
		}
		if left, _ := try("ana", password, "192.0.2.202"); !waits(2 * pause)(left) {
			t.Errorf("after one more: %v", left)
		}
	}
	later(8 * time.Minute)
	if _, ok := try("ana", password, "192.0.2.203"); !ok {
		t.Error("the right password after the pause is refused")
	}
	if left, _ := try("ana", "wrong wrong", "192.0.2.204"); left != 0 {
		t.Errorf("after a success: %v", left)
	}
	// From one address, by names that there are or not; of IPv6 its network.
	for i := range 10 {
		try(fmt.Sprintf("name%d", i), password, fmt.Sprintf("2001:db8::%d", i))
	}
	if left, _ := try("ben", password, "2001:db8::abcd"); !waits(time.Minute)(left) {
		t.Errorf("from one network: %v", left)
	}
	if _, ok := try("ben", password, "2001:db8:0:1::1"); !ok {
		t.Error("another network cannot sign in")
	}
	later(3 * time.Hour)
	if _, ok := try("ben", password, "2001:db8::1"); !ok {
		t.Error("the network cannot sign in hours later")
	}
}

// TestAttemptsAtOnce: attempts that run at once count, each.
func TestAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("ana")
	kinds := make(chan app.Kind, 40)
	for range cap(kinds) {
		go func() {
			_, _, err := w.Authenticate(context.WithoutCancel(t.Context()), people.Credential{Name: "ana", Password: "wrong wrong"}, "192.0.2.1")
			e, _ := errors.AsType[*app.Error](err)
			kinds <- e.Kind
		}()
	}
	n := map[app.Kind]int{}
	for range cap(kinds) {
		n[<-kinds]++
	}
	if n[app.Unauthenticated] != 10 || n[app.Full] != 30 {
		t.Errorf("%v", n)
	}
}

// TestChangesArePutOnce: a change that is requested again by the same command is made once, and
// another one under its id is refused; the secret of an API key is shown once.
func TestChangesArePutOnce(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	by := root
	for range 2 {
		by.Command, by.Request = "add", "ana"
		w.must(w.Add(ctx, by, "ana", people.Profile{}, ""))
	}
	by.Request = "ben"
	w.is(w.Add(ctx, by, "ben", people.Profile{}, ""), app.KeyReused)

	maps := access.Right{Role: access.Reader, Scope: access.In("maps")}
	by.Command, by.Request = "grant", "maps"
	for _, want := range []bool{true, false} { // withdrawn in between, it stays so
		if changed, err := w.Grant(ctx, by, "ana", maps, false, ""); err != nil || changed != want {
			t.Errorf("changed %v, %v", changed, err)
		}
		if _, err := w.Grant(ctx, root, "ana", maps, true, ""); err != nil {
			t.Error(err)
		}
	}
	by.Command, by.Request = "key", "laptop"
	made, err := w.AddKey(ctx, by, people.NewKey{User: "ana"}, "")
	w.must(err)
	again, err := w.AddKey(ctx, by, people.NewKey{User: "ana"}, "")
	w.is(err, app.Refused)
	if !strings.Contains(err.Error(), made.ID) || again.Secret != "" {
		t.Errorf("%+v, %v", again, err)
	}
	by.Command, by.Request = "refused", "cy"
	for range 2 { // a refusal is none
		_, err = w.AddKey(ctx, by, people.NewKey{User: "cy"}, "")
		w.is(err, app.NotFound)
	}
	keys, err := w.Keys(ctx, "ana", 10, "")
	w.must(err)
	audit, err := w.Audit(ctx, people.AuditFilter{}, 100, "")
	w.must(err)
	if len(keys.Items) != 1 || len(audit.Items) != 5 {
		t.Errorf("%+v; audited are %+v", keys.Items, audit.Items)
	}
}

// TestAudit: every change has its entry, with it or not at all, and no entry a secret.
func TestAudit(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.user("ana", access.Right{Role: access.Reader, Scope: access.In("maps")})
	k, err := w.AddKey(ctx, root, people.NewKey{User: "ana"}, "for the scanner")
	w.must(err)
	w.must(w.RevokeKey(ctx, root, k.ID, ""))
	_ = w.Add(ctx, root, "ana", people.Profile{}, "") // is refused, and changes nothing
	w.must(w.Note(ctx, people.By{Name: "ana", Via: "key " + k.ID, Address: "192.0.2.1"}, "job.requeue", "job/jid0000000001", people.Refused, "forbidden", ""))
	page, err := w.Audit(ctx, people.AuditFilter{}, 100, "")
	w.must(err)
	var got []string
	for _, e := range page.Items {
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s", e.Caller, e.Action, e.Subject, e.Outcome, e.Detail, e.Reason))
	}
	slices.Reverse(got)
	want := []string{
		"root user.add user/ana done  ", "root user.password user/ana done  ", "root user.grant user/ana done reader in maps ",
		"root key.add key/" + k.ID + " done of user/ana for the scanner", "root key.revoke key/" + k.ID + " done of user/ana ",
		"ana job.requeue job/jid0000000001 refused forbidden ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, f := range []people.AuditFilter{{Caller: "ana"}, {Action: "job"}, {Subject: "job/jid0000000001"}} {
		if page, err := w.Audit(ctx, f, 100, ""); err != nil || len(page.Items) != 1 || page.Items[0].Action != "job.requeue" {
			t.Errorf("%+v: %+v (%v)", f, page.Items, err)
		}
	}
	if page, err := w.Audit(ctx, people.AuditFilter{Since: time.Now().Add(time.Hour)}, 100, ""); err != nil || len(page.Items) != 0 {
		t.Errorf("%+v (%v)", page, err)
	}
	text, err := json.Marshal(page)
	w.must(err)
	for _, secret := range []string{password, strings.Split(k.Secret, "_")[2]} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the audit has a secret: %s", text)
		}
	}
}

// TestTriedChanges: what a command about users and keys would change is what it then changes; until
// then nothing is changed, audited or shown of a secret, also under the key of the request.
func TestTriedChanges(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), t.Context()
	w.user("ana", access.Right{Role: access.Reader, Scope: access.In("maps")})
	session, err := w.Begin(ctx, people.By{Name: "ana", Via: "password"})
	w.must(err)
	key, err := w.AddKey(ctx, root, people.NewKey{User: "ana"}, "")
	w.must(err)
	all := func() (text string) {
		t.Helper()
		for _, table := range []string{"user", "user_secret", "right", "api_key", "session", "audit_entry", "people_command"} {
			var rows string
			w.must(w.db.QueryRow(ctx, `select coalesce(jsonb_agg(t order by t::text)::text, '') from record.`+table+` t`).Scan(&rows))
			text += table + ": " + rows + "\n"
		}
		return text
	}
	mail, texts := "ana@example.org", access.Right{Role: access.Operator, Scope: access.In("texts")}
	of := func(c people.Change, err error) (people.User, []string, error) { return c.User, c.Effects, err }
	for name, do := range map[string]func(by people.By) (people.User, []string, error){
		"add": func(by people.By) (people.User, []string, error) {
			return of(w.People.Add(ctx, by, "ben", people.Profile{Mail: &mail}, ""))
		},
		"set": func(by people.By) (people.User, []string, error) {
			return of(w.People.Set(ctx, by, "ana", people.Profile{Mail: &mail}, ""))
		},
		"identity": func(by people.By) (people.User, []string, error) {
			return of(w.People.Set(ctx, by, "ana", people.Profile{OpenID: &people.Identity{Issuer: "https://login.example.org", Subject: "7"}}, ""))
		},
		"password": func(by people.By) (people.User, []string, error) {
			return of(w.People.SetPassword(ctx, by, "ana", password+"!", ""))
		},
		"grant": func(by people.By) (people.User, []string, error) {
			return of(w.People.Grant(ctx, by, "ana", texts, false, ""))
		},
		"disable": func(by people.By) (people.User, []string, error) {
			return of(w.People.Disable(ctx, by, "ana", false, ""))
		},
		"key": func(by people.By) (people.User, []string, error) {
			k, err := w.AddKey(ctx, by, people.NewKey{User: "ana", Roles: []access.Role{access.Reader}, Collections: []string{"maps"}}, "")
			if by.DryRun && (k.ID != "" || k.Secret != "" || !k.DryRun) {
				t.Errorf("%+v", k)
			}
			return people.User{}, k.Effects, err
		},
		"revoke": func(by people.By) (people.User, []string, error) {
			effects, err := w.People.RevokeKey(ctx, by, key.ID, "")
			return people.User{}, effects, err
		},
	} {
		by, before := root, all()
		by.DryRun, by.Command, by.Request = true, name, name
		would, effects, err := do(by)
		if w.must(err); all() != before {
			t.Errorf("%s: tried, and changed: %s", name, all())
		}
		by.DryRun = false
		is, then, err := do(by)
		if w.must(err); all() == before {
			t.Errorf("%s: not changed", name)
		}
		would.CreatedAt = is.CreatedAt // the moments differ
		if would.DisabledAt != nil && is.DisabledAt != nil {
			would.DisabledAt = is.DisabledAt
		}
		if !reflect.DeepEqual(would, is) || !slices.Equal(effects, then) || len(effects) == 0 && name != "set" {
			t.Errorf("%s: it would be %+v %q, and is %+v %q", name, would, effects, is, then)
		}
	}
	if got := w.rights(people.Credential{Token: session.Token}) + w.rights(people.Credential{Token: key.Secret}); got != "" {
		t.Errorf("disabled and revoked, and %s", got)
	}
}
