package wire

import (
	"os"
	"runtime/debug"
)

// heapGrowth is how much a service's heap may grow between two collections, in
// percent of what is live. What is live is small and bounded, and each transition
// leaves garbage: collecting at twice the live heap took a fifth of the CPU.
const heapGrowth = 400

// TuneMemory sets how often garbage is collected, unless the variable GOGC does.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
