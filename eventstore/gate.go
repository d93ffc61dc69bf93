package eventstore

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Gate bounds what is claimed at once. It is used for one claim. Only Enter may use a
// server, briefly.
type Gate[S domain.Batch | domain.Job] interface {
	// Open reports whether work of a submitter may be claimed now. Work of others is
	// claimed meanwhile.
	Open(submitter string) bool
	// Enter admits work that is about to be claimed, instead of the work that it admitted
	// before. If it cannot, it returns the name of what is full: the work waits, without
	// a claim, until that is free.
	Enter(ctx context.Context, of S) (full string)
	// Leave ends the admission of work that was not claimed.
	Leave()
	// Free reports whether what was full admits work again.
	Free(full string) bool
	// Changed returns a channel that is closed when Open or Free may have changed.
	Changed() <-chan struct{}
}

// Idler is a [Gate] whose Idle is called while nothing can be claimed. It must not block.
type Idler interface{ Idle() }
