//go:build !crashpoints

package crash

import "time"

// Enabled reports whether this build has crash points.
const Enabled = false

// Point does nothing in this build.
func Point(string) {}

// Around returns effect() in this build.
func Around(_ string, effect func() error) error { return effect() }

// Now returns the time of this process's clock.
func Now() time.Time { return time.Now() }

// Bucket returns the usual number of nodes of a bucket of the outbox.
func Bucket(usual int64) int64 { return usual }

// Remembered returns the usual number of things that a cache or buffer keeps.
func Remembered(usual int) int { return usual }

// DiskFull returns nil in this build.
func DiskFull(Disk) error { return nil }
