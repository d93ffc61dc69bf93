package projections

import (
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// event keeps the event as it stands in the log.
func (f *fold) event(r domain.Recorded) error {
	data, err := json.Marshal(r.Data)
	if err != nil {
		return fmt.Errorf("encode its data: %w", err)
	}
	f.events = append(f.events, pgdb.AccessionEvent{
		Epoch: r.Epoch, Seq: int64(r.Seq), ID: r.ID(), Type: string(r.Type),
		Kind: string(r.Aggregate.Kind), AggregateID: r.Aggregate.ID, Version: r.Version,
		BatchID: string(r.BatchID), Actor: string(r.Actor), CommandID: r.CommandID,
		CausationID: r.CausationID, TraceParent: r.TraceParent, Zxid: r.Zxid,
		Time: r.Time.Time, Stored: r.Stored, Data: data,
	})
	return nil
}
