package openid

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/testkit/openidserver"
)

const (
	client = "accession client"
	secret = "s3cret/with+signs=&%"
	back   = "https://deposit.example.org/console/sign-in/openid/done"
)

var proof = Proof{State: strings.Repeat("s", 43), Nonce: strings.Repeat("n", 43), Verifier: strings.Repeat("v", 43)}

// providers returns a provider, and how it is asked.
func providers(t *testing.T, post bool) (*openidserver.Server, *Provider) {
	t.Helper()
	s := openidserver.New(t, openidserver.Options{Client: client, Secret: secret, ReturnTo: back, Post: post})
	s.Person("248289761001")
	return s, &Provider{Issuer: s.Issuer(), Client: client, Secret: secret, ReturnTo: back, Scopes: []string{"openid"}, timeout: time.Minute, pause: time.Nanosecond}
}

// codeOf signs in at the provider as a browser does, and returns the code that comes back.
func codeOf(t *testing.T, p *Provider) string {
	t.Helper()
	at, err := p.Address(t.Context(), proof)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	to, err := a.Location()
	if err != nil {
		t.Fatal(a.Status)
	}
	if !strings.HasPrefix(to.String(), back+"?") || to.Query().Get("state") != proof.State {
		t.Fatal(to)
	}
	return to.Query().Get("code")
}

// is checks whether an error refuses an answer, or says that the provider is at fault, and that the
// secret is not in it.
func is(t *testing.T, name string, err error, refuses bool, says string) {
	t.Helper()
	if err == nil || errors.As(err, new(*RefusedError)) != refuses || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want an error that says %q and refuses: %v", name, err, says, refuses)
	}
	if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), url.QueryEscape(secret)) || strings.ContainsAny(err.Error(), "\x1b\n")) {
		t.Errorf("%s: %q", name, err)
	}
}

// TestIdentify: a person is known by the subject, at a provider of either kind.
func TestIdentify(t *testing.T) {
	t.Parallel()
	for _, post := range []bool{false, true} {
		s, p := providers(t, post)
		who, err := p.Identify(t.Context(), codeOf(t, p), proof)
		if err != nil || who != (Identity{s.Issuer(), "248289761001"}) {
			t.Errorf("%+v, %v, %q", who, err, s.Refused())
		}
		// Another client's token may name this one beside it, if it was made for this one.
		s.Fail(openidserver.Fault{Claims: func(c map[string]any) { c["aud"], c["azp"] = []string{client, "other"}, client }})
		if _, err := p.Identify(t.Context(), codeOf(t, p), proof); err != nil {
			t.Error(err)
		}
	}
}

