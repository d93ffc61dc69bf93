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
	of map[string]int
}

func (q *queue) Handler(context.Context) (*eventstore.Handler, error) {
	return &eventstore.Handler{Rings: q}, nil
}

func (q *queue) Waiting(_ context.Context, _, user string) ([]string, error) {
	return make([]string, q.of[user]), nil
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
		r := &Receiver{App: &app.App{Open: app.Resources{LiveState: &queue{of: map[string]int{c.user: c.queued}}, Drop: func(bool) (*drop.Folder, error) { return folder, nil }}}, Waiting: c.limit}
		err := r.Room(t.Context(), c.user)
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
