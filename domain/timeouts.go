package domain

import "github.com/accession-ingest/accession/domain/timeout"

// Timeouts say how long attempts at files may take, see [timeout.Timeouts].
type Timeouts = timeout.Timeouts

// MaxTimeout is the longest timeout.
const MaxTimeout = timeout.MaxTimeout