// TestTokensThatProveNothing: each is refused.
func TestTokensThatProveNothing(t *testing.T) {
	t.Parallel()
	s, p := providers(t, false)
	claim := func(name string, value any) openidserver.Fault {
		return openidserver.Fault{Claims: func(c map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}}
	}
	signed := func(with string) func(string) string {
		return openidserver.SignedBy(func(text []byte) []byte {
			m := hmac.New(sha256.New, []byte(with))
			m.Write(text)
			return m.Sum(nil)
		})
	}
	for name, c := range map[string]struct {
		fault openidserver.Fault
		says  string
	}{
		"another nonce":               {claim("nonce", strings.Repeat("m", 43)), "nonce"},
		"no nonce":                    {claim("nonce", nil), "nonce"},
		"another audience":            {claim("aud", "other"), "audience"},
		"no audience":                 {claim("aud", nil), "audience"},
		"audiences without a party":   {claim("aud", []string{client, "other"}), "another client"},
		"another party":               {claim("azp", "other"), "another client"},
		"another issuer":              {claim("iss", "https://evil.example"), "different provider"},
		"an issuer with the secret":   {claim("iss", "https://"+secret), "different provider"},
		"expired":                     {claim("exp", time.Now().Add(-time.Minute).Unix()), "expired"},
		"without an end":              {claim("exp", nil), "expired"},
		"of the future":               {claim("nbf", time.Now().Add(time.Hour).Unix()), "nbf"},
		"no subject":                  {claim("sub", ""), "subject"},
		"a subject that is too long":  {claim("sub", strings.Repeat("a", MaxSubject+1)), "subject"},
		"a subject that is no text":   {claim("sub", "a\x1b[31m"), "subject"},
		"a subject that is a number":  {claim("sub", 7), "not valid"},
		"another key":                 {openidserver.Fault{Strange: true}, "signature"},
		"no algorithm":                {openidserver.Fault{Token: openidserver.WithoutSignature}, "not valid"},
		"signed by the secret":        {openidserver.Fault{Token: signed(secret)}, "not valid"},
		"no token":                    {openidserver.Fault{Token: func(string) string { return "a.b" }}, "not valid"},
		"another text, the signature": {openidserver.Fault{Token: func(token string) string { return strings.Replace(token, ".", ".e30", 1) }}, "not valid"},
	} {
		s.Fail(c.fault)
		_, err := p.Identify(t.Context(), codeOf(t, p), proof)
		is(t, name, err, true, c.says)
	}
	s.Fail(openidserver.Fault{})
	code := codeOf(t, p)
	_, err := p.Identify(t.Context(), code, Proof{State: proof.State, Nonce: proof.Nonce, Verifier: strings.Repeat("w", 43)})
	is(t, "another verifier", err, true, "the code")
	code = codeOf(t, p)
	if _, err := p.Identify(t.Context(), code, proof); err != nil {
		t.Error(err)
	}
	_, err = p.Identify(t.Context(), code, proof)
	is(t, "a code that was used", err, true, "the code")
}

