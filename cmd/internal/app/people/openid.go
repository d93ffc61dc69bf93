package people

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/openid"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/text"
)

// OpenIDTime is how long a person may take to sign in at an OpenID Connect provider.
const OpenIDTime = 10 * time.Minute

// viaOpenID is how who has just signed in so is known.
const viaOpenID = "openid"

// Identity is who a user is at an OpenID Connect provider.
type Identity struct {
	Issuer  string `json:"issuer" maxLength:"500" doc:"The provider, as openid_issuer has it"`
	Subject string `json:"subject" maxLength:"255" doc:"Who the user is there (the claim sub); empty = the user does not sign in there"`
}

func (i Identity) check() error {
	if (i.Issuer == "") != (i.Subject == "") {
		return invalid("give both, or both empty", "the issuer and the subject belong together")
	}
	if len(i.Issuer) > 500 || len(i.Subject) > openid.MaxSubject || !text.Valid(i.Issuer) || !text.Valid(i.Subject) {
		return invalid("", "the issuer or the subject is too long, or is not text: use at most 500 and %d bytes of it", openid.MaxSubject)
	}
	return nil
}

// bind binds a user that is locked to a person at a provider.
func (i Identity) bind(tx *record.PeopleTx, name string) error {
	bound, err := tx.BindOpenID(name, i.Issuer, i.Subject)
	if err == nil && !bound {
		err = &app.Error{Kind: app.Refused, Err: fmt.Errorf("another user is %q at %s", i.Subject, i.Issuer), Hint: "`accession user ls -o json` shows which; take it away there first"}
	}
	if tx.Entry.Detail = "openid " + i.Subject + " at " + i.Issuer; i.Subject == "" {
		tx.Entry.Detail = "openid none"
	}
	return err
}

// Provider says who people are: see [openid.Provider].
type Provider interface {
	// Address returns where a browser is led to sign in.
	Address(ctx context.Context, proof openid.Proof) (string, error)
	// Identify returns who has signed in, by the code that came back.
	Identify(ctx context.Context, code string, proof openid.Proof) (openid.Identity, error)
}

// ProviderError says that a provider does not answer as it should.
type ProviderError struct{ Err error }

