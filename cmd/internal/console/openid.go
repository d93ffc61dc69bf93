package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
)

// openIDPath is where a sign-in by OpenID Connect begins, OpenIDDone where it comes back.
const (
	openIDPath = Path + "sign-in/openid"
	OpenIDDone = openIDPath + "/done"
)

// openIDCookie is the name of the cookie that has the token of a sign-in that is under way.
const openIDCookie = "__Host-openid"

// OpenID signs people in at an OpenID Connect provider: see [people.OpenID].
type OpenID interface {
	// Begin begins a sign-in: the browser keeps the token, and is led to the provider.
	Begin(ctx context.Context, address, next string) (token, to string, err error)
	// Finish begins a session of who comes back, once.
	Finish(ctx context.Context, address, token string, a people.OpenIDAnswer) (s people.Session, next string, err error)
}

// beginOpenID leads to the provider. A page of another origin leads nowhere: it could use up the
// attempts of who reads it.
func (c *Console) beginOpenID(w http.ResponseWriter, r *http.Request) {
	f := signInForm{Next: r.URL.Query().Get("next"), Bare: bare(r)}
	if c.OpenID == nil {
		c.send(w, r, c.failed(r, errNoOpenID))
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" || !ours(f.Next) {
		http.Redirect(w, r, Path+"sign-in", http.StatusSeeOther)
		return
	}
	token, to, err := c.OpenID.Begin(r.Context(), c.From(r), f.Next)
	if err != nil {
		c.notSignedIn(w, r, f, err)
		return
	}
	keepOpenID(w, token, int(people.OpenIDTime.Seconds()))
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// finishOpenID takes back who was led to the provider.
func (c *Console) finishOpenID(w http.ResponseWriter, r *http.Request) {
	if c.OpenID == nil {
		c.send(w, r, c.failed(r, errNoOpenID))
		return
	}
	token := ""
	if kept, err := r.Cookie(openIDCookie); err == nil {
		token = kept.Value
	}
	q := r.URL.Query()
	s, next, err := c.OpenID.Finish(r.Context(), c.From(r), token, people.OpenIDAnswer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")})
	if err != nil {
		c.notSignedIn(w, r, signInForm{Bare: bare(r)}, err)
		return
	}
	keepOpenID(w, "", -1)
	signedIn(w, r, s, next)
}

// keepOpenID keeps the token of a sign-in for some seconds, or removes it.
func keepOpenID(w http.ResponseWriter, token string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: openIDCookie, Value: token, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: seconds})
}

var errNoOpenID = problem.Of(app.NotFound, "this service has no OpenID Connect provider", "sign in with name and password")

// notSignedIn shows the page to sign in again, with what is wrong.
func (c *Console) notSignedIn(w http.ResponseWriter, r *http.Request, f signInForm, err error) {
	if fault, ok := errors.AsType[*people.ProviderError](err); ok {
		c.Log.Error("the OpenID Connect provider signs no one in", "request", c.RequestID(r), "error", fault)
		p := problem.Of(app.Unavailable, "the OpenID Connect provider does not answer as it should", "try again later, or sign in with name and password; operators find the cause by the id of the request")
		p.Request = c.RequestID(r)
		err = p
	}
	f.Problem, _ = c.failed(r, err).Data.(*problem.Problem)
	again := c.signInPage(f)
	again.Status = f.Problem.Status
	c.send(w, r, again)
}
