// Package crash marks the places where the process may die or hang, so that tests
// can let it do so exactly there.
//
// crash.Point("relay.published") does nothing, and costs nothing, in a release
// build. In a build with the tag crashpoints the environment variable
// ACCESSION_CRASH names the points at which the process kills itself:
//
//	ACCESSION_CRASH=relay.published          at the first time it gets there
//	ACCESSION_CRASH=relay.published:3        at the third time
//	ACCESSION_CRASH=relay.published,mint:2   whichever comes first
//
// ACCESSION_STOP names points in the same way at which the process stops by SIGSTOP
// until it gets SIGCONT, as one does that hangs for a while and then goes on; with
// relay.published:3+ at each third time.
//
// Two more variables make the surroundings bad: ACCESSION_CLOCK, such as -1h, is how
// wrong the process's clock is, and ACCESSION_FULL names a file; as long as that is
// there the disk of the working directory is full. With ACCESSION_BUCKET=5 a bucket of
// the outbox takes five nodes, so that what comes after thousands comes soon.
//
// It dies by SIGKILL, so that nothing is flushed, closed or told to anybody, as in
// a power cut. A value that cannot be read ends the process at its start with
// status 2: a test must not pass because its crash never happened.
//
// Point names are constants: <package>.<what was just done>, or, in the steps of a
// job, daemon/<step>/<before or after>-<effect>. They stand before or after an
// effect outside the process (a write to a server, a rename), never inside a
// decision.
package crash
