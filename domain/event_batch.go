package domain

// The event types of batches.
const (
	EventBatchSubmitted       EventType = "batch.submitted"
	EventBatchGrabbed         EventType = "batch.grabbed"
	EventBatchFreed           EventType = "batch.freed"
	EventBatchHeld            EventType = "batch.held"
	EventBatchListed          EventType = "batch.listed"
	EventBatchStarted         EventType = "batch.started"
	EventBatchReleased        EventType = "batch.released"
	EventBatchReporting       EventType = "batch.reporting"
	EventBatchCompleted       EventType = "batch.completed"
	EventBatchFailed          EventType = "batch.failed"
	EventBatchUpdateRequested EventType = "batch.update_requested"
	EventBatchDeleted         EventType = "batch.deleted"
	EventBatchCleaned         EventType = "batch.cleaned"
	EventBatchReported        EventType = "batch.reported"
)

// batchRegistry is the part of [Registry] about batches, and depositRegistry that about
// their deposit queue.
var (
	batchRegistry = []EventDef{
		{EventBatchSubmitted, KindBatch, data[BatchSubmitted], "A deposit was accepted."},
		{EventBatchHeld, KindBatch, data[BatchMoved], "The batch is held because its collection is on hold."},
		{EventBatchListed, KindBatch, data[BatchListed], "The manifest was read, and the number of jobs is known."},
		{EventBatchStarted, KindBatch, data[BatchMoved], "All jobs exist, or the manifest is invalid."},
		{EventBatchReleased, KindBatch, data[BatchMoved], "An operator released the batch."},
		{EventBatchReporting, KindBatch, data[BatchMoved], "No job of the batch is being processed any more."},
		{EventBatchCompleted, KindBatch, data[BatchReport], "The report was made; everything succeeded."},
		{EventBatchFailed, KindBatch, data[BatchReport], "The report was made; something failed."},
		{EventBatchUpdateRequested, KindBatch, data[BatchMoved], "An operator requested an update report."},
		{EventBatchDeleted, KindBatch, data[BatchMoved], "An operator deleted the batch."},
		{EventBatchCleaned, KindBatch, data[BatchMoved], "The completed or failed batch was cleaned up after its retention time."},
		{EventBatchReported, KindBatch, data[BatchReported], "A message about the batch was delivered, or could not be delivered."},
	}
	depositRegistry = []EventDef{
		{EventBatchGrabbed, KindBatch, data[BatchGrabbed], "The batch has left its deposit queue for the first claim, and runs from now on."},
		{EventBatchFreed, KindBatch, data[BatchFreed], "The batch has given up its place among the running ones of its user, and goes on outside the deposit queue."},
	}
)

// BatchMove is part of every batch event: the state before and after it, and
// why. From equals To when the state did not change.
type BatchMove struct {
	From       BatchState `json:"from"`
	To         BatchState `json:"to"`
	Reason     *Reason    `json:"reason,omitempty"`
	Collection string     `json:"collection,omitempty"` // of the profile when the event was written
	Profile    string     `json:"profile,omitempty"`
	// Ticket is that of the batch in a deposit queue from this event on; left out where it stays.
	Ticket *Ticket `json:"ticket,omitempty"`
	// Ring is where the ring of the queue stands when a batch has left it.
	Ring *RingPosition `json:"ring,omitempty"`
}

// BatchMoved is the data of batch events that carry nothing else.
type BatchMoved struct{ BatchMove }

// BatchSubmitted is the data of batch.submitted.
type BatchSubmitted struct {
	BatchMove
	Submission Submission `json:"submission"`
}

// BatchGrabbed is the data of batch.grabbed.
type BatchGrabbed struct {
	BatchMove
	Rule      string `json:"rule"`      // required, preferred or round_robin
	Processor string `json:"processor"` // that grabbed it
	Size      int64  `json:"size"`      // bytes of the deposit, 0 = unknown
}

// BatchFreed is the data of batch.freed.
type BatchFreed struct {
	BatchMove
	Queue string `json:"queue"` // in which it ran
	User  string `json:"user"`  // whose place it was
}

// BatchListed is the data of batch.listed.
type BatchListed struct {
	BatchMove
	Listing Listing `json:"listing"`
	// Warnings say what of the manifest was not taken as it is written, and whether the
	// same was deposited before; missing in older events.
	Warnings []string `json:"warnings,omitempty"`
	// What became of the metadata records, missing for any other deposit.
	MetadataRecords *MetadataRecords `json:"records,omitempty"`
}

// BatchReport is the data of batch.completed and batch.failed.
type BatchReport struct {
	BatchMove
	Report Report `json:"report"`
}

// BatchReported is the data of batch.reported: the delivery of one message, without its receiver.
type BatchReported struct {
	BatchMove
	Channel   string `json:"channel"` // mail
	About     string `json:"about"`   // queued or report
	Delivery  string `json:"delivery"`
	Delivered bool   `json:"delivered"`
}

// MoveOfBatch returns the part that every batch event has.
func MoveOfBatch(d EventData) (BatchMove, bool) { return moveOf[BatchMove](d) }

func (m *BatchMove) move() *BatchMove { return m }
func (*BatchMove) eventData()         {}
