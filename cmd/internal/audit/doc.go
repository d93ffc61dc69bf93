// Package audit verifies what is stored: the inventory and the other records against
// the storage manifests and the files in the object stores, and both against the log.
//
// [History] takes from the log which version each job has stored. [Check] compares
// these with the records (reservation, identifier, local ids, rows of the inventory),
// with the storage manifest, and with the files, by existence and size or, with
// Config.Deep, by reading every byte at a bounded rate. It also finds what no job
// explains. Objects are compared in the order of their identifiers, so that a check that
// was interrupted can continue with one of them.
//
// What the records lack or have wrong can be repaired: it follows from the storage
// manifest, whose digest is in the log, and from the history of the job. What the store
// lacks or has wrong is reported and never changed.
package audit
