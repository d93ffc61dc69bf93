package console

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Cookie is the name of the cookie that has the token of the session. A browser takes one of this
// name only over TLS or from its own machine, for this host alone and all its paths.
const Cookie = "__Host-session"

// maxForm bounds the form to sign in, in bytes.
const maxForm = 8 << 10

// Token returns the session that a browser sends, "" = none.
func Token(r *http.Request) string {
	c, err := r.Cookie(Cookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// signInForm is what the page to sign in shows.
type signInForm struct {
	Name, Next string
	Problem    *problem.Problem
	// Bare says that the browser will keep no session: there is no TLS.
	Bare bool
	// OpenID is the address at which a sign-in by OpenID Connect begins, "" = there is none.
	OpenID string
}

func signInPath(next string) string {
	if next == Path || !ours(next) {
		return Path + "sign-in"
	}
	return Path + "sign-in?next=" + url.QueryEscape(next)
}

// ours reports whether an address is one of a page here.
func ours(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(path.Clean(u.Path)+"/", Path) && !strings.Contains(address, `\`)
}

// bare reports whether a browser that has sent a request keeps no cookie of this name.
func bare(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	own := host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
	return r.TLS == nil && !own && r.Header.Get("X-Forwarded-Proto") != "https" && !strings.Contains(strings.ToLower(r.Header.Get("Forwarded")), "proto=https")
}

func (c *Console) signIn(v *visit) (page, error) {
	return c.signInPage(signInForm{Next: v.URL.Query().Get("next"), Bare: bare(v.Request)}), nil
}

func (c *Console) signInPage(f signInForm) page {
	if !ours(f.Next) {
		f.Next = Path
	}
	if c.OpenID != nil {
		f.OpenID = openIDPath + "?next=" + url.QueryEscape(f.Next)
	}
	return page{Name: "sign-in", Title: "Sign in", Data: f}
}

// begin begins a session, as a program does, and keeps it in a cookie.
func (c *Console) begin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	f := signInForm{Name: r.PostForm.Get("name"), Next: r.PostForm.Get("next"), Bare: bare(r)}
	var s people.Session
	if err == nil {
		v := &visit{Request: r, API: c.API}
		var begin *http.Request
		if begin, err = v.Operation("session.begin", nil); err == nil {
			begin.SetBasicAuth(f.Name, r.PostForm.Get("password"))
			s, err = ask.For[people.Session](c.API, begin)
		}
	}
	if err != nil {
		p := c.failed(r, err)
		if f.Problem, _ = p.Data.(*problem.Problem); f.Problem.Status == http.StatusUnauthorized {
			f.Problem.Hint = "an administrator sets a new password: `accession user password`"
		}
		again := c.signInPage(f)
		again.Status = f.Problem.Status
		c.send(w, r, again)
		return
	}
	signedIn(w, r, s, f.Next)
}

// signedIn keeps a session in a cookie, and goes on to a page of ours.
func signedIn(w http.ResponseWriter, r *http.Request, s people.Session, next string) {
	http.SetCookie(w, &http.Cookie{Name: Cookie, Value: s.Token, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, Expires: s.ExpiresAt})
	if !ours(next) {
		next = Path
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// end ends the session, and the cookie. One that has ended already is no error.
func (c *Console) end(w http.ResponseWriter, r *http.Request) {
	if token := Token(r); token != "" {
		v := &visit{Request: r, API: c.API}
		end, err := v.Operation("session.end", nil)
		if err == nil {
			end.Header.Set("Authorization", "Bearer "+token)
			_, err = ask.For[operation.Ended](c.API, end)
		}
		var p *problem.Problem
		if err != nil && (!errors.As(err, &p) || p.Status != http.StatusUnauthorized) {
			c.send(w, r, c.failed(r, err))
			return
		}
	}
	http.SetCookie(w, &http.Cookie{Name: Cookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1})
	http.Redirect(w, r, Path+"sign-in", http.StatusSeeOther)
}
