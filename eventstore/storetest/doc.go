// Package storetest holds one suite of tests that every implementation of the
// event store's ports passes: maps and real servers alike.
//
// An implementation's test names how to make a [Env] and calls [RunLive],
// [RunClaims], [RunOutbox] and [RunHandler]; a log's test calls [RunLog]
// and [RunFiles]. What the ports leave open is declared in [Traits] and not tested
// for.
//
// [Kit] drives batches and jobs through a store as the daemons would; tests of
// other packages use it to get the state that they need.
package storetest
