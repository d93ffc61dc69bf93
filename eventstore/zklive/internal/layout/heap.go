package layout

// How many bytes of ZooKeeper's heap things take, rounded up from a measurement
// (docs/operating.md#the-heap-of-zookeeper).
const (
	heapOfBatch    = 8 << 10
	heapOfQuery    = 4 << 10
	heapOfEntry    = 4 << 10 // of the compute queue, with its claim
	heapOfJob      = 8 << 10 // one that is in a queue
	heapOfFinished = 6 << 10 // one that has left its queue, with all of its nodes
	heapOfCompact  = 3 << 10 // one that has left its queue in a compact tree
	heapOfItem     = 4 << 10 // of the outbox
)

// Counts are numbers of batches, queries, entries of the compute queue, jobs in queues, jobs that
// have left their queue, of those in compact trees, and items of the outbox.
type Counts struct{ Batches, Queries, Entries, Queued, Finished, Compact, Items int }

// Heap estimates how many bytes of ZooKeeper's heap they take.
func (c Counts) Heap() int64 {
	return int64(c.Batches)*heapOfBatch + int64(c.Queries)*heapOfQuery + int64(c.Entries)*heapOfEntry + int64(c.Queued)*heapOfJob + int64(c.Finished)*heapOfFinished +
		int64(c.Compact)*heapOfCompact + int64(c.Items)*heapOfItem
}
