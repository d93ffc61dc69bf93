package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/access"
)

// sessionBegins begins the token of every session.
const sessionBegins = "ses_"

// sessionTime is how long a session lasts.
const sessionTime = 12 * time.Hour

// Attempts to sign in: so many an hour by a name and from an address, then one after a
// pause that doubles with each.
const (
	attemptsAnHour = 10
	firstPause     = time.Minute
	longestPause   = time.Hour
)

// Credential is what a request proves its caller by: a key or a session, or a name with a
// password.
type Credential struct {
	Token          string
	Name, Password string
}

// errUnknown says as little for a name that there is not as for a wrong password.
func errUnknown() error {
	return &app.Error{Kind: app.Unauthenticated, What: "sign in", Err: errors.New("the name and password, key or session are not valid"),
		Hint: "keys and sessions expire and can be revoked; an administrator makes new ones"}
}

// Authenticate returns who a credential is of, with the rights of now, and how that is
// known. A key may be given as the password of its user. The error is one of kind
// Unauthenticated, or of kind Full after too many attempts.
func (p *People) Authenticate(ctx context.Context, c Credential, address string) (caller access.Caller, via string, err error) {
	defer app.Explained(&err, "sign in")
	switch {
	case strings.HasPrefix(c.Token, keyBegins):
		return p.byKey(ctx, c.Token)
	case strings.HasPrefix(c.Token, sessionBegins):
		return p.bySession(ctx, c.Token)
	case c.Token != "" || c.Name == "":
		return caller, "", errUnknown()
	case keyForm.MatchString(c.Password):
		if caller, via, err = p.byKey(ctx, c.Password); err == nil && caller.Name != c.Name {
			return access.Caller{}, "", errUnknown()
		}
		return caller, via, err
	}
	if err := p.attempt(ctx, c, address); err != nil {
		return caller, "", err
	}
	caller, err = p.Caller(ctx, c.Name)
	return caller, "password", err
}

// byKey returns the caller of a key.
func (p *People) byKey(ctx context.Context, token string) (caller access.Caller, via string, err error) {
	prefix, _, ok := strings.Cut(strings.TrimPrefix(token, keyBegins), "_")
	if !ok || len(prefix) != prefixSize {
		return caller, "", errUnknown()
	}
	k, found, err := p.Records.Key(ctx, prefix)
	if err != nil {
		return caller, "", err
	}
	now, err := p.Records.Now(ctx)
	if err != nil {
		return caller, "", err
	}
	sum := sha256.Sum256([]byte(token))
	if !found || subtle.ConstantTimeCompare(sum[:], k.Sha256) != 1 || k.RevokedAt != nil || k.ExpiresAt != nil && !now.Before(*k.ExpiresAt) {
		return caller, "", errUnknown()
	}
	if caller, err = p.Caller(ctx, k.UserName); err != nil {
		return caller, "", err
	}
	caller.Rights = limited(caller.Rights, k)
	if today := now.UTC().Format(time.DateOnly); !k.UsedOn.Valid || k.UsedOn.Time.Format(time.DateOnly) < today {
		err = p.Records.KeyUsed(ctx, prefix, now)
	}
	return caller, "key " + prefix, err
}

// bySession returns the caller of a session.
func (p *People) bySession(ctx context.Context, token string) (caller access.Caller, via string, err error) {
	sum := sha256.Sum256([]byte(token))
	s, found, err := p.Records.Session(ctx, sum[:])
	if err != nil {
		return caller, "", err
	}
	now, err := p.Records.Now(ctx)
	if err != nil {
		return caller, "", err
	}
	if !found || !now.Before(s.ExpiresAt) {
		return caller, "", errUnknown()
	}
	caller, err = p.Caller(ctx, s.UserName)
	return caller, "session", err
}

// Caller returns a user with the rights of now. The error is one of kind Unauthenticated if
// there is no such user, or it is disabled.
func (p *People) Caller(ctx context.Context, name string) (c access.Caller, err error) {
	rows, err := p.Records.Users(ctx, "", 1, name)
	if err != nil {
		return c, err
	}
	if len(rows) == 0 || rows[0].DisabledAt != nil {
		return c, errUnknown()
	}
	rights, err := p.Records.RightsOf(ctx, name)
	return access.Caller{Name: name, Rights: rights[name]}, err
}

