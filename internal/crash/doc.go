// Package crash marks the places where tests may kill or stop the process.
//
// An effect outside the process (a write to a server, a rename, a sync) runs inside
// Around, which adds a crash point on each side of it:
//
//	err := crash.Around("jslog/stream/create", func() error {
//		stream, err = js.CreateStream(ctx, want)
//		return err
//	})
//
// has the points jslog/stream/create/before and jslog/stream/create/after. A name is
// <package>/<noun>/<operation>, used once, and constant, so that internal checks can
// list the points from the syntax. A package with many effects of one kind has one
// wrapper, a function or method that hands its own string parameter on:
//
//	func (s *Store) effect(op string, do func() error) error {
//		return crash.Around("zklive/"+op, do)
//	}
//
// whose callers then pass the constant: s.effect("lock/release", func() error {...}).
// A function literal given to Around or to a wrapper holds exactly one effect. Point
// marks a single place between effects, such as the middle of a batch.
//
// In a release build Around only calls the effect and Point does nothing. In a build
// with the tag crashpoints the environment variable ACCESSION_CRASH names the points
// at which the process kills itself:
//
//	ACCESSION_CRASH=relay/publish/after            the first time it gets there
//	ACCESSION_CRASH=relay/publish/after:3          the third time
//	ACCESSION_CRASH=relay/publish/after,fetch.part:2   whichever comes first
//
// It dies by SIGKILL, so that nothing is flushed or closed, as in a power cut.
// ACCESSION_STOP names points in the same way at which the process stops by SIGSTOP
// until it gets SIGCONT; with relay/publish/after:3+ at each third time. ACCESSION_PASSED names
// a file to which each point that is passed is appended, so that a test can find all on a way.
//
// Four more variables change the surroundings: ACCESSION_CLOCK, such as -1h, is the
// error of the process's clock; ACCESSION_FULL names a file, and while that file exists
// the disk that it contains is full, work or store; ACCESSION_BUCKET=5 limits a bucket of
// the outbox to five nodes; ACCESSION_REMEMBERED=100 limits a cache or buffer to a hundred things. A
// variable that cannot be parsed ends the process at its start with status 2: a test must
// not pass because its crash never happened.
package crash

// Disk is what a test sets to be full.
type Disk string

// The disks that can be full.
const (
	WorkDisk  Disk = "work"  // of the working directory
	StoreDisk Disk = "store" // of the object store
)
