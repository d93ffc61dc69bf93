package answering

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// answer answers a query and keeps the answers, while they are made, under a key of the
// claim: what a worker that has lost its claim still writes is never read.
func (s *Service) answer(ctx context.Context, claim *eventstore.Claim, q lookup.Query) (a asked.Answer, err error) {
	key, ok := store.KeyOf(q.Request.ListURL)
	if !ok {
		return a, lost("the list is not in the object store: %s", q.Request.ListURL)
	}
	list, err := s.Objects.Get(ctx, key)
	var missing *store.Error
	if errors.As(err, &missing) && missing.Code == store.CodeNotFound {
		return a, lost("the list is not in the object store any more: %s", q.Request.ListURL)
	}
	if err != nil {
		return a, err
	}
	defer func() { _ = list.Close() }()
	sum := sha256.New()
	answers, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := s.guarded(q.ID, func() error { return s.write(ctx, w, q.Request, io.TeeReader(list, sum), &a) })
		_ = w.CloseWithError(err)
		ended <- err
	}()
	kept, err := s.Objects.Put(ctx, answersKey(q.ID, claim.ID), answers)
	_ = answers.CloseWithError(io.ErrClosedPipe) // else a store that stopped reading would keep the answers waiting
	werr := <-ended
	if errors.Is(werr, lookup.ErrTooLarge) {
		return a, lost("the list is not the one that was accepted: %v", werr)
	}
	if werr != nil && !errors.Is(werr, io.ErrClosedPipe) {
		return a, werr
	}
	if err != nil {
		return a, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != q.Request.ListSHA256 {
		return a, lost("the list has the SHA-256 %s, and had %s when it was accepted", got, q.Request.ListSHA256)
	}
	a.URL, a.SHA256 = store.URL(kept.Key), kept.SHA256
	return a, nil
}

// write writes the answers to the list of a request, one a line, and counts the lines by
// their outcome.
func (s *Service) write(ctx context.Context, to io.Writer, of asked.Request, list io.Reader, a *asked.Answer) error {
	from := s.Sources
	from.Sees = lookup.SeesOf(of)
	lines, line := json.NewEncoder(to), 0
	for one, err := range from.Each(ctx, lookup.Lines(list)) {
		if err == nil {
			err = lines.Encode(one)
		}
		if err != nil {
			return err
		}
		if one.Line == line {
			continue
		}
		line = one.Line
		switch one.Outcome {
		case lookup.Found:
			a.Found++
		case lookup.NotFound:
			a.NotFound++
		case lookup.Wrong:
			a.Wrong++
		}
	}
	return nil
}
