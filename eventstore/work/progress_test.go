package work_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/eventstore/work"
)

// TestProgress: a heartbeat takes along what the work has said last, until one that did so has
// arrived.
func TestProgress(t *testing.T) {
	t.Parallel()
	beats := make(chan string)
	var lost atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch verb := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; verb {
		case "claims":
			_, _ = w.Write([]byte(`{"token":"eid0000000001.a","entry":"eid0000000001","lease":3}`))
		case "heartbeat":
			var said struct{ Progress string }
			_ = json.NewDecoder(r.Body).Decode(&said)
			select {
			case beats <- said.Progress:
			case <-r.Context().Done():
			}
			if said.Progress == "lost" && !lost.Swap(true) {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte(`{}`))
		default:
			_, _ = w.Write([]byte(`{"status":"SUCCESSFUL"}`))
		}
	}))
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &work.Worker{Server: server.URL, Key: "key", Name: "node7"}
	var got []string
	err := w.Run(ctx, func(ctx context.Context, e *work.Entry) (any, error) {
		defer stop()
		for _, says := range []string{"", "1 of\n3", "", "lost", "", strings.Repeat("ä", 300), ""} {
			if says != "" {
				e.Progress(says)
			}
			select {
			case said := <-beats:
				got = append(got, said)
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		return 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"", "1 of 3", "", "lost", "lost", strings.Repeat("ä", 199) + "…", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
