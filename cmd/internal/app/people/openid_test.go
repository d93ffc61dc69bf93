package people_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/openid"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/internal/testkit/openidserver"
)

const backTo = "https://deposit.example.org/console/sign-in/openid/done"

// provided is a world with an OpenID Connect provider.
type provided struct {
	*world
	*people.OpenID
	server *openidserver.Server
}

func newProvided(t *testing.T) *provided {
	t.Helper()
	w := newWorld(t)
	s := openidserver.New(t, openidserver.Options{Client: "accession", Secret: "a secret", ReturnTo: backTo})
	p := &openid.Provider{Issuer: s.Issuer(), Client: "accession", Secret: "a secret", ReturnTo: backTo, Scopes: []string{"openid"}}
	return &provided{w, &people.OpenID{People: w.People, Provider: p, Issuer: s.Issuer()}, s}
}

// begin begins a sign-in from an address, and returns the token and what the provider answers.
func (p *provided) begin(address string) (token string, a people.OpenIDAnswer) {
	p.t.Helper()
	token, to, err := p.OpenID.Begin(p.t.Context(), address, "/console/jobs")
	p.must(err)
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, to, http.NoBody)
	p.must(err)
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(r)
	p.must(err)
	p.must(res.Body.Close())
	at, err := res.Location()
	p.must(err)
	q := at.Query()
	return token, people.OpenIDAnswer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}

// ends finishes a sign-in, and returns who has a session then, or why there is none.
func (p *provided) ends(token string, a people.OpenIDAnswer) string {
	p.t.Helper()
	s, next, err := p.Finish(p.t.Context(), "192.0.2.1", token, a)
	if err != nil {
		if p.is(err, app.Unauthenticated); s.Token != "" || next != "" {
			p.t.Errorf("%+v %q with %v", s, next, err)
		}
		return err.Error()
	}
	if next != "/console/jobs" {
		p.t.Errorf("it leads to %q", next)
	}
	return p.rights(people.Credential{Token: s.Token})
}

// binds binds a user to a person.
func (p *provided) binds(name, subject string) error {
	who := people.Identity{Issuer: p.server.Issuer(), Subject: subject}
	if subject == "" {
		who.Issuer = ""
	}
	return p.Set(p.t.Context(), root, name, people.Profile{OpenID: &who}, "")
}

// audited are the entries of sessions that began or were refused, the oldest first.
func (p *provided) audited() (all []string) {
	p.t.Helper()
	page, err := p.Audit(p.t.Context(), people.AuditFilter{Action: "session"}, 100, "")
	p.must(err)
	for _, e := range page.Items {
		all = append(all, strings.Join([]string{e.Caller, e.Via, e.Address, e.Action, e.Subject, e.Outcome, e.Detail}, "|"))
	}
	slices.Reverse(all)
	return all
}

// TestSignInByOpenID: the person whom an administrator has bound to a user signs in as that user,
// with the rights that it has; every other person is refused, and the audit says who it was.
func TestSignInByOpenID(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.user("ana", access.Right{Role: access.Reader, Scope: access.In("maps")})
	p.user("ben")
	p.server.Person("person-1")
	if got := p.ends(p.begin("192.0.2.1")); !strings.Contains(got, "no user is bound to you, person-1 at "+p.server.Issuer()) {
		t.Errorf("unbound: %s", got)
	}
	p.must(p.binds("ana", "person-1"))
	if got := p.ends(p.begin("192.0.2.1")); got != "ana by session; reader in maps" {
		t.Errorf("bound: %s", got)
	}
	p.is(p.binds("ben", "person-1"), app.Refused)
	p.must(p.Disable(t.Context(), root, "ana", false, ""))
	if got := p.ends(p.begin("192.0.2.1")); !strings.Contains(got, "disabled") {
		t.Errorf("disabled: %s", got)
	}
	p.must(p.Disable(t.Context(), root, "ana", true, ""))
	p.server.Person("")
	if got := p.ends(p.begin("192.0.2.1")); !strings.Contains(got, "refused it: access_denied") {
		t.Errorf("refused there: %s", got)
	}
	issuer := p.server.Issuer()
	want := []string{
		"|openid|192.0.2.1|session.begin||refused|openid person-1 at " + issuer + " is no user",
		"ana|openid|192.0.2.1|session.begin|user/ana|done|",
		"ana|openid|192.0.2.1|session.begin|user/ana|refused|unauthenticated",
	}
	if got := p.audited(); !slices.Equal(got, want) {
		t.Errorf("audited %q, want %q", got, want)
	}
	// The same subject at another provider is another person.
	p.must(p.Set(t.Context(), root, "ana", people.Profile{OpenID: &people.Identity{Issuer: "https://elsewhere.example", Subject: "person-1"}}, ""))
	p.server.Person("person-1")
	if got := p.ends(p.begin("192.0.2.1")); !strings.Contains(got, "no user is bound") {
		t.Errorf("of another provider: %s", got)
	}
}

