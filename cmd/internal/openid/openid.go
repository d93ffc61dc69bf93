// Package openid asks an OpenID Connect provider who a person is: by the authorization code flow
// with PKCE (RFC 7636). It knows no rights, and keeps nothing of a person.
package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/accession-ingest/accession/domain/text"
)

// Provider is an OpenID Connect provider. It is asked for its addresses at the first sign-in, and
// again after it did not answer.
type Provider struct {
	Issuer         string // as it writes itself
	Client, Secret string // the account of this installation at the provider
	ReturnTo       string // where it leads a browser that comes back
	Scopes         []string

	timeout, pause time.Duration // of tests, 0 = requestTime and pauseTime

	mu       sync.Mutex
	found    *found
	fault    error // why it was not found the last time
	failedAt time.Time
}

// found is a provider that has answered.
type found struct {
	oauth2   oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// Proof is what one sign-in is known by: the answer has the state, the ID token the nonce, and who
// asks for it the verifier, of which the provider has a digest.
type Proof struct{ State, Nonce, Verifier string }

// Identity is who a person is at the provider: the subject never changes there and is never another
// person's.
type Identity struct{ Issuer, Subject string }

// RefusedError says that an answer proves nothing.
type RefusedError struct{ Err error }

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(format string, args ...any) error { return &RefusedError{fmt.Errorf(format, args...)} }

// MaxSubject is the most bytes of a subject.
const MaxSubject = 255

// pauseTime is for how long a provider that did not answer is not asked again.
const pauseTime = 2 * time.Second

// Address returns where a browser is led to sign in. The error says that the provider does not
// answer as it should.
func (p *Provider) Address(ctx context.Context, proof Proof) (string, error) {
	f, err := p.find(ctx)
	if err != nil {
		return "", err
	}
	return f.oauth2.AuthCodeURL(proof.State, oidc.Nonce(proof.Nonce), oauth2.S256ChallengeOption(proof.Verifier)), nil
}

// Identify returns who has signed in, by the code that the provider has sent back. The error is a
// *[RefusedError], or says that the provider does not answer as it should; it has no secret.
func (p *Provider) Identify(ctx context.Context, code string, proof Proof) (who Identity, err error) {
	f, err := p.find(ctx)
	if err != nil {
		return who, err
	}
	ctx = oidc.ClientContext(ctx, p.client())
	token, err := f.oauth2.Exchange(ctx, code, oauth2.VerifierOption(proof.Verifier))
	if err != nil {
		return who, p.exchangeFault(err)
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return who, errors.New("the provider sends no ID token: openid_scopes must have openid")
	}
	id, err := f.verifier.Verify(ctx, raw)
	switch {
	case errors.As(err, new(*oidc.TokenExpiredError)):
		return who, refused("the ID token has expired: do the clocks of the provider and of this machine agree?")
	case err != nil:
		return who, p.tokenFault(err)
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(proof.Nonce)) != 1:
		return who, refused("the ID token is of another sign-in: its nonce is not the one of this")
	}
	var claims struct {
		Party string `json:"azp"`
	}
	if err := id.Claims(&claims); err != nil {
		return who, refused("the ID token cannot be read")
	}
	if claims.Party != "" && claims.Party != p.Client || claims.Party == "" && len(id.Audience) > 1 {
		return who, refused("the ID token is for another client")
	}
	if id.Subject == "" || len(id.Subject) > MaxSubject || !text.Valid(id.Subject) {
		return who, refused("the subject is empty, has more than %d bytes, or is not text", MaxSubject)
	}
	return Identity{p.Issuer, id.Subject}, nil
}

// find asks the provider for its addresses, once it has answered no more.
func (p *Provider) find(ctx context.Context) (*found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if p.fault != nil && time.Since(p.failedAt) < p.pauseFor() {
		return nil, p.fault
	}
	p.found, p.fault = p.ask(context.WithoutCancel(ctx)) // it is not of the one who comes first
	p.failedAt = time.Now()
	return p.found, p.fault
}

func (p *Provider) pauseFor() time.Duration {
	if p.pause != 0 {
		return p.pause
	}
	return pauseTime
}

func (p *Provider) ask(ctx context.Context) (*found, error) {
	ctx = oidc.ClientContext(ctx, p.client())
	of, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the provider for its configuration: %w", p.hidden(err))
	}
	var says struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := of.Claims(&says); err != nil {
		return nil, fmt.Errorf("read the provider's configuration: %w", p.hidden(err))
	}
	at := of.Endpoint()
	for what, address := range map[string]string{"authorization_endpoint": at.AuthURL, "token_endpoint": at.TokenURL, "jwks_uri": says.Keys} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || !Protected(u) {
			return nil, fmt.Errorf("the provider's configuration has no https:// URL as %s", what)
		}
	}
	switch {
	case len(says.Methods) == 0 || slices.Contains(says.Methods, "client_secret_basic"):
		at.AuthStyle = oauth2.AuthStyleInHeader
	case slices.Contains(says.Methods, "client_secret_post"):
		at.AuthStyle = oauth2.AuthStyleInParams
	default:
		return nil, errors.New("the provider takes no client secret (client_secret_basic or client_secret_post)")
	}
	return &found{
		oauth2:   oauth2.Config{ClientID: p.Client, ClientSecret: p.Secret, Endpoint: at, RedirectURL: p.ReturnTo, Scopes: p.Scopes},
		verifier: of.VerifierContext(ctx, &oidc.Config{ClientID: p.Client}),
	}, nil
}

// exchangeFault returns why the provider gave no token for a code.
func (p *Provider) exchangeFault(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return fmt.Errorf("ask the provider for a token: %w", p.hidden(err))
	case answer.ErrorCode == "invalid_grant": // the code is another's, old, or was used
		return refused("the provider does not know the code")
	}
	return fmt.Errorf("ask the provider for a token: it answers %d %w", answer.Response.StatusCode, p.hidden(errors.New(answer.ErrorCode)))
}

// tokenFault returns what is wrong with an ID token: that its keys cannot be had is no fault of it.
func (p *Provider) tokenFault(err error) error {
	if strings.Contains(err.Error(), "fetching keys") {
		return fmt.Errorf("ask the provider for its keys: %w", p.hidden(err))
	}
	return &RefusedError{fmt.Errorf("the ID token is not valid: %w", p.hidden(err))}
}

// hidden returns an error on one line, without the secret, which the provider knows and may repeat.
func (p *Provider) hidden(err error) error {
	s := err.Error()
	for _, secret := range []string{p.Secret, url.QueryEscape(p.Secret)} {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "(secret)")
		}
	}
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return errors.New(text.Line(s))
}
