package follow

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/eventstore/codec"
)

// Event is one event of the log.
type Event struct {
	ID      string    // SUBJECT/VERSION; no two events share it, and it never changes
	Type    string    // such as job.completed
	Subject string    // whose event it is, such as job/jid0000000042
	Version int64     // number among its subject's events, from 1, without holes
	Time    time.Time // the writer's clock; informative
	Stored  time.Time // when the log took it
	Batch   string    // the batch that it belongs to, "" for a setting
	Actor   string    // who did it, such as daemon/job-provisioning or user/olga
	Command string    // the command that caused it
	Cause   string    // ID of the event that its writer reacted to, "" = none
	Trace   string    // W3C trace context, "" = none
	Source  string    // the installation: /accession/NAME
	Zxid    int64     // commit number: the order of batches, jobs and settings in one epoch; 0 for a file
	Epoch   int64     // counts how often the live state was restored, from 1

	// Data as the schema of the type says, in version DataVersion of the type. A reader
	// must ignore unknown fields: new ones may be added.
	Data        json.RawMessage
	DataVersion int

	// Position is what to store when this event has been dealt with.
	Position Position
}

// decode reads a message of the log. The position is there in any case.
func decode(prefix string, created time.Time, stream string, msg jetstream.Msg, meta *jetstream.MsgMetadata) (Event, error) {
	at := Position{Stream: stream, Created: created, Seq: meta.Sequence.Stream}
	r, err := codec.DecodeRaw(codec.Message{Subject: strings.TrimPrefix(msg.Subject(), prefix+"."), Header: msg.Headers(), Data: msg.Data()})
	if err != nil {
		there := identify(msg.Headers(), msg.Data())
		at.ID, at.Command = there.ID, there.Command
		return Event{Position: at}, &Error{Err: ErrUnreadable, Stream: stream, Position: at, Text: err.Error()}
	}
	at.ID, at.Command = r.ID(), r.CommandID
	stored := meta.Timestamp
	if first := msg.Headers().Get(codec.HeaderStored); first != "" {
		if stored, err = time.Parse(time.RFC3339Nano, first); err != nil {
			return Event{Position: at}, &Error{Err: ErrUnreadable, Stream: stream, Position: at, Text: codec.HeaderStored + ": " + err.Error()}
		}
	}
	return Event{ID: at.ID, Type: string(r.Type), Subject: r.Aggregate.String(), Version: r.Version,
		Time: r.Time.Time, Stored: stored.UTC(), Batch: string(r.BatchID), Actor: string(r.Actor),
		Command: r.CommandID, Cause: r.CausationID, Trace: r.TraceParent, Source: r.Source, Zxid: r.Zxid, Epoch: r.Epoch,
		Data: r.JSON, DataVersion: r.DataVersion, Position: at}, nil
}

// identify reads what a message says it is, also when the event cannot be read.
func identify(header nats.Header, data []byte) codec.Identity {
	return codec.Identify(codec.Message{Header: header, Data: data})
}
