package operation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

// silent are events of which none comes.
func silent(ctx context.Context) iter.Seq2[app.Event, error] {
	return func(func(app.Event, error) bool) { <-ctx.Done() }
}

// TestStreamOfNothing: a stream that has nothing to say says where it is, every 15 seconds,
// and ends when its time is over or the process stops.
func TestStreamOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			stopAfter, took time.Duration
			beats           int
		}{{time.Hour, streamLife, 60}, {46 * time.Second, 46 * time.Second, 4}} {
			stop := make(chan struct{})
			timer := time.AfterFunc(c.stopAfter, func() { close(stop) })
			f := follower{after: 7, sees: access.Filter{All: true}, heartbeat: heartbeat, life: streamLife, events: silent}
			w, begun := httptest.NewRecorder(), time.Now()
			if err := f.send(w, httptest.NewRequestWithContext(WithStop(t.Context(), stop), http.MethodGet, "/v1/events", http.NoBody)); err != nil {
				t.Error(err)
			}
			timer.Stop()
			beats := strings.Count(w.Body.String(), "id: 7\n\n")
			if took := time.Since(begun); took != c.took || beats < c.beats-1 || beats > c.beats+1 || !w.Flushed {
				t.Errorf("%v with %d heartbeats, want %v with %d", took, beats, c.took, c.beats)
			}
		}
	})
}

// TestStreamOfALateTable: an event whose owner the tables do not know yet is shown when they
// do, and the stream ends, to be resumed before the event, when they stay late.
func TestStreamOfALateTable(t *testing.T) {
	t.Parallel()
	missing := &app.Error{Kind: app.NotFound, Err: errors.New("no such batch")}
	for _, late := range []error{nil, errors.New("the tables do not answer")} {
		known := false
		f := follower{after: 7, sees: access.Filter{Collections: []string{"rocks"}}, heartbeat: heartbeat, life: streamLife,
			owner: func(context.Context, domain.Aggregate) (query.Owner, error) {
				if !known {
					return query.Owner{}, missing
				}
				return query.Owner{Collection: "rocks"}, nil
			},
			caughtUp: func(context.Context) error { known = late == nil; return late },
			events: func(context.Context) iter.Seq2[app.Event, error] {
				return func(yield func(app.Event, error) bool) {
					yield(app.Event{Seq: 8, Batch: "bid0000000001", Type: domain.EventBatchStarted}, nil)
				}
			}}
		w := httptest.NewRecorder()
		err := f.send(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", http.NoBody))
		if sent := strings.Contains(w.Body.String(), "id: 8\n"); !errors.Is(err, late) || sent != (late == nil) {
			t.Errorf("%v: %v %q", late, err, w.Body)
		}
	}
}

// TestStreamWithinRights: a stream has the events of what its caller may see, and says that
// it is at its end when there are no more.
func TestStreamWithinRights(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 32)
	owners := map[string]query.Owner{"bid0000000001": {Collection: "rocks", Submitter: "bob"}, "bid0000000002": {Collection: "maps", Submitter: "bob"}, "bid0000000003": {Collection: "maps", Submitter: "ana"},
		hash: {Collection: "rocks"}}
	for name, c := range map[string]struct {
		sees       access.Filter
		collection string
		want       []uint64
	}{
		"all":             {access.Filter{All: true}, "", []uint64{1, 2, 3, 4, 5}},
		"a collection":    {access.Filter{All: true}, "maps", []uint64{2, 3}},
		"in one":          {access.Filter{Collections: []string{"rocks"}}, "", []uint64{1, 5}},
		"in one, of maps": {access.Filter{Collections: []string{"rocks"}}, "maps", nil},
		"the own":         {access.Filter{Submitter: "ana"}, "", []uint64{3}},
		"in one, and own": {access.Filter{Collections: []string{"rocks"}, Submitter: "ana"}, "", []uint64{1, 3, 5}},
		"no right at all": {access.Filter{}, "", nil},
	} {
		f := follower{sees: c.sees, collection: c.collection, heartbeat: heartbeat, life: streamLife,
			owner: func(_ context.Context, of domain.Aggregate) (query.Owner, error) { return owners[of.ID], nil },
			events: func(context.Context) iter.Seq2[app.Event, error] {
				return func(yield func(app.Event, error) bool) {
					for n := range uint64(3) {
						yield(app.Event{Seq: n + 1, Batch: domain.BatchID(fmt.Sprintf("bid%010d", n+1)), Type: domain.EventBatchStarted}, nil)
					}
					yield(app.Event{Seq: 4, Type: domain.EventSettingChanged, Subject: "setting/pause.ingest"}, nil)
					yield(app.Event{Seq: 5, Type: domain.EventFileDiscovered, Subject: "file/" + hash}, nil) // of a directory
				}
			}}
		w := httptest.NewRecorder()
		if err := f.send(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", http.NoBody)); err != nil {
			t.Error(err)
		}
		var got []uint64
		for n := range uint64(5) {
			if strings.Contains(w.Body.String(), fmt.Sprintf("id: %d\nevent: ", n+1)) {
				got = append(got, n+1)
			}
		}
		if !slices.Equal(got, c.want) || !strings.HasSuffix(w.Body.String(), ": end\n\n") {
			t.Errorf("%s: %v, want %v: %q", name, got, c.want, w.Body)
		}
	}
}

// TestStreamsAreCounted: one user cannot take the streams of all, and one that ends makes room.
func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s streams
		request, end := context.WithCancel(t.Context())
		defer end()
		first, endFirst := context.WithCancel(request)
		for n := range maxStreams {
			ctx := request
			if n == 0 {
				ctx = first
			}
			if err := s.enter(ctx, fmt.Sprint(n/maxStreamsOfOne)); err != nil {
				t.Fatal(n, err)
			}
			if n == maxStreamsOfOne-1 && s.enter(request, "0") == nil {
				t.Error("one user has more than its part")
			}
		}
		if err := s.enter(request, "another"); err == nil {
			t.Error("there are more than may be")
		}
		endFirst()
		synctest.Wait()
		if err := s.enter(request, "another"); err != nil {
			t.Error(err)
		}
	})
}
