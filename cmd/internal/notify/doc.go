// Package notify announces that something is finished: by a callback to a program,
// and by mail to people.
//
// Both are sent at least once, and carry a key that stays the same when they are
// sent again: a callback in its Idempotency-Key header, for the receiver to
// compare; a mail as its file's name, so that a second writing finds the first.
// The key is made and recorded by the caller before the first try.
//
// One window remains for mail that a server takes: from its answer until the caller has
// recorded it, the mail is sent again. And one for mail in a drop directory: when the process dies after the file was put into
// the drop directory and before the caller recorded so, and the mail system has
// taken the file away meanwhile, the file is written again. Both copies have the
// same Message-ID, by which mail systems and readers drop the second.
package notify