// TestPersonOfUser: who is bound anew, or not any more, has no session left.
func TestPersonOfUser(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.user("ana")
	for _, bad := range []people.Identity{{Issuer: "https://a.example"}, {Subject: "x"}, {Issuer: "https://a.example", Subject: "a\x1b[31m"}, {Issuer: "https://a.example", Subject: strings.Repeat("a", 256)}} {
		p.is(p.Set(t.Context(), root, "ana", people.Profile{OpenID: &bad}, ""), app.Invalid)
	}
	p.server.Person("person-1")
	for _, then := range []string{"person-2", ""} {
		p.must(p.binds("ana", "person-1"))
		if u, err := p.Show(t.Context(), "ana"); err != nil || u.OpenID == nil || u.OpenID.Subject != "person-1" || u.OpenID.Issuer != p.server.Issuer() {
			t.Errorf("%+v %v", u.OpenID, err)
		}
		token, a := p.begin("192.0.2.1")
		s, _, err := p.Finish(t.Context(), "192.0.2.1", token, a)
		p.must(err)
		p.must(p.binds("ana", then))
		if got := p.rights(people.Credential{Token: s.Token}); got != "" {
			t.Errorf("bound to %q: %s", then, got)
		}
		if got := p.ends(p.begin("192.0.2.1")); !strings.Contains(got, "no user is bound") {
			t.Errorf("bound to %q: %s", then, got)
		}
	}
	if u, err := p.Show(t.Context(), "ana"); err != nil || u.OpenID != nil {
		t.Errorf("%+v %v", u.OpenID, err)
	}
}

