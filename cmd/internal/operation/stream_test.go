package operation

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
)

// TestRangeOutsideIsAProblem: it is answered as every other request that fails, and says how
// large the file is; of what is inside, the file's own headers are sent.
func TestRangeOutsideIsAProblem(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("test", "1"))
	op := stream(Operation{Name: "letter.get", Method: http.MethodGet, Path: "/letter", On: OnSelf}, func(context.Context, *Call, *struct{}) (send, error) {
		return func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Content-Type", "text/x-letter")
			w.Header().Set("Content-Disposition", "attachment")
			n := &sending.Noted{W: w}
			http.ServeContent(n, r, "", time.Time{}, strings.NewReader("a letter"))
			return n.Failed()
		}, nil
	})
	op.Register(api, huma.Operation{OperationID: op.Name, Method: op.Method, Path: op.Path}, Server{
		Begin: func(context.Context, *Operation) *Call { return &Call{App: &app.App{}} },
		Ended: func(_ context.Context, _ *Operation, e Ending) error { return e.Err },
	})
	for _, c := range []struct {
		asked  string
		status int
		kind   string
		part   string
		body   string
	}{
		{"", 200, "text/x-letter", "", "a letter"},
		{"bytes=2-4", 206, "text/x-letter", "bytes 2-4/8", "let"},
		{"bytes=8-", 416, "application/problem+json", "bytes */8", "which has 8 bytes"},
		{"bytes=99-100", 416, "application/problem+json", "bytes */8", "which has 8 bytes"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/letter", http.NoBody)
		if c.asked != "" {
			r.Header.Set("Range", c.asked)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		h := w.Header()
		if w.Code != c.status || h.Get("Content-Type") != c.kind || h.Get("Content-Range") != c.part || !strings.Contains(w.Body.String(), c.body) ||
			(h.Get("Content-Disposition") == "") != (c.status == 416) {
			t.Errorf("%s: %d %v %s", c.asked, w.Code, h, w.Body)
		}
	}
}
