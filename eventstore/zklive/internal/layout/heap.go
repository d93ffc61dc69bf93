package layout

// How many bytes of ZooKeeper's heap things take, rounded up from a measurement
// (docs/operating.md#the-heap-of-zookeeper).
const (
	heapOfBatch    = 8 << 10
	heapOfJob      = 8 << 10 // one that is in a queue
	heapOfFinished = 6 << 10 // one that has left its queue
	heapOfEntry    = 4 << 10 // of the outbox
)

// Heap estimates how many bytes of ZooKeeper's heap so many batches, jobs in queues,
// jobs that have left their queue and entries of the outbox take.
func Heap(batches, queued, finished, entries int) int64 {
	return int64(batches)*heapOfBatch + int64(queued)*heapOfJob + int64(finished)*heapOfFinished + int64(entries)*heapOfEntry
}