// TestSignInsThatComeBackWrong: a sign-in comes back once, in time, to the browser that began it,
// from the provider; a wrong answer leaves the right one as it is.
func TestSignInsThatComeBackWrong(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.user("ana")
	p.must(p.binds("ana", "person-1"))
	p.server.Person("person-1")
	token, a := p.begin("192.0.2.1")
	other, otherAnswer := p.begin("192.0.2.2")
	with := func(change func(a *people.OpenIDAnswer)) people.OpenIDAnswer {
		b := a
		change(&b)
		return b
	}
	for name, c := range map[string]struct {
		token  string
		answer people.OpenIDAnswer
	}{
		"no token": {"", a}, "another browser": {other, a}, "another answer": {token, otherAnswer}, "a token of one's own": {"abc", a},
		"no state": {token, with(func(a *people.OpenIDAnswer) { a.State = "" })}, "another state": {token, with(func(a *people.OpenIDAnswer) { a.State += "x" })},
	} {
		if got := p.ends(c.token, c.answer); !strings.Contains(got, "has begun no such sign-in") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := p.ends(token, a); got != "ana by session" {
		t.Errorf("after wrong ones: %s", got)
	}
	if got := p.ends(token, a); !strings.Contains(got, "come back before") {
		t.Errorf("again: %s", got)
	}
	for name, c := range map[string]struct {
		change func(a *people.OpenIDAnswer)
		says   string
	}{
		"another provider": {func(a *people.OpenIDAnswer) { a.Issuer = "https://evil.example" }, "another provider"},
		"no code":          {func(a *people.OpenIDAnswer) { a.Code = "" }, "has refused it"},
		"another code":     {func(a *people.OpenIDAnswer) { a.Code = otherAnswer.Code }, "the code"},
		"markup":           {func(a *people.OpenIDAnswer) { a.Code, a.Error = "", "<b>" }, "has refused it"},
	} {
		token, a := p.begin("192.0.2.3")
		c.change(&a)
		if got := p.ends(token, a); !strings.Contains(got, c.says) || strings.Contains(got, "<b>") {
			t.Errorf("%s: %s", name, got)
		}
	}
	token, a = p.begin("192.0.2.4")
	p.moves(`update record.openid_sign_in set expires_at = expires_at - $1::interval`, people.OpenIDTime)
	if got := p.ends(token, a); !strings.Contains(got, "took longer") {
		t.Errorf("late: %s", got)
	}
	p.moves(`update record.openid_sign_in set expires_at = expires_at - $1::interval`, 2*time.Hour)
	p.begin("192.0.2.5")
	var left int
	p.must(p.db.QueryRow(t.Context(), `select count(*) from record.openid_sign_in`).Scan(&left))
	if left != 1 {
		t.Errorf("%d sign-ins are kept", left)
	}
}

// TestOpenIDComesBackOnce: of many that bring one answer at once, one gets a session.
func TestOpenIDComesBackOnce(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.user("ana")
	p.must(p.binds("ana", "person-1"))
	p.server.Person("person-1")
	token, a := p.begin("192.0.2.1")
	var wait sync.WaitGroup
	got := make(chan error, 20)
	for range cap(got) {
		wait.Go(func() {
			_, _, err := p.Finish(context.WithoutCancel(t.Context()), "192.0.2.1", token, a)
			got <- err
		})
	}
	wait.Wait()
	done := 0
	for range cap(got) {
		if err := <-got; err == nil {
			done++
		} else if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Unauthenticated {
			t.Error(err)
		}
	}
	if done != 1 || len(p.audited()) != 1 {
		t.Errorf("%d got a session: %q", done, p.audited())
	}
}

// TestOpenIDAttemptsAreLimited: those that do not succeed count as attempts from their address; those
// that do, and those that fail by the provider, do not.
func TestOpenIDAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.user("ana")
	p.must(p.binds("ana", "person-1"))
	p.server.Person("person-1")
	for range 15 {
		if got := p.ends(p.begin("192.0.2.1")); got != "ana by session" {
			t.Fatal(got)
		}
	}
	p.server.Fail(openidserver.Fault{Answer: map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }}})
	for range 15 {
		token, a := p.begin("192.0.2.1")
		if _, _, err := p.Finish(t.Context(), "192.0.2.1", token, a); !errors.As(err, new(*people.ProviderError)) {
			t.Fatal(err)
		}
	}
	p.server.Fail(openidserver.Fault{})
	p.server.Person("person-2")
	for i := range 10 {
		if got := p.ends(p.begin("192.0.2.1")); !strings.Contains(got, "no user is bound") {
			t.Fatalf("%d: %s", i, got)
		}
	}
	_, _, err := p.OpenID.Begin(t.Context(), "192.0.2.1", "/console/")
	p.is(err, app.Full)
	_, _, err = p.Authenticate(t.Context(), people.Credential{Name: "ana", Password: password}, "192.0.2.1")
	p.is(err, app.Full) // another way from the same address
	if _, _, err := p.OpenID.Begin(t.Context(), "192.0.2.2", "/console/"); err != nil {
		t.Error(err)
	}
}

// TestProviderIsDown: it is said whose fault it is, and passwords sign in all the same.
func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.user("ana")
	p.server.Down()
	for range 12 {
		if _, _, err := p.OpenID.Begin(t.Context(), "192.0.2.1", "/console/"); !errors.As(err, new(*people.ProviderError)) {
			t.Fatal(err)
		}
	}
	if got := p.rights(people.Credential{Name: "ana", Password: password}); got != "ana by password" {
		t.Errorf("%q", got)
	}
}
