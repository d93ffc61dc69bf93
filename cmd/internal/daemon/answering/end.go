package answering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Limits of a query.
const (
	maxClaims = 10 // how many workers may die while they answer it
	maxTries  = 10 // how often in a row a process may fail to answer it for a fault that is not ours
)

// faultError says that a query can never be answered.
type faultError struct{ reason domain.Reason }

func (f *faultError) Error() string { return f.reason.Message }

func fault(code domain.Code, format string, args ...any) *faultError {
	return &faultError{domain.Reason{Class: domain.ClassSystem, Code: code, Message: fmt.Sprintf(format, args...)}}
}

func lost(format string, args ...any) error {
	return fault(domain.CodeDigestMismatch, format, args...)
}

// end answers a claimed query, mails its report, and ends it. It returns where the answers
// are, "" = it failed.
func (s *Service) end(ctx context.Context, claim *eventstore.Claim, q lookup.Query) (url string, err error) {
	is, err := s.settled(ctx, claim, q)
	if err != nil {
		return "", err
	}
	q.Answer, q.Reason, q.Modified = is.Answer, is.Reason, is.Made
	why := is.Reason
	var mailed *domain.QueryDelivery
	err = s.guarded(q.ID, func() (err error) { mailed, err = s.Mailing.mail(ctx, q); return err })
	if unmailed := s.faultOf(q.ID, err); unmailed != nil {
		why, mailed = cmp.Or(why, unmailed), nil
	} else if err != nil {
		return "", err
	}
	if why == nil {
		_, err = s.Handler.Query(ctx, q.ID, lookup.Finish{Answer: *q.Answer, Mailed: mailed}, meta(claim))
		return q.Answer.URL, err
	}
	s.Log.Info("a query has failed", "query", q.ID, "code", why.Code, "reason", why.Message)
	why.Worker, why.Attempt = claim.Worker, claim.Attempts
	_, err = s.Handler.Query(ctx, q.ID, lookup.Fail{Reason: *why, Mailed: mailed}, meta(claim))
	return "", err
}

// outcome answers a query, or returns why it fails.
func (s *Service) outcome(ctx context.Context, claim *eventstore.Claim, q lookup.Query) (a asked.Answer, why *domain.Reason, err error) {
	if n := claim.Attempts; n > maxClaims {
		return a, &fault(domain.CodeClaimsUsedUp, "%d workers in a row ended without a result while they answered it", n-1).reason, nil
	}
	err = s.guarded(q.ID, func() (err error) { a, err = s.answer(ctx, claim, q); return err })
	if why = s.faultOf(q.ID, err); why != nil {
		err = nil
	}
	return a, why, err
}

// faultOf returns why a query fails after an error, nil = it is tried again. Trouble of our
// own is waited out, and uses up no try.
func (s *Service) faultOf(id domain.QueryID, err error) *domain.Reason {
	var known *faultError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return &known.reason
	case ours(err), s.tries.Again(id.Aggregate(), "", false) < maxTries:
		return nil
	}
	why := reason.Of(err, "the query could not be answered")
	return &why
}

// ours reports whether an error is one of our servers, which is repaired, or of a stop.
func ours(err error) bool {
	var live *eventstore.Error
	var objects *store.Error
	_, _, soon, _ := reason.Fault(err)
	return soon || errors.As(err, &live) || errors.As(err, &objects) || errors.Is(err, eventstore.ErrFull) || projections.Unavailable(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// guarded does something; a panic is a fault of the query.
func (s *Service) guarded(id domain.QueryID, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("answering a query panicked", "query", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault(reason.CodePanic, "an internal error stopped the work; the operators find it in the log")
		}
	}()
	return do()
}
