package files

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
)

// Slots is the only way to change slots. It works as the [Handler] of files does, whose log
// and cache it uses.
type Slots struct{ of *Handler }

// Slots returns the handler of slots.
func (h *Handler) Slots() Slots { return Slots{h} }

// SlotRequest is a command about one slot.
type SlotRequest struct {
	ID      slot.ID
	Command slot.Command
}

// SlotResult is the outcome of one [SlotRequest].
type SlotResult struct {
	Slot   slot.Slot // after the command; as it is, if the rules refused it
	Rows   []string  // table rows, one for each event; nil when an earlier try had written them
	Events []domain.Recorded
	Err    error // *domain.Refused, or why this slot could not be written while others could
}

// Slot decides and appends one command. If the rules refuse it the error is a
// *domain.Refused.
func (h Slots) Slot(ctx context.Context, id slot.ID, cmd slot.Command, o eventstore.Meta) (SlotResult, error) {
	results, err := h.All(ctx, []SlotRequest{{id, cmd}}, o)
	if err != nil {
		return SlotResult{}, err
	}
	return results[0], results[0].Err
}

// All decides and appends commands about different slots, as [Handler.All] does.
func (h Slots) All(ctx context.Context, requests []SlotRequest, o eventstore.Meta) ([]SlotResult, error) {
	all := make([]request[slot.Command], len(requests))
	for i, r := range requests {
		all[i] = request[slot.Command]{r.ID.Aggregate(), r.Command}
	}
	outcomes, err := h.writer().all(ctx, all, o)
	results := make([]SlotResult, len(requests))
	for i, o := range outcomes {
		results[i] = SlotResult{Slot: o.state, Rows: o.rows, Events: o.events, Err: o.err}
	}
	return results, err
}

// Now returns the log's time, by which slots open and end.
func (h Slots) Now(ctx context.Context) (domain.Time, error) { return h.of.Now(ctx) }

// States returns the states of those of the slots that exist, read from the log.
func (h Slots) States(ctx context.Context, ids []slot.ID) (map[slot.ID]slot.Slot, error) {
	all := make([]domain.Aggregate, len(ids))
	for i, id := range ids {
		all[i] = id.Aggregate()
	}
	found, err := h.writer().states(ctx, all, func(domain.Aggregate) (known[slot.Slot], bool) { return known[slot.Slot]{}, false })
	if err != nil {
		return nil, err
	}
	slots := make(map[slot.ID]slot.Slot, len(ids))
	for i, id := range ids {
		if found[i].seq > 0 {
			slots[id] = found[i].state
		}
	}
	return slots, nil
}

func (h Slots) writer() writer[slot.Slot, slot.Command] {
	return writer[slot.Slot, slot.Command]{ofSlots, h.of.Log, h.of.Clock, h.of.NewID, h.of.Epoch, &h.of.slots, &h.of.duplicates}
}

var ofSlots = kind[slot.Slot, slot.Command]{
	zero: func(a domain.Aggregate) slot.Slot { return slot.Slot{ID: slot.ID(a.ID)} },
	decide: func(s slot.Slot, cmd slot.Command) ([]string, []domain.Event, error) {
		dec, err := slot.Decide(s, cmd)
		return dec.Rows, dec.Events, err
	},
	evolve:  slot.Evolve,
	version: func(s slot.Slot) int64 { return s.Version },
	first:   func(slot.Command) bool { return false }, // an operator is told that the slot exists
	batch:   func(slot.Slot, slot.Command) domain.BatchID { return "" },
	done:    func(slot.Slot) bool { return false },
}
