package jslog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/crash"
)

// HeaderSeq is the header of an event in the stream by types that has its sequence in
// the log.
const HeaderSeq = "accession-seq"

// TypesConfig names the stream by types. All fields are required.
type TypesConfig struct {
	Stream string // its name
	Prefix string // of its subjects: PREFIX.types.KIND.NAME.TOKEN, where TOKEN is the last word of the log's subject
}

// copyWindow is how many messages are copied before their acknowledgements are awaited.
const copyWindow = 256

// CopyByType copies every event of the log, in order, to a stream whose subjects have the
// type of the event, until ctx ends. It goes on after the last message of that stream,
// which names its sequence in the log. Each message expects the one before it, so that
// of two copiers only one goes on: no event is there twice and none is missing. An error
// ends it; it can be called again.
func (l *Log) CopyByType(ctx context.Context, c TypesConfig) error {
	to, err := l.openTypes(ctx, c)
	if err != nil {
		return err
	}
	from, err := l.copied(ctx, to)
	if err != nil {
		return fmt.Errorf("stream %s: %w", c.Stream, err)
	}
	events, err := l.js.OrderedConsumer(ctx, l.cfg.Stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from.log + 1, InactiveThreshold: idleTime})
	if err != nil {
		return fmt.Errorf("read log %s from %d on: %w", l.cfg.Stream, from.log+1, err)
	}
	for ctx.Err() == nil {
		batch, err := events.Fetch(copyWindow, jetstream.FetchMaxWait(pullTime))
		if err == nil {
			from, err = l.copyBatch(ctx, batch, from, c)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("copy the log to stream %s: %w", c.Stream, err)
		}
	}
	return nil
}

// TypesLag is how far the stream by types is behind the log.
type TypesLag struct {
	Events uint64        // that it lacks
	Age    time.Duration // since the log stored the first of them, 0 = it has all
}

// TypesLag returns how far the stream by types is behind the log, nil = there is no such
// stream: the copying was never started.
func (l *Log) TypesLag(ctx context.Context, c TypesConfig) (*TypesLag, error) {
	to, err := l.js.Stream(ctx, c.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil //nolint:nilnil // as documented
	}
	var from copyPosition
	if err == nil {
		from, err = l.copied(ctx, to)
	}
	var log eventstore.LogInfo
	if err == nil {
		log, err = l.Info(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("compare the stream by types, %s, with the log: %w", c.Stream, err)
	}
	if log.Last <= from.log {
		return &TypesLag{}, nil
	}
	first, err := l.stream.GetMsg(ctx, from.log+1)
	if err != nil {
		return nil, fmt.Errorf("event %d of the log: %w", from.log+1, err)
	}
	return &TypesLag{Events: log.Last - from.log, Age: max(log.Now.Sub(first.Time), 0)}, nil
}

// openTypes makes the stream by types if there is none.
func (l *Log) openTypes(ctx context.Context, c TypesConfig) (jetstream.Stream, error) {
	if err := (Config{Stream: c.Stream, Prefix: c.Prefix, Instance: l.cfg.Instance}).check(); err != nil {
		return nil, fmt.Errorf("open the stream by types: %w", err)
	}
	want := settings(Config{Stream: c.Stream, Prefix: c.Prefix + ".types"})
	want.Description = "Accession: the events of " + l.cfg.Stream + " by type"
	want.AllowAtomicPublish = false
	s, err := l.js.Stream(ctx, c.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = crash.Around("jslog/types/create", func() (err error) { s, err = l.js.CreateStream(ctx, want); return err })
	}
	if err != nil {
		return nil, fmt.Errorf("open the stream by types: stream %s: %w", c.Stream, err)
	}
	if got := s.CachedInfo().Config.Subjects; len(got) != 1 || got[0] != want.Subjects[0] {
		return nil, &WrongStream{Stream: c.Stream, Differences: []string{fmt.Sprintf("subjects is %v, not %v", got, want.Subjects)}}
	}
	return s, nil
}

// copyPosition is how far the copying is: a sequence in the log, and the one of its copy.
type copyPosition struct{ log, types uint64 }

// copied returns the position of the last copy, and checks that it is one of this log.
func (l *Log) copied(ctx context.Context, to jetstream.Stream) (at copyPosition, err error) {
	info, err := to.Info(ctx)
	if err != nil || info.State.LastSeq == 0 {
		return at, err
	}
	at.types = info.State.LastSeq
	last, err := to.GetMsg(ctx, at.types)
	if err != nil {
		return at, fmt.Errorf("message %d: %w", at.types, err)
	}
	if at.log, err = strconv.ParseUint(last.Header.Get(HeaderSeq), 10, 64); err != nil {
		return at, fmt.Errorf("message %d has no %s: %w", at.types, HeaderSeq, eventstore.ErrBroken)
	}
	copied := codec.Identify(codec.Message{Header: last.Header, Data: last.Data})
	original, err := l.stream.GetMsg(ctx, at.log)
	if err == nil && codec.Identify(codec.Message{Header: original.Header, Data: original.Data}) != copied {
		err = errors.New("it has another event there")
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = errors.New("it ends before")
	}
	if err != nil {
		return at, fmt.Errorf("its last event, %s, is number %d of another log than %s (%w): delete this stream, which is made again, or restore the log",
			copied.ID, at.log, l.cfg.Stream, err)
	}
	return at, nil
}

// copyBatch copies the messages of a batch and returns the position after them.
func (l *Log) copyBatch(ctx context.Context, batch jetstream.MessageBatch, at copyPosition, c TypesConfig) (copyPosition, error) {
	var acks []jetstream.PubAckFuture
	next := at
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err == nil && meta.Sequence.Stream != next.log+1 {
			err = fmt.Errorf("after event %d comes %d: %w", next.log, meta.Sequence.Stream, eventstore.ErrBroken)
		}
		var ack jetstream.PubAckFuture
		if err == nil {
			err = crash.Around("jslog/types/copy", func() (err error) {
				ack, err = l.js.PublishMsgAsync(typesMessage(msg, meta.Sequence.Stream, c.Prefix), jetstream.WithExpectStream(c.Stream),
					jetstream.WithExpectLastSequence(next.types))
				return err
			})
		}
		if err != nil {
			return at, err
		}
		acks = append(acks, ack)
		next = copyPosition{meta.Sequence.Stream, next.types + 1}
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return at, err
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
	return next, batch.Error()
}

// typesMessage returns the copy of a message of the log.
func typesMessage(msg jetstream.Msg, seq uint64, prefix string) *nats.Msg {
	header := nats.Header{HeaderSeq: []string{strconv.FormatUint(seq, 10)}}
	for name, values := range msg.Headers() {
		if !strings.HasPrefix(name, "Nats-") { // what the log expected of itself
			header[name] = values
		}
	}
	subject := msg.Subject()
	return &nats.Msg{Subject: prefix + ".types." + typeWords(codec.Identify(codec.Message{Header: header, Data: msg.Data()}).Type) + "." + subject[strings.LastIndexByte(subject, '.')+1:],
		Header: header, Data: msg.Data()}
}

// typeWords returns KIND.NAME of a type such as accession.job.completed.v1.
func typeWords(eventType string) string {
	words := strings.Split(eventType, ".")
	if len(words) < 4 || strings.ContainsAny(eventType, " *>") {
		return "unknown.unknown"
	}
	return words[1] + "." + words[2]
}
