package fetch

import (
	"errors"
	"time"
)

// MayRetry reports whether another attempt may help against an error, and how long
// the server asks to wait before it (0 = it does not say). An error without a method
// Retry is final.
func MayRetry(err error) (again bool, after time.Duration) {
	var known interface{ Retry() (bool, time.Duration) }
	if errors.As(err, &known) {
		return known.Retry()
	}
	return false, 0
}
