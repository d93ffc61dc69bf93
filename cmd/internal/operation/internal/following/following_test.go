package following

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
		}{{time.Hour, Life, 60}, {46 * time.Second, 46 * time.Second, 4}} {
			stop := make(chan struct{})
			timer := time.AfterFunc(c.stopAfter, func() { close(stop) })
			f := Follower{After: 7, Sees: access.Filter{All: true}, Heartbeat: Heartbeat, Life: Life, Events: silent}
			w, begun := httptest.NewRecorder(), time.Now()
			if err := f.Send(w, httptest.NewRequestWithContext(WithStop(t.Context(), stop), http.MethodGet, "/v1/events", http.NoBody)); err != nil {
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
		f := Follower{After: 7, Sees: access.Filter{Collections: []string{"rocks"}}, Heartbeat: Heartbeat, Life: Life,
			Owner: func(context.Context, domain.Aggregate) (query.Owner, error) {
				if !known {
					return query.Owner{}, missing
				}
				return query.Owner{Collection: "rocks"}, nil
			},
			CaughtUp: func(context.Context) error { known = late == nil; return late },
			Events: func(context.Context) iter.Seq2[app.Event, error] {
				return func(yield func(app.Event, error) bool) {
					yield(app.Event{Seq: 8, Batch: "bid0000000001", Type: domain.EventBatchStarted}, nil)
				}
			}}
		w := httptest.NewRecorder()
		err := f.Send(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", http.NoBody))
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
		hash: {Collection: "rocks", Profile: "images"}, "qid0000000001": {Submitter: "ana"}}
	for name, c := range map[string]struct {
		sees   access.Filter
		filter Filter
		want   []uint64
	}{
		"all":             {access.Filter{All: true}, Filter{}, []uint64{1, 2, 3, 4, 5, 6}},
		"a collection":    {access.Filter{All: true}, Filter{Collection: "maps"}, []uint64{2, 3}},
		"in one":          {access.Filter{Collections: []string{"rocks"}}, Filter{}, []uint64{1, 5}},
		"in one, of maps": {access.Filter{Collections: []string{"rocks"}}, Filter{Collection: "maps"}, nil},
		"the own":         {access.Filter{Submitter: "ana"}, Filter{}, []uint64{3}},
		"in one, and own": {access.Filter{Collections: []string{"rocks"}, Submitter: "ana"}, Filter{}, []uint64{1, 3, 5}},
		"by profile":      {access.Filter{All: true}, Filter{Profile: "images"}, []uint64{5}},
		"by submitter":    {access.Filter{All: true}, Filter{Submitter: "ana"}, []uint64{3, 6}},
		"in maps, by ana": {access.Filter{Collections: []string{"maps"}}, Filter{Submitter: "ana"}, []uint64{3}},
		"by two":          {access.Filter{All: true}, Filter{Submitter: "bob", Collection: "maps"}, []uint64{2}},
		"by code":         {access.Filter{All: true}, Filter{Code: "sha256_differs"}, []uint64{2}},
		"code in rocks":   {access.Filter{Collections: []string{"rocks"}}, Filter{Code: "sha256_differs"}, nil},
		"no right at all": {access.Filter{}, Filter{}, nil},
	} {
		f := Follower{Sees: c.sees, Filter: c.filter, Heartbeat: Heartbeat, Life: Life,
			Owner: func(_ context.Context, of domain.Aggregate) (query.Owner, error) { return owners[of.ID], nil },
			Events: func(context.Context) iter.Seq2[app.Event, error] {
				return func(yield func(app.Event, error) bool) {
					for n := range uint64(3) {
						var data domain.EventData
						if n == 1 {
							data = &domain.BatchMoved{BatchMove: domain.BatchMove{Reason: &domain.Reason{Code: "sha256_differs"}}}
						}
						yield(app.Event{Seq: n + 1, Batch: domain.BatchID(fmt.Sprintf("bid%010d", n+1)), Type: domain.EventBatchStarted, Data: data}, nil)
					}
					yield(app.Event{Seq: 4, Type: domain.EventSettingChanged, Subject: "setting/pause.ingest"}, nil)
					yield(app.Event{Seq: 5, Type: domain.EventFileDiscovered, Subject: "file/" + hash}, nil) // of a directory
					yield(app.Event{Seq: 6, Type: domain.EventQueryReceived, Subject: "query/qid0000000001"}, nil)
				}
			}}
		w := httptest.NewRecorder()
		if err := f.Send(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", http.NoBody)); err != nil {
			t.Error(err)
		}
		var got []uint64
		for n := range uint64(6) {
			if strings.Contains(w.Body.String(), fmt.Sprintf("id: %d\nevent: ", n+1)) {
				got = append(got, n+1)
			}
		}
		if !slices.Equal(got, c.want) || !strings.HasSuffix(w.Body.String(), ": end\n\n") {
			t.Errorf("%s: %v, want %v: %q", name, got, c.want, w.Body)
		}
	}
}
