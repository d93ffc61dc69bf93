package domain

import "github.com/accession-ingest/accession/domain/entry"

// The event types of entries of the compute queue.
const (
	EventEntryRequested EventType = "entry.requested"
	EventEntryClaimed   EventType = "entry.claimed"
	EventEntryReturned  EventType = "entry.returned"
	EventEntryCompleted EventType = "entry.completed"
	EventEntryFailed    EventType = "entry.failed"
	EventEntryPurged    EventType = "entry.purged"
)

// entryRegistry is the part of entries of [Registry].
var entryRegistry = []EventDef{
	{EventEntryRequested, KindEntry, data[EntryMove], "Work was asked for, and waits in the compute queue."},
	{EventEntryClaimed, KindEntry, data[EntryMove], "A worker has taken the entry."},
	{EventEntryReturned, KindEntry, data[EntryMove], "The entry waits again: its worker gave it back or is gone, or an operator tries it again."},
	{EventEntryCompleted, KindEntry, data[EntryMove], "The work is done, and its result is stored."},
	{EventEntryFailed, KindEntry, data[EntryMove], "The work failed, or its attempts are used up."},
	{EventEntryPurged, KindEntry, data[EntryMove], "The entry had ended for its retention time, and has left the live state."},
}

// EntryMove is the data of every entry event. Each stands alone but for what was asked for,
// which only entry.requested has.
type EntryMove struct {
	From    entry.State    `json:"from"`
	To      entry.State    `json:"to"`
	Reason  *Reason        `json:"reason,omitempty"` // why it waits again or has failed
	Attempt int            `json:"attempt"`          // how often a worker has taken it, since it was requested or tried again
	Worker  string         `json:"worker,omitempty"` // that takes it, or had it until now
	Request *entry.Request `json:"request,omitempty"`
	Result  *entry.Result  `json:"result,omitempty"`
	entry.Work
}

func (*EntryMove) eventData() {}
