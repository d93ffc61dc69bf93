// Command indexer is an example of a program that follows Accession. It writes one line
// of JSON for each completed object, from its one event job.completed, and resumes after
// a kill: the last whole line has the position. It needs a NATS server only.
//
//	go run ./deploy/examples/indexer -nats nats://127.0.0.1:4222 index.jsonl
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/accession-ingest/accession/eventstore/follow"
)

// Entry is a line of the index.
type Entry struct {
	Event      string          `json:"event"` // id of the event, the same for ever
	Primary    string          `json:"primary"`
	Version    int             `json:"version"`
	Collection string          `json:"collection"`
	Submitter  string          `json:"submitter"`
	LocalID    []string        `json:"local_id"`
	Title      string          `json:"title"`
	Files      int             `json:"files"`
	Bytes      int64           `json:"bytes"`
	Key        string          `json:"key"` // of the storage manifest in the object store
	Position   follow.Position `json:"position"`
}

// completed is the part of job.completed that is indexed.
type completed struct {
	Collection string
	Deposit    struct {
		Submitter string
		ErcWhat   string   `json:"erc_what"`
		LocalID   []string `json:"local_id"`
	}
	Object struct {
		Primary     string
		Version     int
		ManifestKey string `json:"manifest_key"`
		Files       int
		Bytes       int64
	}
}

func main() {
	var o follow.Options
	flag.StringVar(&o.URL, "nats", "nats://127.0.0.1:4222", "the server")
	flag.StringVar(&o.Stream, "stream", "ACCESSION", "the stream of events")
	flag.StringVar(&o.Prefix, "prefix", "accession.v1", "what its subjects begin with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o, flag.Arg(0))
	stopped := ctx.Err() != nil
	stop()
	if err != nil && !stopped {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o follow.Options, file string) error {
	f, last, err := open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	o.Types, o.After = []string{"job.completed"}, last
	events, err := follow.Open(ctx, o)
	if err != nil {
		return err
	}
	defer events.Close()
	for e, err := range events.Events(ctx) {
		if err != nil {
			return err
		}
		var d completed
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return fmt.Errorf("%s: %w", e.ID, err)
		}
		line, err := json.Marshal(Entry{Event: e.ID, Primary: d.Object.Primary, Version: d.Object.Version, Collection: d.Collection,
			Submitter: d.Deposit.Submitter, LocalID: d.Deposit.LocalID, Title: d.Deposit.ErcWhat, Files: d.Object.Files, Bytes: d.Object.Bytes,
			Key: d.Object.ManifestKey, Position: e.Position})
		if err != nil {
			return err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// open opens the index, cuts off a line that a kill has left half written, and returns
// the position of the last whole one.
func open(file string) (f *os.File, at follow.Position, err error) {
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, at, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	if lines := bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'}); len(data) > 0 {
		var last Entry
		if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
			return nil, at, fmt.Errorf("%s: %w", file, err)
		}
		at = last.Position
	}
	if f, err = os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
		err = f.Truncate(int64(len(data)))
	}
	return f, at, err
}
