package answering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// newService returns a service over a live state in memory, without any tables.
func newService(t *testing.T) (*Service, *storetest.Kit) {
	t.Helper()
	live := memory.New(memory.Options{}).Session()
	k := storetest.NewRingKit(t, live)
	objects, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = objects.Close() })
	return &Service{Handler: k.Handler, Claims: live, Objects: objects, Log: slog.New(slog.DiscardHandler), tries: limits.NewTries()}, k
}

// Trouble of our own uses up no try of a query; after an error that is not, it is tried some
// times, and fails with a reason.
func TestTriesOfAQuery(t *testing.T) {
	t.Parallel()
	s, _ := newService(t)
	id := domain.NewQueryID(1)
	for _, err := range []error{
		fmt.Errorf("write: %w", eventstore.ErrFull), &eventstore.FullError{}, &eventstore.Error{Err: eventstore.ErrFenced}, &store.Error{Code: store.CodeDiskFull},
		&record.Error{Code: record.CodeUnavailable}, fmt.Errorf("look up: %w", net.ErrClosed), context.Canceled,
	} {
		for range 2 * maxTries {
			if why := s.faultOf(id, err); why != nil {
				t.Errorf("%v ends a query: %+v", err, why)
				break
			}
		}
	}
	for n := 1; ; n++ {
		if why := s.faultOf(id, errors.New("odd")); why != nil {
			if n != maxTries || why.Code != reason.CodeInternal || why.Class != domain.ClassSystem || !strings.Contains(why.Message, "odd") {
				t.Errorf("after %d tries: %+v", n, why)
			}
			break
		}
		if n > maxTries {
			t.Fatal("a query is tried for ever")
		}
	}
	var known *faultError
	if err := s.guarded(id, func() error { panic("odd") }); !errors.As(err, &known) || s.faultOf(id, err).Code != reason.CodePanic {
		t.Errorf("a panic is %v", err)
	}
}

// A query whose answering panics fails at once, also in the goroutine that writes the
// answers, and one whose list has become too large fails too; their places are free.
func TestQueriesThatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list string
		code domain.Code
	}{
		"a panic":                 {"bid0000000001\n", reason.CodePanic}, // there are no tables
		"a list that has changed": {strings.Repeat("#\n", lookup.MaxLines+1), domain.CodeDigestMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, k := newService(t)
			kept, err := s.Objects.Put(t.Context(), "queries/list.txt", strings.NewReader(c.list))
			if err != nil {
				t.Fatal(err)
			}
			s.Mailing.Report = func(context.Context, io.Writer, lookup.Query) error { return nil }
			request := asked.Request{Submitter: "ana", Lines: 1, ListURL: store.URL(kept.Key), ListSHA256: kept.SHA256}
			if _, err := k.Handler.ReceiveQuery(t.Context(), domain.NewQueryID(1), lookup.Receive{Request: request}, storetest.Operator()); err != nil {
				t.Fatal(err)
			}
			res := k.GrabQuery()
			s.serve(t.Context(), res.Claim, res.State)
			at, err := k.Handler.Queries.LoadQuery(t.Context(), res.State.ID)
			if err != nil || at.State.State != asked.Failed || at.State.Ticket != nil || at.State.Reason.Code != c.code || at.State.Reason.WhoActs != domain.ActsOperator {
				t.Errorf("%+v, %v", at.State, err)
			}
		})
	}
}

// A query with which too many workers in a row have died fails without another try; one less
// has it.
func TestClaimsOfAQuery(t *testing.T) {
	t.Parallel()
	for attempts, code := range map[int]domain.Code{maxClaims: reason.CodePanic, maxClaims + 1: domain.CodeClaimsUsedUp} {
		s, k := newService(t)
		kept, err := s.Objects.Put(t.Context(), "queries/list.txt", strings.NewReader("bid0000000001\n"))
		if err != nil {
			t.Fatal(err)
		}
		request := asked.Request{Submitter: "ana", Lines: 1, ListURL: store.URL(kept.Key), ListSHA256: kept.SHA256}
		if _, err := k.Handler.ReceiveQuery(t.Context(), domain.NewQueryID(1), lookup.Receive{Request: request}, storetest.Operator()); err != nil {
			t.Fatal(err)
		}
		res := k.GrabQuery()
		res.Claim.Attempts = attempts
		s.serve(t.Context(), res.Claim, res.State) // a try panics: there are no tables
		at, err := k.Handler.Queries.LoadQuery(t.Context(), res.State.ID)
		if err != nil || at.State.State != asked.Failed || at.State.Reason.Code != code || at.State.Reason.WhoActs != domain.ActsOperator {
			t.Errorf("claim %d: %+v, %v", attempts, at.State, err)
		}
	}
}

// A query is answered again after its mail could not be recorded: the outcome is the one of
// the first time, also when the list is another by then.
func TestOutcomesAreKept(t *testing.T) {
	t.Parallel()
	s, k := newService(t)
	id := domain.NewQueryID(1)
	put := func(list string) store.Blob {
		kept, err := s.Objects.Put(t.Context(), "queries/list.txt", strings.NewReader(list))
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	kept := put("bid0000000001\n")
	request := asked.Request{Submitter: "ana", Lines: 1, ListURL: store.URL(kept.Key), ListSHA256: kept.SHA256, Recipients: 1}
	if _, err := k.Handler.ReceiveQuery(t.Context(), id, lookup.Receive{Request: request}, storetest.Operator()); err != nil {
		t.Fatal(err)
	}
	s.Mailing.Records = awayRecords{}
	res := k.GrabQuery()
	s.serve(t.Context(), res.Claim, res.State) // it panics: there are no tables
	if at, err := k.Handler.Queries.LoadQuery(t.Context(), id); err != nil || at.State.State != asked.Grabbed {
		t.Fatalf("%+v, %v", at.State, err)
	}
	first, err := s.kept(t.Context(), id)
	if err != nil || first.Reason == nil || first.Reason.Code != reason.CodePanic {
		t.Fatalf("%+v, %v", first, err)
	}
	put(strings.Repeat("#\n", lookup.MaxLines+1))
	claim, at, err := k.Handler.Queries.ClaimQuery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.settled(t.Context(), claim, at.State)
	if err != nil || again.Reason == nil || *again.Reason != *first.Reason || !again.Made.Equal(first.Made.Time) {
		t.Errorf("%+v, %v; it was %+v", again, err, first)
	}
	if other, err := s.keep(t.Context(), id, outcome{Answer: &asked.Answer{Found: 1}, Made: first.Made}); err != nil || other.Answer != nil {
		t.Errorf("another outcome was kept: %+v, %v", other, err)
	}
	if _, err := s.Objects.Put(t.Context(), outcomeKey(id), strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	if damaged, err := s.settled(t.Context(), claim, at.State); err != nil || damaged.Reason == nil || damaged.Reason.Code != domain.CodeDigestMismatch {
		t.Errorf("damaged: %+v, %v", damaged, err)
	}
}

// awayRecords do not answer.
type awayRecords struct{ Records }

func (awayRecords) Delivery(context.Context, string) (record.Delivery, error) {
	return record.Delivery{}, &record.Error{Code: record.CodeUnavailable}
}
