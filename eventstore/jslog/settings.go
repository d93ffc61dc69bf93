package jslog

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore"
)

// WrongStream is the error for a stream whose settings are unfit for the log; it is
// eventstore.ErrBroken.
type WrongStream struct {
	Stream string
	// Differences has a sentence for each setting: its name, its value, the required
	// value.
	Differences []string
}

// Error implements error.
func (e *WrongStream) Error() string {
	return fmt.Sprintf("stream %s cannot be the log: %s. Name another stream, or repair this one by hand after making sure that it holds what it should",
		e.Stream, strings.Join(e.Differences, "; "))
}

// Unwrap makes it eventstore.ErrBroken.
func (e *WrongStream) Unwrap() error { return eventstore.ErrBroken }

// compare names every setting of a stream that differs from what the log needs.
// Replicas, placement and consumer limits are the operator's.
func compare(want jetstream.StreamConfig, info *jetstream.StreamInfo) error {
	got := info.Config
	var found []string
	for _, setting := range []struct {
		name      string
		got, want any
	}{
		{"subjects", got.Subjects, want.Subjects},
		{"storage", got.Storage, want.Storage},
		{"compression", got.Compression, want.Compression},
		{"persist mode", got.PersistMode, want.PersistMode},
		{"retention", got.Retention, want.Retention},
		{"max age", got.MaxAge, want.MaxAge},
		{"max messages", got.MaxMsgs, want.MaxMsgs},
		{"max bytes", got.MaxBytes, want.MaxBytes},
		{"max messages per subject", got.MaxMsgsPerSubject, want.MaxMsgsPerSubject},
		{"max message size", got.MaxMsgSize, want.MaxMsgSize},
		{"deny delete", got.DenyDelete, want.DenyDelete},
		{"deny purge", got.DenyPurge, want.DenyPurge},
		{"allow direct", got.AllowDirect, want.AllowDirect},
		{"allow atomic publish", got.AllowAtomicPublish, want.AllowAtomicPublish},
		{"no acknowledgements", got.NoAck, false},
		{"sealed", got.Sealed, false},
		{"allow rollup", got.AllowRollup, false},
		{"allow message TTL", got.AllowMsgTTL, false},
		{"allow message counters", got.AllowMsgCounter, false},
		{"allow message schedules", got.AllowMsgSchedules, false},
		{"a mirror", got.Mirror != nil, false},
		{"fed by other streams", len(got.Sources) > 0, false},
		{"transforming subjects", got.SubjectTransform != nil, false},
	} {
		if g, w := fmt.Sprint(setting.got), fmt.Sprint(setting.want); g != w {
			found = append(found, fmt.Sprintf("%s is %s, not %s", setting.name, g, w))
		}
	}
	if s := info.State; s.FirstSeq > 1 || s.NumDeleted > 0 {
		found = append(found, fmt.Sprintf("history is missing: the first event has number %d and %d are deleted", s.FirstSeq, s.NumDeleted))
	}
	if len(found) == 0 {
		return nil
	}
	return &WrongStream{Stream: want.Name, Differences: found}
}
