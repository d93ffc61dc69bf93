// Package entrust has steps of jobs done by services outside, each once.
//
// # Promises
//
// That a step is asked for is kept before the first request, and what a service says of it
// before the job goes on: what is done is not asked for again, and what a service has taken is
// only looked at. All requests for a step are the same, whichever process makes them, so that one
// may die, or an answer be lost, anywhere.
package entrust

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/stepservice"
	"github.com/accession-ingest/accession/domain"
)

// CodeWaits is why a job waits that a service has taken.
const CodeWaits domain.Code = "service_works"

// CodeLate is the reason of a job whose service has not done its step in time.
const CodeLate domain.Code = "service_late"

// Records keeps what becomes of steps; see record.Records.
type Records interface {
	BeginEffect(ctx context.Context, key, kind string) (record.Effect, error)
	AcceptEffect(ctx context.Context, key string, accepted any) (record.Effect, error)
	FinishEffect(ctx context.Context, key string, result any) (record.Effect, error)
}

// Manifests has the storage manifests of versions; *store.Store is one.
type Manifests interface {
	ManifestBytes(ctx context.Context, key, sha string) ([]byte, error)
}

// Step is a step of a job that a service does.
type Step struct {
	Records Records
	Service stepservice.Service
	Client  stepservice.Doer
	Kind    string        // of the effect
	Within  time.Duration // in which the service must have done what it has taken
	// InTime calls use, which reads bytes from the object store, with a deadline.
	InTime func(ctx context.Context, bytes int64, op, key string, use func(context.Context) error) error
	Pause  time.Duration // the first one before a service is asked how far it is, if it does not say
}

// Standing is how far a step is.
type Standing struct {
	Done  bool
	Why   domain.Reason // the job waits for the service, if it is not done
	Delay time.Duration // after which it looks again
}

// accepted is what is kept of a step that a service has taken.
type accepted struct {
	Service  string      `json:"service"` // its URL
	Location string      `json:"location"`
	Since    domain.Time `json:"since"`
}

// done is what is kept of a step that is done.
type done struct {
	Service string `json:"service"` // its URL
	stepservice.Done
}

// maxPause is the longest pause before a service is asked how far it is, if it does not say.
const maxPause = time.Minute

// Make asks for the step, or how far it is; request is called if there is something to ask for.
// A service that has failed a step is asked for it anew the next time.
func (s Step) Make(ctx context.Context, key string, request func() (stepservice.Request, error)) (at Standing, err error) {
	e, err := s.Records.BeginEffect(ctx, key, s.Kind)
	if err != nil || e.Done {
		return Standing{Done: e.Done}, err
	}
	r, err := request()
	if err != nil {
		return at, err
	}
	r.Key = key
	var had accepted
	if len(e.Accepted) > 0 {
		if err := json.Unmarshal(e.Accepted, &had); err != nil {
			return at, reason.System(reason.CodeInternal, "what is kept of %s cannot be read: %v", key, err)
		}
	}
	var a stepservice.Answer
	looks := had.Location != "" && had.Service == s.Service.URL && s.Service.Has(had.Location)
	if looks {
		a, err = s.Service.Look(ctx, s.Client, r, had.Location)
	} else {
		a, err = s.Service.Ask(ctx, s.Client, r)
	}
	now := domain.At(e.Now) // and not by a clock of this process: another one may look the next time
	switch {
	case err != nil:
		if again, _ := fetch.MayRetry(err); again || !looks || ctx.Err() != nil {
			return at, err
		}
		return at, s.forget(ctx, key, err)
	case a.Done != nil:
		_, err = s.Records.FinishEffect(ctx, key, done{fetch.Redact(s.Service.URL), *a.Done})
		return Standing{Done: err == nil}, err
	}
	is := accepted{Service: s.Service.URL, Location: a.Location, Since: had.Since}
	if !looks {
		is.Since = now
	}
	waited := now.Sub(is.Since.Time)
	if left := s.Within - waited; left <= 0 {
		return at, s.forget(ctx, key, &reason.Problem{Reason: domain.Reason{Class: domain.ClassTimeout, Code: CodeLate, Host: fetch.Host(s.Service.URL),
			Message: fmt.Sprintf("the service of %s at %s has had %s for longer than %s, and has not done it; see why, then requeue the job", s.Service.Field, fetch.Host(s.Service.URL), key, s.Within)}})
	} else if at.Delay = min(max(min(waited, maxPause), s.Pause), left); a.After > 0 {
		at.Delay = min(max(a.After, s.Pause), left)
	}
	if is != had {
		if _, err := s.Records.AcceptEffect(ctx, key, is); err != nil {
			return at, err
		}
	}
	at.Why = domain.Reason{Code: CodeWaits, Host: fetch.Host(s.Service.URL),
		Message: fmt.Sprintf("the service of %s at %s has it since %s, and says later that it is done", s.Service.Field, fetch.Host(s.Service.URL), is.Since)}
	return at, nil
}

// Entrusted is a stored version of a job, and the service that does a step with it.
type Entrusted struct {
	Field   string // of the profile that names the service: storage or recording
	URL     string
	Account stepservice.Credentials
	Job     domain.JobID
	Object  domain.StoredObject
}

// kinds has the kind of the effect of each step, by the field that names its service.
var kinds = map[string]string{profile.FieldStorage: record.EffectStorage, profile.FieldRecording: record.EffectRecord}

// manifestRow is about how many bytes a file has in a storage manifest, at most.
const manifestRow = 1 << 10

// Key returns under which key the service is asked.
func (e Entrusted) Key() string { return record.EffectKey(e.Job, int64(e.Object.Version), e.Field) }

// Version has the service do its step with the version.
func (s Step) Version(ctx context.Context, e Entrusted, from Manifests) (Standing, error) {
	s.Kind, s.Service = kinds[e.Field], stepservice.Service{Field: e.Field, URL: e.URL, Credentials: e.Account}
	return s.Make(ctx, e.Key(), func() (r stepservice.Request, err error) {
		r = stepservice.Request{Object: e.Object.Primary, Version: e.Object.Version}
		err = s.InTime(ctx, int64(e.Object.Files)*manifestRow, "read the storage manifest", e.Object.ManifestKey, func(ctx context.Context) (err error) {
			r.Manifest, err = from.ManifestBytes(ctx, e.Object.ManifestKey, e.Object.ManifestSHA256)
			return err
		})
		return r, err
	})
}

// forget lets a step that has failed with why be asked for anew, and returns why.
func (s Step) forget(ctx context.Context, key string, why error) error {
	if _, err := s.Records.AcceptEffect(ctx, key, nil); err != nil {
		return err
	}
	return why
}
