package jslog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/internal/crash"
)

// Config names the stream. All three are required.
type Config struct {
	Stream   string // its name: letters, digits, dash, underscore
	Prefix   string // of its subjects, such as accession.v1: the same characters and dots
	Instance string // name of the installation, part of every event's source
}

var (
	streamName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	prefixName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

func (c Config) check() error {
	var faults []error
	if !streamName.MatchString(c.Stream) {
		faults = append(faults, fmt.Errorf("stream name %q: want letters, digits, dash and underscore", c.Stream))
	}
	if !prefixName.MatchString(c.Prefix) {
		faults = append(faults, fmt.Errorf("subject prefix %q: want words of letters, digits, dash and underscore, joined by dots", c.Prefix))
	}
	if c.Instance == "" {
		faults = append(faults, errors.New("the installation has no name"))
	}
	return errors.Join(faults...)
}

// Log is the log in a JetStream stream. It is safe for concurrent use.
type Log struct {
	cfg    Config
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
}

var _ eventstore.Log = (*Log)(nil)

// Open makes the stream if there is none, and refuses one whose settings could
// lose, change or reorder events: the error names each of them. The connection
// stays the caller's. It should reconnect for ever.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	if err := errors.Join(cfg.check(), codec.CheckUpcasters()); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	want := settings(cfg)
	stream, err := js.Stream(ctx, cfg.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = crash.Around("jslog/stream/create", func() (err error) { stream, err = js.CreateStream(ctx, want); return err })
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // by another process, meanwhile
			stream, err = js.Stream(ctx, cfg.Stream)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open log: stream %s: %w", cfg.Stream, err)
	}
	if err := formatOf(stream.CachedInfo()).Check("the log " + cfg.Stream); err != nil {
		return nil, err
	}
	if err := compare(want, stream.CachedInfo()); err != nil {
		return nil, err
	}
	return &Log{cfg: cfg, nc: nc, js: js, stream: stream}, nil
}

// settings are those of a stream that keeps every event for ever.
func settings(cfg Config) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        cfg.Stream,
		Description: "Accession: the history of batches, jobs, files and settings",
		Subjects:    []string{cfg.Prefix + ".>"},

		Retention:         jetstream.LimitsPolicy,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgsPerSubject: -1,
		MaxMsgSize:        -1,

		Storage:            jetstream.FileStorage,
		Compression:        jetstream.S2Compression,
		DenyDelete:         true,
		DenyPurge:          true,
		AllowDirect:        true,
		AllowAtomicPublish: true,

		Metadata: map[string]string{metadataReads: strconv.Itoa(eventstore.FormatNow), metadataWrites: strconv.Itoa(eventstore.FormatNow)},
	}
}

// The keys of a stream's metadata that have its format, an eventstore.Format.
const (
	metadataReads  = "accession-reads"
	metadataWrites = "accession-writes"
)

// formatOf returns the format of a stream; older programs did not write it down.
func formatOf(info *jetstream.StreamInfo) (f eventstore.Format) {
	f.Reads, _ = strconv.Atoi(info.Config.Metadata[metadataReads])
	f.Writes, _ = strconv.Atoi(info.Config.Metadata[metadataWrites])
	return f
}

// Info implements eventstore.Log.
func (l *Log) Info(ctx context.Context) (eventstore.LogInfo, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return eventstore.LogInfo{}, fmt.Errorf("log %s: %w", l.cfg.Stream, err)
	}
	return eventstore.LogInfo{First: max(info.State.FirstSeq, 1), Last: info.State.LastSeq, Created: info.Created,
		Name: info.Config.Name, Now: info.TimeStamp}, nil
}
