package domain

import (
	"time"

	"github.com/accession-ingest/accession/domain/instant"
)

// Time is an instant in UTC with millisecond resolution.
type Time = instant.Time

// At rounds t down to the resolution of [Time].
func At(t time.Time) Time { return instant.At(t) }
