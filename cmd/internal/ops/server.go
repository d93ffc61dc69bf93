package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // registers its routes
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server answers operators. All fields but Level are required.
type Server struct {
	Metrics *Metrics
	Health  *Health
	About   About
	// Level is that of the log; nil = it cannot be changed.
	Level *slog.LevelVar
	Pprof bool
	Log   *slog.Logger
}

// About is the answer to /version.
type About struct {
	Version  string   `json:"version"`
	Go       string   `json:"go"`
	Instance string   `json:"instance"`
	Roles    []string `json:"roles"`
}

// The times that a request may take. A profile may take a minute.
const (
	headerTime = 5 * time.Second
	answerTime = 90 * time.Second
	closeTime  = 2 * time.Second
)

// maxLevel bounds the body of PUT /loglevel.
const maxLevel = 64

// Listen opens the address; it answers until the function that is returned is
// called.
func (s *Server) Listen(ctx context.Context, address string) (at string, closing func(), err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime,
		IdleTimeout: answerTime, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.Log.Error("the operators' listener ended", "error", err)
		}
	}()
	return l.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			_ = srv.Close() // a request is still open
		}
		<-ended
	}, nil
}

// Handler returns the routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /version", s.version)
	mux.HandleFunc("GET /loglevel", s.loglevel)
	mux.HandleFunc("PUT /loglevel", s.setLoglevel)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4}))
	if s.Pprof {
		mux.Handle("GET /debug/pprof/", http.DefaultServeMux) // net/http/pprof registers there
	}
	// A page in a browser must not change the level.
	return http.NewCrossOriginProtection().Handler(mux)
}

// readyz answers 503 as soon as anything is missing.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ready := s.Health.Ready()
	code := http.StatusOK
	if !ready.Ready {
		code = http.StatusServiceUnavailable
	}
	if r.URL.Query().Has("verbose") {
		answer(w, code, ready)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	if ready.Ready {
		fmt.Fprintln(w, "ok")
		return
	}
	fmt.Fprintln(w, "not ready:", ready.Why)
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	about := s.About
	about.Go = runtime.Version()
	answer(w, http.StatusOK, about)
}

func (s *Server) loglevel(w http.ResponseWriter, _ *http.Request) {
	if s.Level == nil {
		http.Error(w, "the level of this log is fixed", http.StatusNotFound)
		return
	}
	fmt.Fprintln(w, strings.ToLower(s.Level.Level().String()))
}

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func (s *Server) setLoglevel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLevel))
	word := strings.ToLower(strings.TrimSpace(string(body)))
	level, known := levels[word]
	if err != nil || !known || s.Level == nil {
		http.Error(w, "send one of debug, info, warn, error", http.StatusBadRequest)
		return
	}
	s.Log.Info("the level of the log changes", "from", s.Level.Level(), "to", level)
	s.Level.Set(level)
	fmt.Fprintln(w, word)
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client is gone
}
