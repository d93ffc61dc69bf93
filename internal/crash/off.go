//go:build !crashpoints

package crash

import "time"

// Enabled tells whether this build has crash points.
const Enabled = false

// Point does nothing in this build.
func Point(string) {}

// Around returns effect() in this build.
func Around(_ string, effect func() error) error { return effect() }

// Now is the time by this process's clock.
func Now() time.Time { return time.Now() }

// Bucket is how many nodes a bucket of the outbox takes.
func Bucket(usual int64) int64 { return usual }

// DiskFull gives no error in this build.
func DiskFull() error { return nil }
