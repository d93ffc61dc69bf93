package jslog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/crash"
)

// Republish sends events once more, below a subject prefix of their own: one of
// job/jid0000000042 goes to PREFIX.job.jid0000000042, in its newest version, with the
// sequence and time that it has in the log. If a stream has these subjects it confirms
// each message, and stream is its name; else only present subscribers get them.
//
// ErrConflict: the subjects overlap with those of a log, or messages are there
// already. Nothing was sent then.
func (l *Log) Republish(ctx context.Context, prefix string, events iter.Seq2[domain.Recorded, error]) (n int, stream string, err error) {
	if stream, err = l.fresh(ctx, prefix); err != nil {
		return 0, "", err
	}
	if stream != "" {
		n, err = l.republishTo(ctx, prefix, events)
	} else {
		n, err = l.broadcast(ctx, prefix, events)
	}
	if err != nil {
		return n, stream, fmt.Errorf("send to %s, after %d events: %w", prefix, n, err)
	}
	return n, stream, nil
}

// fresh refuses subjects that hold messages. stream is the one that
// takes them, "" = none.
func (l *Log) fresh(ctx context.Context, prefix string) (stream string, err error) {
	refuse := func(format string, args ...any) error {
		return &eventstore.Error{Op: "send events to " + prefix, Err: fmt.Errorf(format+": %w", append(args, eventstore.ErrConflict)...),
			Hint: "give a subject of its own, such as replay.2026-03-01"}
	}
	switch {
	case !prefixName.MatchString(prefix) || strings.HasPrefix(prefix, "$"):
		return "", refuse("%q is no subject: want words of letters, digits, dash and underscore, joined by dots", prefix)
	case below(prefix, l.cfg.Prefix) || below(l.cfg.Prefix, prefix):
		return "", refuse("these are the subjects of the log itself (%s)", l.cfg.Prefix)
	}
	stream, err = l.js.StreamNameBySubject(ctx, prefix+".>")
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("send events to %s: %w", prefix, err)
	}
	s, err := l.js.Stream(ctx, stream)
	if err != nil {
		return "", fmt.Errorf("send events to %s: stream %s: %w", prefix, stream, err)
	}
	if stream == l.cfg.Stream {
		return "", refuse("stream %s is the log itself", stream)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(prefix+".>"))
	if err != nil {
		return "", fmt.Errorf("send events to %s: stream %s: %w", prefix, stream, err)
	}
	if len(info.State.Subjects) > 0 {
		return "", refuse("stream %s has messages on %d of these subjects", stream, len(info.State.Subjects))
	}
	return stream, nil
}

// below reports whether a subject is below a prefix, or equals it.
func below(subject, prefix string) bool { return strings.HasPrefix(subject+".", prefix+".") }

// republishTo sends to a stream, many messages at a time, and waits for all of its
// answers.
func (l *Log) republishTo(ctx context.Context, prefix string, events iter.Seq2[domain.Recorded, error]) (n int, err error) {
	refused := make(chan error, 1)
	js, err := jetstream.New(l.nc, jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) {
		select {
		case refused <- err:
		default: // the first says enough
		}
	}))
	if err != nil {
		return 0, err
	}
	n, err = l.sendAll(prefix, events, func(msg *nats.Msg) error {
		return crash.Around("jslog/republish/send", func() error { _, err := js.PublishMsgAsync(msg); return err })
	})
	if err != nil {
		return n, err
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return n, ctx.Err()
	}
	select {
	case err := <-refused:
		return n, err
	default:
		return n, nil
	}
}

// heardWithin is how long the server may take to confirm that it has all of a
// broadcast.
const heardWithin = 30 * time.Second

// broadcast sends to the present subscribers; no stream keeps the messages.
func (l *Log) broadcast(ctx context.Context, prefix string, events iter.Seq2[domain.Recorded, error]) (n int, err error) {
	n, err = l.sendAll(prefix, events, func(msg *nats.Msg) error {
		return crash.Around("jslog/republish/broadcast", func() error { return l.nc.PublishMsg(msg) })
	})
	if err != nil {
		return n, err
	}
	ctx, cancel := context.WithTimeout(ctx, heardWithin) // the client asks for a deadline
	defer cancel()
	return n, l.nc.FlushWithContext(ctx)
}

// sendAll sends the messages of events and returns how many it sent.
func (l *Log) sendAll(prefix string, events iter.Seq2[domain.Recorded, error], send func(*nats.Msg) error) (n int, err error) {
	for r, err := range events {
		if err != nil {
			return n, err
		}
		msg, err := l.message(prefix, r, nil)
		if err != nil {
			return n, err
		}
		msg.Header[HeaderSeq] = []string{strconv.FormatUint(r.Seq, 10)}
		msg.Header[codec.HeaderStored] = []string{r.Stored.UTC().Format(time.RFC3339Nano)}
		if err := send(msg); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