// TestProviderAtFault: what a provider does that is down, slow or strange is no one's sign-in, is
// said without the secret, and passes.
func TestProviderAtFault(t *testing.T) {
	t.Parallel()
	s, p := providers(t, false)
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client leave
		<-r.Context().Done()
	}
	long := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"issuer":"`+strings.Repeat("a", maxAnswer)+`"}`)
	}
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	leads := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
	}
	configured := func(name string, value any) openidserver.Fault {
		return openidserver.Fault{Configuration: func(says map[string]any) { says[name] = value }}
	}
	at := func(path string, answer http.HandlerFunc) openidserver.Fault {
		return openidserver.Fault{Answer: map[string]http.HandlerFunc{path: answer}}
	}
	const discovery = "/.well-known/openid-configuration"
	const soon = 2 * time.Second // for what hangs; a busy machine needs some of it for the rest
	quoted, _ := json.Marshal(secret)
	for name, c := range map[string]struct {
		fault openidserver.Fault
		says  string
	}{
		"slow":                     {at(discovery, hang), "exceeded"}, // net/http names the deadline or its own time
		"too much":                 {at(discovery, long), "too long"},
		"an error":                 {at(discovery, says(500, "it broke: "+secret+"\n\x1b[31m")), "500"},
		"no JSON":                  {at(discovery, says(200, "<html>")), "configuration"},
		"leads elsewhere":          {at(discovery, leads), "leads to another address"},
		"another issuer":           {configured("issuer", "https://evil.example"), "issuer"},
		"an address without TLS":   {configured("token_endpoint", "http://192.0.2.1/token"), "token_endpoint"},
		"keys without TLS":         {configured("jwks_uri", "http://192.0.2.1/keys"), "jwks_uri"},
		"a page that is a script":  {configured("authorization_endpoint", "javascript:alert(1)"), "authorization_endpoint"},
		"no address":               {configured("authorization_endpoint", ""), "authorization_endpoint"},
		"no way to prove a client": {configured("token_endpoint_auth_methods_supported", []string{"private_key_jwt"}), "client secret"},
	} {
		s.Fail(c.fault)
		fresh := &Provider{Issuer: p.Issuer, Client: client, Secret: secret, ReturnTo: back, Scopes: p.Scopes, timeout: p.timeout, pause: time.Nanosecond}
		if name == "slow" {
			fresh.timeout = soon
		}
		_, err := fresh.Address(t.Context(), proof)
		is(t, name, err, false, c.says)
		s.Fail(openidserver.Fault{})
		fresh.timeout = p.timeout
		if _, err := fresh.Address(t.Context(), proof); err != nil {
			t.Errorf("%s: it does not pass: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		path   string
		answer http.HandlerFunc
		says   string
	}{
		"a slow token":           {"/token", hang, "exceeded"},
		"an error for a token":   {"/token", says(500, secret), "500"},
		"an error with a secret": {"/token", says(400, `{"error":`+string(quoted)+`}`), "400 (secret)"},
		"a token that is a page": {"/token", says(200, "<html>"+secret), "token"},
		"a token in no token":    {"/token", says(200, `{"access_token":"a","token_type":"Bearer"}`), "no ID token"},
		"a token too long":       {"/token", long, "token"},
		"a token elsewhere":      {"/token", leads, "leads to another address"},
		"slow keys":              {"/keys", hang, "keys"},
		"an error for keys":      {"/keys", says(503, secret), "keys"},
		"keys that are a page":   {"/keys", says(200, "<html>"), "keys"},
	} {
		s.Fail(openidserver.Fault{})
		fresh := &Provider{Issuer: p.Issuer, Client: client, Secret: secret, ReturnTo: back, Scopes: p.Scopes, timeout: p.timeout}
		code := codeOf(t, fresh)
		s.Fail(at(c.path, c.answer))
		if strings.Contains(name, "slow") {
			fresh.timeout = soon
			fresh.found.verifier = nil // asked for anew, with that time
			f, err := fresh.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fresh.found = f
		}
		_, err := fresh.Identify(t.Context(), code, proof)
		is(t, name, err, false, c.says)
	}
	s.Fail(openidserver.Fault{})
	wrong := &Provider{Issuer: p.Issuer, Client: client, Secret: secret + "2", ReturnTo: back, Scopes: p.Scopes}
	_, err := wrong.Identify(t.Context(), codeOf(t, wrong), proof)
	is(t, "another secret", err, false, "401 invalid_client")
	s.Down()
	fresh := &Provider{Issuer: p.Issuer, Client: client, Secret: secret, ReturnTo: back, Scopes: p.Scopes, pause: time.Nanosecond}
	_, err = fresh.Address(t.Context(), proof)
	is(t, "down", err, false, "refused")
	s.Up()
	if _, err := fresh.Address(t.Context(), proof); err != nil {
		t.Errorf("up again: %v", err)
	}
}

// TestProviderIsNotAskedByACrowd: one that did not answer is left alone for a while, one that did is
// not asked again.
func TestProviderIsNotAskedByACrowd(t *testing.T) {
	t.Parallel()
	s, p := providers(t, false)
	p.pause = time.Hour
	s.Fail(openidserver.Fault{Configuration: func(says map[string]any) { says["issuer"] = "other" }})
	for range 10 {
		if _, err := p.Address(t.Context(), proof); err == nil {
			t.Fatal("it is found")
		}
	}
	s.Fail(openidserver.Fault{})
	p.pause = time.Nanosecond
	for range 10 {
		if _, err := p.Address(t.Context(), proof); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Asked()); n != 2 {
		t.Errorf("it was asked %d times: %q", n, s.Asked())
	}
}

// TestNothingIsSentWithoutTLS: to another machine no request goes in the clear, whatever names it.
func TestNothingIsSentWithoutTLS(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://login.example.org": true, "http://login.example.org": false, "http://192.0.2.1:80": false, "http://127.0.0.1:8080/x": true, "http://[::1]/": true, "http://localhost:1": true,
		"http://localhost.example.org": false, "ftp://127.0.0.1": false, "javascript:alert(1)": false, "": false,
	} {
		u, err := url.Parse(address)
		if err != nil || Protected(u) != want {
			t.Errorf("%s: %v, want %v", address, !want, want)
		}
	}
	p := &Provider{Issuer: "http://192.0.2.1", Client: client, Secret: secret}
	_, err := p.Address(t.Context(), proof)
	is(t, "an issuer", err, false, "has no TLS")
}
