package access

import "time"

// Limit is a bound on how much a user may ask for, and where the user stands.
type Limit struct {
	Name  string // such as waiting-deposits
	Quota int    // how much there may be
	// Window is the time within which the quota is counted, 0 = at one moment.
	Window time.Duration
	Left   int           // how much more there may be now
	Reset  time.Duration // after which more may be asked for, 0 = not known
}

// Exceeded is the error of a request that is beyond a limit.
type Exceeded struct {
	Limit
	Err error
}

// Error implements error.
func (e *Exceeded) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Exceeded) Unwrap() error { return e.Err }
