package wire

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/ops"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// eventLog is the log, counted, and its connection.
type eventLog struct {
	*jslog.Log
	conn    *nats.Conn
	metrics *ops.Metrics
}

// Append implements eventstore.Log.
func (l *eventLog) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	begun := time.Now()
	sequences, err := l.Log.Append(ctx, events)
	l.metrics.Appended(events, time.Since(begun), err)
	return sequences, err
}

// close waits until the connection's goroutines have ended.
func (l *eventLog) close() {
	closed := make(chan struct{})
	l.conn.SetClosedHandler(func(*nats.Conn) { close(closed) })
	if l.conn.IsClosed() {
		return
	}
	l.conn.Close()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
	}
}

// Log implements app.EventLog.
func (in *Installation) Log(ctx context.Context) (eventstore.Log, error) {
	return in.events.get(ctx, in.openLog)
}

// Republisher implements app.EventLog.
func (in *Installation) Republisher(ctx context.Context) (app.Republisher, error) {
	return in.events.get(ctx, in.openLog)
}

func (in *Installation) openLog(ctx context.Context) (*eventLog, error) {
	conn, err := nats.Connect(strings.Join(in.cfg.NATS, ","), nats.Name("accession "+in.cfg.Instance),
		nats.Timeout(in.cfg.OpenTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				in.log.Warn("nats does not answer; the connection is tried again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { in.log.Info("nats answers again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { in.log.Warn("nats", "error", err) }))
	if err != nil {
		return nil, in.unavailable(app.ServerNATS, err)
	}
	ctx, cancel := context.WithTimeout(ctx, in.cfg.OpenTimeout)
	defer cancel()
	log, err := jslog.Open(ctx, conn, jslog.Config{Stream: in.cfg.NATSStream, Prefix: in.cfg.NATSPrefix, Instance: in.cfg.Instance})
	if err == nil {
		return &eventLog{log, conn, in.metrics}, nil
	}
	conn.Close()
	if newer := newerFormat(app.ServerNATS, err); newer != nil {
		return nil, newer
	}
	if errors.Is(err, eventstore.ErrBroken) {
		return nil, failed("open the log", err, "the settings nats_stream and nats_prefix name the stream and its subjects")
	}
	return nil, in.unavailable(app.ServerNATS, err)
}

// stream describes the log as it is now.
func (in *Installation) stream(ctx context.Context) (projections.StreamInfo, error) {
	log, err := in.Log(ctx)
	if err != nil {
		return projections.StreamInfo{}, err
	}
	info, err := log.Info(ctx)
	return projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last}, err
}

// checkContinuity refuses a log that is not the one behind the tables, or that lost
// events: what is appended to it would take the sequences of events that `accession
// restore log` can put back. While the log or the tables do not answer, nothing is
// known, and nothing is refused.
func (in *Installation) checkContinuity(ctx context.Context) error {
	pool, err := in.Pool(ctx)
	if err != nil {
		return nil //nolint:nilerr // what needs the tables reports it
	}
	var other *projections.StreamError
	if err := projections.Continues(ctx, pool, in.stream); errors.As(err, &other) {
		return &app.Error{Kind: app.Lost, What: app.ServerNATS, Err: other, Hint: "nothing was taken or changed. Put the newest copy back if there is one; else stop every process and run `accession restore log`; docs/operating.md#restore has the steps"}
	}
	return nil
}

// writer returns the id of the command that wrote an event, "" when the log does not
// have the event. It settles writes to ZooKeeper whose reply was lost.
func (in *Installation) writer(ctx context.Context, a domain.Aggregate, version int64) (string, error) {
	log, err := in.Log(ctx)
	if err != nil {
		return "", err
	}
	last, err := log.Last(ctx, a)
	if err != nil || last.Version < version {
		return "", err
	}
	if last.Version == version {
		return last.CommandID, nil
	}
	for r, err := range log.Read(ctx, eventstore.ReadOptions{To: last.Seq, Aggregate: &a}) {
		if err != nil || r.Version == version {
			return r.CommandID, err
		}
	}
	return "", nil
}

// Source implements app.EventLog.
func (in *Installation) Source(ctx context.Context, follow bool) (projections.Source, error) {
	log, err := in.Log(ctx)
	if err != nil {
		return nil, err
	}
	return sourceOf(log, follow), nil
}

// sourceOf returns the log as the projections read it: an event that cannot be
// decoded is yielded with a [projections.Unreadable], and reading continues after it.
// With follow the source waits for new events at the end.
func sourceOf(log eventstore.Log, follow bool) projections.Source {
	return func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for next := from; next > 0; {
				next = readOn(ctx, log, eventstore.ReadOptions{From: next, Follow: follow}, yield)
			}
		}
	}
}

// readOn yields events up to and including one that cannot be decoded, and returns
// the sequence after that one, 0 when there is nothing more to read.
func readOn(ctx context.Context, log eventstore.Log, o eventstore.ReadOptions, yield func(domain.Recorded, error) bool) uint64 {
	for r, err := range log.Read(ctx, o) {
		var broken *codec.DecodeError
		if errors.As(err, &broken) && broken.Envelope.Seq > 0 && broken.Envelope.Aggregate.ID != "" {
			if !yield(broken.Envelope, &projections.Unreadable{Data: broken.Data, Err: err}) {
				return 0
			}
			return broken.Envelope.Seq + 1
		}
		if !yield(r, err) || err != nil {
			return 0
		}
	}
	return 0
}

// Lag implements app.Tables.
func (in *Installation) Lag(ctx context.Context, last uint64) (events int64, age time.Duration, err error) {
	var log eventstore.Log
	var db query.DB
	pool := func(ctx context.Context) (query.DB, error) { return in.Pool(ctx) }
	if err := openAll(ctx, into(&log, in.Log), into(&db, pool)); err != nil {
		return 0, 0, err
	}
	return lagOf(ctx, log, db, last)
}

// lagOf returns how many events up to last the tables lack, and how long ago the log
// took the first of them.
func lagOf(ctx context.Context, log eventstore.Log, db query.DB, last uint64) (events int64, age time.Duration, err error) {
	events, err = query.Lag(ctx, db, last)
	if err != nil || events == 0 {
		return 0, 0, err
	}
	first := last - uint64(events) + 1
	for r, err := range log.Read(ctx, eventstore.ReadOptions{From: first, To: first}) {
		var broken *codec.DecodeError
		switch {
		case errors.As(err, &broken): // its envelope has the time
			r = broken.Envelope
		case err != nil:
			return events, 0, err
		}
		return events, max(time.Since(r.Stored), 0), nil
	}
	return events, 0, nil
}
