package codec

import (
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// Raw is an event for readers that do not share our Go types: its data stays JSON.
type Raw struct {
	domain.Recorded // without Data
	// DataVersion is the version of the type that JSON is written in.
	DataVersion int
	JSON        []byte
}

// DecodeRaw reads a message as [Decode] does, but keeps fields of the data that
// this program does not know. An event type that it does not know is given as it
// was written; a newer version of one that it knows is an error, for its fields
// may mean something else.
func DecodeRaw(m Message) (Raw, error) {
	r, version, err := decodeEnvelope(m)
	raw := Raw{Recorded: r, DataVersion: version, JSON: m.Data}
	if _, known := domain.Lookup(r.Type); known && err == nil {
		if _, err = define(r.Event); err == nil {
			raw.JSON, err = registered.upcast(r.Type, version, m.Data)
			raw.DataVersion = newestVersion(r.Type)
		}
	}
	if err == nil && !json.Valid(raw.JSON) {
		err = fmt.Errorf("data of %s is no JSON", r.Type)
	}
	if err != nil {
		return Raw{}, unreadable(m, r, err)
	}
	return raw, nil
}
