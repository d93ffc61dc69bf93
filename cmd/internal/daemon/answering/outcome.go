package answering

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// outcome is how a query ends: answered, or failed for a reason.
type outcome struct {
	Answer *asked.Answer  `json:"answer,omitempty"`
	Reason *domain.Reason `json:"reason,omitempty"`
	Made   domain.Time    `json:"made"`
}

// outcomeKey is where the outcome of a query is kept whose report is mailed.
func outcomeKey(id domain.QueryID) string { return keysOf(id) + "outcome.json" }

// settled returns the outcome of a query. One that is mailed is kept before, so that the
// mails of all workers, and the event behind them, say the same.
func (s *Service) settled(ctx context.Context, claim *eventstore.Claim, q lookup.Query) (is outcome, err error) {
	mailed := q.Request.Recipients > 0 && claim.Attempts <= maxClaims
	if mailed {
		var missing *store.Error
		if is, err = s.kept(ctx, q.ID); !errors.As(err, &missing) || missing.Code != store.CodeNotFound {
			return is, err
		}
	}
	a, why, err := s.outcome(ctx, claim, q)
	if err != nil {
		return is, err
	}
	if is = (outcome{Reason: why, Made: domain.At(s.Handler.Clock())}); why == nil {
		is.Answer = &a
	}
	if mailed {
		return s.keep(ctx, q.ID, is)
	}
	return is, nil
}

// keep keeps an outcome, and returns that which another worker has kept before it.
func (s *Service) keep(ctx context.Context, id domain.QueryID, is outcome) (outcome, error) {
	data, err := json.Marshal(is)
	if err != nil {
		return is, err
	}
	err = crash.Around("daemon/query/keep-outcome", func() error {
		_, err := s.Objects.PutIfAbsent(ctx, outcomeKey(id), bytes.NewReader(data))
		return err
	})
	var other *store.Error
	if errors.As(err, &other) && other.Code == store.CodeConflict {
		return s.kept(ctx, id)
	}
	return is, err
}

// kept returns the outcome that was kept. A damaged one is a reason to fail.
func (s *Service) kept(ctx context.Context, id domain.QueryID) (is outcome, err error) {
	r, err := s.Objects.Get(ctx, outcomeKey(id))
	if err != nil {
		return is, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(data, &is); err != nil || (is.Answer == nil) == (is.Reason == nil) {
		is = outcome{Reason: s.faultOf(id, lost("its outcome cannot be read: %v", err)), Made: domain.At(s.Handler.Clock())}
	}
	return is, nil
}
