package console

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestWhatABrowserHasKept: of what a browser has and asks for again, it is told that it has not
// changed.
func TestWhatABrowserHasKept(t *testing.T) {
	t.Parallel()
	const is = `"abc"`
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", is)
		if r.Header.Get("If-None-Match") == is {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "a letter")
	})
	mux := http.NewServeMux()
	for _, r := range (&Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}).Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	for has, want := range map[string]int{"": http.StatusOK, `"abd"`: http.StatusOK, is: http.StatusNotModified} {
		r := httptest.NewRequest(http.MethodGet, Path+"objects/ark:%2F1%2Fx/versions/2/files/a.txt", http.NoBody)
		if has != "" {
			r.Header.Set("If-None-Match", has)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if text := w.Body.String(); w.Code != want || w.Header().Get("ETag") != is || (text == "a letter") != (want == http.StatusOK) {
			t.Errorf("of one who has %s: %d %s %q", has, w.Code, w.Header(), text)
		}
	}
}
