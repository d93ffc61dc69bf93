// Package follow is for programs outside of Accession that react to its events: they
// read the log in order, and resume after an interruption where they stopped.
//
//	f, err := follow.Open(ctx, follow.Options{URL: url, After: stored})
//	for e, err := range f.Events(ctx) {
//		// work on e; store e.Position together with the result
//	}
//
// There is one way to resume: the program stores the [Position] of the last event that
// it has processed, and passes it to [Open]. A program that stores it in the same
// transaction as its results processes every event exactly once; one that stores it
// afterwards may get an event again after a crash, and recognises it by its ID. The
// server keeps no state for the program.
//
// What is promised:
//
//   - Every event that the filter lets through comes, once, in the order of the
//     log; those of one batch, job, file or setting by their numbers.
//   - While the server cannot be reached the loop waits, and goes on when it is back.
//   - A log that is not the one that was followed (replaced, its end lost, another
//     event at the position) is [ErrStream]; a number that is missing or comes
//     twice is [ErrOrder]. Nothing is passed over in silence.
//   - Data of older versions is brought up to the newest. Types that this build
//     does not know come as they are; a newer version of a known type is
//     [ErrUnreadable].
//
// What events hold and what may change about them: docs/events.md and
// docs/asyncapi.json. The package needs a NATS server and the right to read one
// stream; neither ZooKeeper nor PostgreSQL.
package follow
