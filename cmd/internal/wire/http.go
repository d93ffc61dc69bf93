package wire

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/httpapi"
)

// HTTP returns what answers people and programs; it listens already.
func (in *Installation) HTTP(ctx context.Context, version string) (*httpapi.Listener, error) {
	pool, err := in.Pool(ctx)
	if err != nil {
		return nil, err
	}
	_ = pool
	s := &httpapi.Server{Open: in.Resources(), Version: version, Log: in.log.With("role", "http")}
	l, err := s.Listen(ctx, in.cfg.ListenHTTP)
	if err != nil {
		return nil, failed("listen for people and programs", err, "the setting listen_http says where; each process on a machine needs its own port")
	}
	s.Log.Info("people and programs are answered", "address", l.Address())
	return l, nil
}
