package wire

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// Log implements app.EventLog.
func (w *World) Log(ctx context.Context) (eventstore.Log, error) {
	h, err := w.history.get(ctx, w.openHistory)
	if err != nil {
		return nil, err
	}
	return meteredLog{h.Log, w.metrics}, nil
}

// Republisher implements app.EventLog.
func (w *World) Republisher(ctx context.Context) (app.Republisher, error) {
	h, err := w.history.get(ctx, w.openHistory)
	if err != nil {
		return nil, err
	}
	return h.Log, nil
}

func (w *World) openHistory(ctx context.Context) (*history, error) {
	conn, err := nats.Connect(strings.Join(w.cfg.NATS, ","), nats.Name("accession "+w.cfg.Instance),
		nats.Timeout(openTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				w.log.Warn("nats does not answer; the connection is tried again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { w.log.Info("nats answers again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { w.log.Warn("nats", "error", err) }))
	if err != nil {
		return nil, w.unavailable(app.ServerNATS, err)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	log, err := jslog.Open(ctx, conn, jslog.Config{Stream: w.cfg.NATSStream, Prefix: w.cfg.NATSPrefix, Instance: w.cfg.Instance})
	if err == nil {
		return &history{log, conn}, nil
	}
	conn.Close()
	if errors.Is(err, eventstore.ErrBroken) {
		return nil, failed("open the log", err, "the settings nats_stream and nats_prefix name the stream and its subjects")
	}
	return nil, w.unavailable(app.ServerNATS, err)
}

// closeNATS waits until the connection's goroutines are gone.
func closeNATS(conn *nats.Conn) {
	closed := make(chan struct{})
	conn.SetClosedHandler(func(*nats.Conn) { close(closed) })
	if conn.IsClosed() {
		return
	}
	conn.Close()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
	}
}

// written tells which command wrote an event that the log holds, "" = the log does
// not have it. It settles writes to ZooKeeper whose answer was lost.
func (w *World) written(ctx context.Context, a domain.Aggregate, version int64) (string, error) {
	log, err := w.Log(ctx)
	if err != nil {
		return "", err
	}
	last, err := log.Last(ctx, a)
	switch {
	case err != nil:
		return "", err
	case last.Version < version:
		return "", nil
	case last.Version == version:
		return last.CommandID, nil
	}
	for r, err := range log.Read(ctx, eventstore.ReadOptions{To: last.Seq, Aggregate: &a}) {
		if err != nil {
			return "", err
		}
		if r.Version == version {
			return r.CommandID, nil
		}
	}
	return "", nil
}
