package drops

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/eventstore"
)

// queue is a live state of which only the waiting deposits of users are known.
type queue struct {
	app.LiveState
	eventstore.Rings
	eventstore.DepositQueues
	of     map[string]int
	closed string
}

func (q *queue) Handler(context.Context) (*eventstore.Handler, error) {
	return &eventstore.Handler{Rings: q}, nil
}

func (q *queue) Waiting(_ context.Context, _, user string) ([]string, error) {
	return make([]string, q.of[user]), nil
}

// QueueSettings implements eventstore.DepositQueues.
func (q *queue) QueueSettings(context.Context, string) (s eventstore.QueueSettings, err error) {
	s.Set.Queue.Closed = q.closed
	return s, nil
}

// TestClosedRoom: there is no room for deposits and queries while the intake is closed.
func TestClosedRoom(t *testing.T) {
	t.Parallel()
	folder, err := drop.Open(filepath.Join(t.TempDir(), "drop"), "here")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close() //nolint:errcheck // only read
	for _, message := range []string{"", "until 18:00"} {
		q := &queue{closed: message}
		r := &Receiver{App: &app.App{Open: app.Resources{LiveState: q, DepositQueues: func(context.Context) (eventstore.DepositQueues, error) { return q, nil }, Drop: func(bool) (*drop.Folder, error) { return folder, nil }}}, Waiting: 1}
		_, _, begun := r.Begin(t.Context(), app.Deposit{Submitter: "ana", Payload: "a.txt"}, Resumable{Owner: "ana", Size: 1})
		for name, err := range map[string]error{"a deposit": r.Room(t.Context(), "ana", ""), "a query": r.RoomForQuery(t.Context(), "ana", ""), "an upload": begun} {
			fault, _ := errors.AsType[*app.Error](err)
			closed := fault != nil && fault.Kind == app.IntakeClosed && fault.RetryAfter > 0 && strings.Contains(err.Error(), "until 18:00")
			if closed != (message != "") {
				t.Errorf("%s while the message is %q: %v", name, message, err)
			}
		}
	}
}

// TestRoom: drop folder and queue count together, for each user apart; at the limit one more
// is refused, and there is room again when one is done.
func TestRoom(t *testing.T) {
	t.Parallel()
	folder, err := drop.Open(filepath.Join(t.TempDir(), "drop"), "here")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close() //nolint:errcheck // only read
	if _, err := folder.Accept(t.Context(), drop.Deposit{Submitter: "ana", FileName: "a.txt"}, strings.NewReader("a"), time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit, queued int // beside one in the drop folder
		user          string
		full          bool
		left          int
	}{
		{10_000, 0, "ana", false, 9_998},
		{10_000, 9_998, "ana", false, 0},
		{10_000, 9_999, "ana", true, 0},
		{10_000, 10_000, "ana", true, 0},
		{10_000, 12_000, "ana", true, 0},
		{10_000, 9_999, "bob", false, 0},
		{10_000, 10_000, "bob", true, 0},
		{2, 0, "ana", false, 0},
		{2, 1, "ana", true, 0},
		{1, 0, "ana", true, 0},
		{1, 0, "bob", false, 0},
	} {
		q := &queue{of: map[string]int{c.user: c.queued}}
		r := &Receiver{App: &app.App{Open: app.Resources{LiveState: q, DepositQueues: func(context.Context) (eventstore.DepositQueues, error) { return q, nil }, Drop: func(bool) (*drop.Folder, error) { return folder, nil }}}, Waiting: c.limit}
		err := r.Room(t.Context(), c.user, "")
		fault, _ := errors.AsType[*app.Error](err)
		beyond, _ := errors.AsType[*access.Exceeded](err)
		if c.full != (err != nil) || c.full && (fault == nil || fault.Kind != app.Full || fault.RetryAfter != time.Minute || beyond == nil || beyond.Limit != r.Limit()) {
			t.Errorf("%+v: %v", c, err)
		}
		want := access.Limit{Name: "waiting-deposits", Quota: c.limit, Left: c.left}
		if c.full {
			want.Reset = time.Minute
		}
		if r.Limit() != want {
			t.Errorf("%+v: %+v", c, r.Limit())
		}
	}
}
