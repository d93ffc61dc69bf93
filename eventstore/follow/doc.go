// Package follow is for programs outside of Accession that react to its events:
// they read the log in order, and go on after a break where they stopped.
//
//	f, err := follow.Open(ctx, follow.Options{URL: url, After: stored})
//	for e, err := range f.Events(ctx) {
//		// work on e; store e.Position together with the result
//	}
//
// There is one way to resume: the program keeps the [Position] of the last event
// that it has dealt with, and gives it to [Open]. Who writes it in the same
// transaction as the results has worked on every event exactly once; who writes
// it afterwards may meet an event again after a crash, and knows it by its ID.
// Nothing is kept at the server.
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