// attempt checks a name and password, unless there were too many attempts.
func (p *People) attempt(ctx context.Context, c Credential, address string) error {
	if access.CheckName(c.Name) != nil || len(c.Password) > maxPassword {
		return errUnknown()
	}
	defer checking.Add(-1)
	if checking.Add(1) > crowd {
		return errCrowd()
	}
	byName, byAddress := "name/"+c.Name, "address/"+network(address)
	if err := p.count(ctx, byAddress, byName); err != nil {
		return err
	}
	ok, err := p.matches(ctx, c.Name, c.Password)
	if err == nil && !ok {
		err = errUnknown()
	}
	if err != nil {
		return err
	}
	return p.Records.Succeeded(ctx, byName, byAddress)
}

// count counts an attempt to sign in by each subject. The error is one of kind Full after too many.
func (p *People) count(ctx context.Context, subjects ...string) error {
	err := p.Records.Attempt(ctx, subjects, func(now time.Time, so []record.Attempts) error {
		for i := range so {
			if left := next(&so[i], now); left > 0 {
				limit := access.Limit{Name: "sign-in", Quota: attemptsAnHour, Window: time.Hour, Reset: left}
				return &app.Error{Kind: app.Full, Err: &access.Exceeded{Limit: limit, Err: errors.New("there were too many attempts to sign in")}, RetryAfter: left, Hint: "wait, and then try once"}
			}
		}
		return nil
	})
	if known, ok := errors.AsType[*app.Error](err); ok {
		return known
	}
	return err
}

// next counts an attempt, or returns after which pause there may be one.
func next(a *record.Attempts, now time.Time) (left time.Duration) {
	if now.Sub(a.BeganAt) >= time.Hour && now.Sub(a.LastAt) >= longestPause {
		a.BeganAt, a.Attempts = now, 0
	}
	if over := a.Attempts - attemptsAnHour; over >= 0 {
		pause := longestPause
		if over < 6 { // a minute doubled six times is more than an hour
			pause = firstPause << over
		}
		if left = a.LastAt.Add(pause).Sub(now); left > 0 {
			return left
		}
	}
	a.Attempts++
	a.LastAt = now
	return 0
}

// network returns the address whose attempts count together: of IPv6 the network of 64 bits,
// which one household has.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}

// Session is a sign-in that lasts.
type Session struct {
	Token     string    `json:"token" doc:"What further requests give as their bearer token; it is shown once"`
	ExpiresAt time.Time `json:"expires_at" doc:"From when on it is refused"`
}

// Begin begins a session of a user who has just signed in.
func (p *People) Begin(ctx context.Context, by By) (s Session, err error) {
	defer app.Explained(&err, "begin a session")
	return p.begin(ctx, by, func(*record.PeopleTx) error { return nil })
}

// begin begins a session, if check agrees.
func (p *People) begin(ctx context.Context, by By, check func(tx *record.PeopleTx) error) (s Session, err error) {
	s.Token = sessionBegins + strings.ToLower(rand.Text()+rand.Text())
	sum := sha256.Sum256([]byte(s.Token))
	err = p.change(ctx, by, "session.begin", "user/"+by.Name, "", func(tx *record.PeopleTx) error {
		if err := check(tx); err != nil {
			return err
		}
		s.ExpiresAt = tx.Now.Add(sessionTime).UTC()
		return tx.AddSession(record.Session{Sha256: sum[:], UserName: by.Name, Address: by.Address, ExpiresAt: s.ExpiresAt})
	})
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// End ends the session of a token.
func (p *People) End(ctx context.Context, by By, token string) (err error) {
	defer app.Explained(&err, "end a session")
	sum := sha256.Sum256([]byte(token))
	return p.change(ctx, by, "session.end", "user/"+by.Name, "", func(tx *record.PeopleTx) error { return tx.EndSession(sum[:]) })
}