// Error implements error.
func (e *ProviderError) Error() string { return "the OpenID Connect provider: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// OpenID signs people in at an OpenID Connect provider. It makes no users and gives no rights: who
// signs in is the user whom an administrator has bound to the person.
type OpenID struct {
	People   *People
	Provider Provider
	Issuer   string
}

// OpenIDAnswer is what a browser brings back from the provider.
type OpenIDAnswer struct{ State, Code, Issuer, Error string }

// Begin begins a sign-in from an address, which counts as an attempt until it succeeds. The browser
// keeps the token, and is led to the provider; next is the page to which it comes at last.
func (o *OpenID) Begin(ctx context.Context, address, next string) (token, to string, err error) {
	defer app.Explained(&err, "sign in")
	if err := o.People.count(ctx, "address/"+network(address)); err != nil {
		return "", "", err
	}
	token = strings.ToLower(rand.Text() + rand.Text())
	if to, err = o.Provider.Address(ctx, proofOf(token)); err != nil {
		return "", "", o.fault(ctx, address, err)
	}
	sum := sha256.Sum256([]byte(token))
	return token, to, o.People.Records.BeginOpenID(ctx, sum[:], next, OpenIDTime)
}

// proofOf returns what the sign-in of a token is known by: only who has the token can make it.
func proofOf(token string) openid.Proof {
	of := func(what string) string {
		m := hmac.New(sha256.New, []byte(token))
		m.Write([]byte(what))
		return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
	return openid.Proof{State: of("state"), Nonce: of("nonce"), Verifier: of("verifier")}
}

// errorCode is what the errors of a provider look like that may be shown (RFC 6749, 4.1.2.1).
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// Finish ends a sign-in that comes back, once, and begins a session of the user, as one with a
// password does. The error is one of kind Unauthenticated, or a *[ProviderError].
func (o *OpenID) Finish(ctx context.Context, address, token string, a OpenIDAnswer) (s Session, next string, err error) {
	defer app.Explained(&err, "sign in")
	proof := proofOf(token)
	if token == "" || !hmac.Equal([]byte(proof.State), []byte(a.State)) {
		return s, "", refusedOpenID("begin again, and finish it in the same browser", "this browser has begun no such sign-in")
	}
	sum := sha256.Sum256([]byte(token))
	next, found, err := o.People.Records.EndOpenID(ctx, sum[:])
	if err != nil {
		return s, "", err
	}
	switch {
	case !found:
		return s, "", refusedOpenID("begin again", "the sign-in took longer than %v, or has come back before", OpenIDTime)
	case a.Issuer != "" && a.Issuer != o.Issuer: // RFC 9207
		return s, "", refusedOpenID("begin again", "the answer is of another provider")
	case a.Error != "" && errorCode.MatchString(a.Error):
		return s, "", refusedOpenID("begin again, or sign in with name and password", "the provider has refused it: %s", a.Error)
	case a.Code == "":
		return s, "", refusedOpenID("begin again, or sign in with name and password", "the provider has refused it")
	}
	who, err := o.Provider.Identify(ctx, a.Code, proof)
	if refusal, ok := errors.AsType[*openid.RefusedError](err); ok {
		return s, "", refusedOpenID("begin again; an administrator finds the settings openid_* in docs/operating.md", "%v", refusal)
	}
	if err != nil {
		return s, "", o.fault(ctx, address, err)
	}
	if s, err = o.session(ctx, address, who); err != nil {
		return s, "", err
	}
	return s, next, o.People.Records.GiveBack(ctx, "address/"+network(address))
}

func refusedOpenID(hint, format string, args ...any) error {
	return &app.Error{Kind: app.Unauthenticated, Err: fmt.Errorf(format, args...), Hint: hint}
}

// fault returns that the provider is at fault, which is no attempt of the person's.
func (o *OpenID) fault(ctx context.Context, address string, err error) error {
	return errors.Join(&ProviderError{err}, o.People.Records.GiveBack(ctx, "address/"+network(address)))
}

// refuse audits that a person whom the provider knows is not let in.
func (o *OpenID) refuse(ctx context.Context, by By, subject, detail string, refusal error) error {
	if err := o.People.Note(ctx, by, "session.begin", subject, Refused, detail, ""); err != nil {
		return err
	}
	return refusal
}

// session begins a session of the user who is a person at the provider. That there is none, or that
// it is disabled, is audited: the provider knows the person.
func (o *OpenID) session(ctx context.Context, address string, who openid.Identity) (s Session, err error) {
	name, err := o.People.Records.UserOfOpenID(ctx, who.Issuer, who.Subject)
	if err != nil {
		return s, err
	}
	by := By{Name: name, Via: viaOpenID, Address: address}
	if name == "" {
		refusal := refusedOpenID("an administrator binds one: `accession user set NAME --openid-issuer "+who.Issuer+" --openid-subject "+who.Subject+"`",
			"no user is bound to you, %s at %s", who.Subject, who.Issuer)
		return s, o.refuse(ctx, by, "", "openid "+who.Subject+" at "+who.Issuer+" is no user", refusal)
	}
	s, err = o.People.begin(ctx, by, func(tx *record.PeopleTx) error {
		u, _, err := tx.User(name)
		if err != nil {
			return err
		}
		bound, err := tx.UserOfOpenID(who.Issuer, who.Subject)
		if err == nil && (bound != name || u.DisabledAt != nil) {
			err = refusedOpenID("an administrator can let you in again", "the user %s is disabled", name)
		}
		return err
	})
	if refusal, ok := errors.AsType[*app.Error](err); ok && refusal.Kind == app.Unauthenticated {
		err = o.refuse(ctx, by, "user/"+name, string(app.Unauthenticated), refusal)
	}
	return s, err
}
