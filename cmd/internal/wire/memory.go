package wire

import (
	"os"
	"runtime/debug"
)

// heapGrowth is how much a service's heap may grow between two collections, in
// percent of what is live, and enoughHeap where it stops to grow so freely. What is
// live is small and bounded, and each transition leaves garbage: collecting at twice
// the live heap took a fifth of the CPU, at five times still a tenth.
const (
	heapGrowth = 1000
	enoughHeap = 1 << 30
)

// TuneMemory sets how often garbage is collected, unless the variables GOGC and
// GOMEMLIMIT do.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(enoughHeap)
	}
}
