// Package store keeps bytes: the objects that Accession makes, the payloads and
// manifests it was given, and the working directories in between.
//
// # Object store
//
// [Store] is a bucket of gocloud.dev/blob. Its keys:
//
//	uploads/AA/SHA256/NAME             a payload that was uploaded, not named by URL
//	manifests/BID/SHA256.checkm        the copy of a manifest that was listed
//	objects/AA/BB/ID/vN/producer/PATH  a file of version N, as the depositor sent it
//	objects/AA/BB/ID/vN/system/PATH    a file that Accession added
//	objects/AA/BB/ID/vN/manifest.json  the storage manifest: written last
//	tmp/…                              writes under way; never listed
//
// Promises: a write that returned without error survives a power cut. A reader
// sees a whole object or none. Objects, uploads and manifests are written once
// and never overwritten, so that a worker that lost its claim cannot damage what
// its successor stored. A version exists if and only if its storage manifest
// does, and every file in it had the listed size and SHA-256 when it was stored.
//
// # Working directories
//
// [Work] is the directory, shared by all workers of an installation, into which
// jobs download. Each claim writes into a directory of its own; the winner's
// files are renamed into place. Names given by depositors never leave it.
//
// # Errors
//
// Every error is an [*Error] with a stable [Code].
package store
