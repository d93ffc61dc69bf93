package limits

import (
	"math/rand/v2"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// Pauses are the times between attempts: First, doubled each time.
type Pauses struct {
	First   time.Duration
	Longest time.Duration // at a depositor's server, also if it asks for a longer one
}

// MaxOurs bounds the pauses while our own side is the cause.
const MaxOurs = time.Minute

// Ours returns the pause before the attempt after n failures on our side, or at a service of
// ours, which may have asked for a time.
func (p Pauses) Ours(n int, asked time.Duration) time.Duration {
	d := domain.Limits{Delay: p.First, MaxDelay: max(MaxOurs, p.First)}.Wait(max(n, 1))
	return max(d, min(asked, max(p.Longest, p.First)))
}

// Least returns the shortest pause before the attempt after n failures at a depositor's
// server.
func (p Pauses) Least(n int) time.Duration {
	return domain.Limits{Delay: p.First, MaxDelay: max(p.Longest, p.First)}.Wait(max(n, 1))
}

// Theirs returns the pause before the attempt after n failures at a depositor's server,
// which asked for a time: up to a tenth more than the least, so that not all come back
// at once.
func (p Pauses) Theirs(n int, asked time.Duration) time.Duration {
	d := max(p.Least(n), min(asked, max(p.Longest, p.First)))
	return d + rand.N(d/10+1)
}
