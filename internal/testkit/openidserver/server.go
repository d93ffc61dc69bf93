// Package openidserver has OpenID Connect providers for tests: they speak the protocol over HTTP as
// its specifications say (OpenID Connect Core 1.0 and Discovery 1.0, RFC 6749, RFC 7636), check what
// a client sends, and may be down, hang, or answer something else.
package openidserver

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say what a provider knows.
type Options struct {
	Client, Secret string
	ReturnTo       string // the only address that browsers are led back to
	Post           bool   // it takes the secret in the form of a request, and not in its header
}

// Fault is what a provider does otherwise; the zero value is nothing.
type Fault struct {
	// Claims changes the claims of an ID token before it is signed.
	Claims func(claims map[string]any)
	// Token changes an ID token that is signed.
	Token func(token string) string
	// Answer answers requests of a path in place of the provider.
	Answer map[string]http.HandlerFunc
	// Configuration changes what the provider says of itself.
	Configuration func(says map[string]any)
	// Strange says that a key signs which the provider does not publish.
	Strange bool
}

// Server is such a provider.
type Server struct {
	t       testing.TB
	options Options
	address string
	key     *rsa.PrivateKey

	mu      sync.Mutex
	web     *httptest.Server // nil = it is down
	fault   Fault
	person  string
	codes   map[string]grant
	asked   []string
	refused []string
}

// grant is what a code stands for.
type grant struct{ person, nonce, challenge string }

// key is one for all providers: making one takes a while.
var key = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// New starts a provider, which ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	k, err := key()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, options: o, address: "127.0.0.1:0", key: k, codes: map[string]grant{}}
	s.Up()
	t.Cleanup(s.Down)
	return s
}

// Issuer returns the URL of the provider.
func (s *Server) Issuer() string { return "http://" + s.address }

// Up lets a provider that is down answer again, at the same address.
func (s *Server) Up() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = l.Addr().String()
	s.web = &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	s.web.Start()
}

// Down ends its connections and answers nothing more.
func (s *Server) Down() {
	if s.web != nil {
		s.web.CloseClientConnections()
		s.web.Close()
		s.web = nil
	}
}

// Person says who is signed in at the provider from now on: the subject.
func (s *Server) Person(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.person = subject
}

// Fail makes the provider do something else from now on.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// ReturnTo says where browsers are led back to from now on.
func (s *Server) ReturnTo(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.ReturnTo = address
}

// Asked returns the paths of the requests so far; Refused what was wrong with those of clients.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

// Refused returns what was wrong with requests of clients.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.refused...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	fault := s.fault
	s.mu.Unlock()
	if answer := fault.Answer[r.URL.Path]; answer != nil {
		answer(w, r) // without the lock: it may hang
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method + " " + r.URL.Path {
	case "GET /.well-known/openid-configuration":
		s.configuration(w)
	case "GET /authorize":
		s.authorize(w, r)
	case "POST /token":
		s.token(w, r)
	case "GET /keys":
		send(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "k1",
			"n": encode(s.key.N.Bytes()), "e": encode(big.NewInt(int64(s.key.E)).Bytes())}}})
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) configuration(w http.ResponseWriter) {
	method := "client_secret_basic"
	if s.options.Post {
		method = "client_secret_post"
	}
	says := map[string]any{"issuer": s.Issuer(), "authorization_endpoint": s.Issuer() + "/authorize", "token_endpoint": s.Issuer() + "/token", "jwks_uri": s.Issuer() + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		"token_endpoint_auth_methods_supported": []string{method}, "code_challenge_methods_supported": []string{"S256"}}
	if s.fault.Configuration != nil {
		s.fault.Configuration(says)
	}
	send(w, http.StatusOK, says)
}

// authorize signs in who is at the provider, and leads back with a code.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, want := range map[string]string{"client_id": s.options.Client, "redirect_uri": s.options.ReturnTo, "response_type": "code", "code_challenge_method": "S256"} {
		if q.Get(name) != want {
			s.refuse(w, "%s is %q, want %q", name, q.Get(name), want)
			return
		}
	}
	if !strings.Contains(" "+q.Get("scope")+" ", " openid ") || len(q.Get("state")) < 40 || len(q.Get("nonce")) < 40 || len(q.Get("code_challenge")) != 43 {
		s.refuse(w, "scope, state, nonce or code_challenge are missing: %s", r.URL.RawQuery)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {s.Issuer()}}
	if s.person == "" {
		back.Set("error", "access_denied")
	} else {
		code := rand.Text()
		s.codes[code] = grant{s.person, q.Get("nonce"), q.Get("code_challenge")}
		back.Set("code", code)
	}
	http.Redirect(w, r, s.options.ReturnTo+"?"+back.Encode(), http.StatusFound)
}

// token returns an ID token for a code, once.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.refuse(w, "%v", err)
		return
	}
	id, secret, basic := r.BasicAuth()
	if s.options.Post {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	} else {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	}
	if id != s.options.Client || secret != s.options.Secret || basic == s.options.Post || r.URL.RawQuery != "" {
		s.deny(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	g, known := s.codes[r.PostForm.Get("code")]
	delete(s.codes, r.PostForm.Get("code"))
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !known || r.PostForm.Get("grant_type") != "authorization_code" || r.PostForm.Get("redirect_uri") != s.options.ReturnTo || encode(sum[:]) != g.challenge {
		s.deny(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	send(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60, "id_token": s.idToken(g)})
}

// idToken returns a signed token about who has signed in.
func (s *Server) idToken(g grant) string {
	now := time.Now()
	claims := map[string]any{"iss": s.Issuer(), "sub": g.person, "aud": s.options.Client, "nonce": g.nonce, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix()}
	if s.fault.Claims != nil {
		s.fault.Claims(claims)
	}
	signer := s.key
	if s.fault.Strange {
		strange, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err) // the test that asked for it cannot go on
		}
		signer = strange
	}
	text := encode([]byte(`{"alg":"RS256","kid":"k1","typ":"JWT"}`)) + "." + encode(marshal(claims))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, signer, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // a fault of this package
	}
	token := text + "." + encode(signature)
	if s.fault.Token != nil {
		token = s.fault.Token(token)
	}
	return token
}

func (s *Server) refuse(w http.ResponseWriter, format string, args ...any) {
	s.refused = append(s.refused, fmt.Sprintf(format, args...))
	http.Error(w, s.refused[len(s.refused)-1], http.StatusBadRequest)
}

func (s *Server) deny(w http.ResponseWriter, status int, code string) {
	s.refused = append(s.refused, code)
	send(w, status, map[string]any{"error": code, "error_description": "the secret is not " + s.options.Secret})
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(v)) // the client may be gone
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a fault of a test
	}
	return text
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// WithoutSignature returns an ID token of the algorithm none.
func WithoutSignature(token string) string {
	parts := strings.Split(token, ".")
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
}

// SignedBy returns an ID token with a signature by a text that both sides know, such as the secret
// of the client or the public key (HS256).
func SignedBy(sign func(text []byte) []byte) func(token string) string {
	return func(token string) string {
		text := encode([]byte(`{"alg":"HS256","kid":"k1","typ":"JWT"}`)) + "." + strings.Split(token, ".")[1]
		return text + "." + encode(sign([]byte(text)))
	}
}
