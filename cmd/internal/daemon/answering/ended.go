package answering

import (
	"context"
	"errors"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// ended cleans up after queries that have ended.
type ended struct {
	*Service
	discarded map[domain.QueryID]bool // their answers that are not the query's
}

// removeLeft removes the answers that workers have left who died or lost their claim, and the
// queries from the live state whose retention is over; the history and the tables keep
// them. The answers go first: of a query that is gone nothing is looked for.
func (e ended) removeLeft(ctx context.Context) error {
	ids, err := e.Handler.Queries.QueryIDs(ctx)
	for _, id := range ids {
		if lerr := e.one(ctx, id); lerr != nil && !errors.Is(lerr, eventstore.ErrNotFound) {
			err = errors.Join(err, lerr)
		}
	}
	return err
}

func (e ended) one(ctx context.Context, id domain.QueryID) error {
	at, err := e.Handler.Queries.LoadQuery(ctx, id)
	if err != nil || !at.State.State.Ended() {
		return err
	}
	over := e.Retention > 0 && e.Handler.Clock().Sub(at.State.Modified.Time) > e.Retention
	if over || !e.discarded[id] {
		url := ""
		if at.State.Answer != nil {
			url = at.State.Answer.URL
		}
		if err := e.discard(ctx, id, url); err != nil {
			return err
		}
		e.discarded[id] = true
	}
	if !over {
		return nil
	}
	delete(e.discarded, id)
	return e.Handler.Queries.RemoveQuery(ctx, id)
}

// answersSuffix is that of the keys of answers.
const answersSuffix = ".jsonl"

// answersKey is where a claim keeps the answers of a query.
func answersKey(id domain.QueryID, claim string) string {
	return keysOf(id) + claim + answersSuffix
}

func keysOf(id domain.QueryID) string { return "queries/" + string(id) + "/" }

// discard removes all answers of a query that has ended but its own.
func (s *Service) discard(ctx context.Context, id domain.QueryID, own string) error {
	for o, err := range s.Objects.List(ctx, keysOf(id)) {
		if err != nil {
			return err
		}
		if strings.HasSuffix(o.Key, answersSuffix) && store.URL(o.Key) != own {
			if err := s.Objects.Delete(ctx, o.Key); err != nil {
				return err
			}
		}
	}
	return nil
}
