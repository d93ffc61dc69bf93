package domain

// The event types of slots.
const (
	EventSlotCreated EventType = "slot.created"
	EventSlotOpened  EventType = "slot.opened"
	EventSlotClosed  EventType = "slot.closed"
	EventSlotMissed  EventType = "slot.missed"
)

// slotRegistry is the part of slots of [Registry].
var slotRegistry = []EventDef{
	{EventSlotCreated, KindSlot, data[SlotMove], "A group of a dataset got its time window."},
	{EventSlotOpened, KindSlot, data[SlotMove], "The window of the slot has begun, or an operator opened it: its files may be processed."},
	{EventSlotClosed, KindSlot, data[SlotMove], "The slot has ended, and a file had arrived."},
	{EventSlotMissed, KindSlot, data[SlotMove], "The slot has ended without a file."},
}

// SlotMove is the data of every slot event: the state before and after it, why, what the
// slot is, and its window as it is after it.
type SlotMove struct {
	From    SlotState `json:"from"`
	To      SlotState `json:"to"`
	Reason  *Reason   `json:"reason,omitempty"`
	Dataset string    `json:"dataset"`
	Group   string    `json:"group"`
	Opens   Time      `json:"opens"`
	Closes  Time      `json:"closes"`          // later than Opens
	Files   int       `json:"files,omitempty"` // that had arrived when the slot ended
}

func (*SlotMove) eventData() {}
