package jslog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// What Open makes, Open takes, and an administrator may add replicas or a
// description; anything that could lose events is named.
func TestOpenChecksTheStream(t *testing.T) {
	t.Parallel()
	good := func(c jslog.Config) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: c.Stream, Subjects: []string{c.Prefix + ".>"}, Storage: jetstream.FileStorage,
			Compression: jetstream.S2Compression, DenyDelete: true, DenyPurge: true, AllowDirect: true, AllowAtomicPublish: true}
	}
	for name, tc := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   []string
	}{
		"good":       {func(*jetstream.StreamConfig) {}, nil},
		"described":  {func(c *jetstream.StreamConfig) { c.Description = "ours" }, nil},
		"memory":     {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, []string{"storage is Memory, not File"}},
		"no flags":   {func(c *jetstream.StreamConfig) { c.DenyDelete, c.DenyPurge = false, false }, []string{"deny delete is false", "deny purge is false"}},
		"not atomic": {func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, []string{"allow atomic publish is false"}},
		"async": {func(c *jetstream.StreamConfig) {
			c.AllowAtomicPublish, c.PersistMode = false, jetstream.AsyncPersistMode
		}, []string{"persist mode is Async, not Default", "allow atomic publish is false"}},
		"forgets":       {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, []string{"max age is 1h0m0s, not 0s"}},
		"limits":        {func(c *jetstream.StreamConfig) { c.MaxMsgs, c.MaxBytes, c.MaxMsgsPerSubject = 10, 1000, 1 }, []string{"max messages is 10", "max bytes is 1000", "max messages per subject is 1"}},
		"small":         {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 }, []string{"max message size is 100"}},
		"work queue":    {func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, []string{"retention is WorkQueue"}},
		"uncompressed":  {func(c *jetstream.StreamConfig) { c.Compression = jetstream.NoCompression }, []string{"compression is None"}},
		"no direct":     {func(c *jetstream.StreamConfig) { c.AllowDirect = false }, []string{"allow direct is false"}},
		"ttl":           {func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true }, []string{"allow message TTL is true"}},
		"more subjects": {func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, c.Name+".other") }, []string{"subjects is"}},
		"starts late":   {func(c *jetstream.StreamConfig) { c.FirstSeq = 5 }, []string{"history is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := connect(t, natsURL(t))
			cfg := fresh(t, nc)
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			stream := good(cfg)
			tc.change(&stream)
			ctx := within(t, 20*time.Second)
			if _, err := js.CreateStream(ctx, stream); err != nil {
				t.Fatal(err)
			}
			_, err = jslog.Open(ctx, nc, cfg)
			var wrong *jslog.WrongStream
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &wrong) || !errors.Is(err, eventstore.ErrBroken) || len(wrong.Differences) != len(tc.want) {
				t.Fatalf("got %v, want %d differences", err, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(wrong.Differences[i], want) || !strings.Contains(err.Error(), want) {
					t.Errorf("difference %q, want %q", wrong.Differences[i], want)
				}
			}
		})
	}
}

func TestOpenAgain(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	cfg := fresh(t, nc)
	mustAppend(t, openAt(t, nc, cfg), first(event(1, 1))...)
	if got := ids(t, openAt(t, nc, cfg), eventstore.ReadOptions{}); len(got) != 1 {
		t.Errorf("opened again, the log holds %v", got)
	}
}

func TestOpenNamesEveryFault(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	for _, cfg := range []jslog.Config{{}, {Stream: "a b", Prefix: "x.*", Instance: ""}, {Stream: "a.b", Prefix: ".x"}} {
		_, err := jslog.Open(within(t, 10*time.Second), nc, cfg)
		for _, want := range []string{"stream name", "subject prefix", "no name"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", cfg, err, want)
			}
		}
	}
}
