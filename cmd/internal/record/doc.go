// Package record keeps in PostgreSQL what does not follow from the event log:
// identifiers and versions reserved for jobs, the inventory of stored objects,
// effects on the world outside, deliveries of mails and callbacks, and the whole of
// payload URLs, which nothing else shows. Schema record; a rebuild of the projection
// never touches it.
//
// # Intent, effect, result
//
// A step that changes the world outside notes first what it is about to do, under
// a key that is the same when the step starts over, then does it carrying that
// key, then keeps the result. Everything here may therefore be called again with
// the same arguments and gives the same answer: the same identifier, the same
// version, the first result.
//
// # Errors
//
// All errors are [*Error], with a code, and know whether trying again may help.
package record
