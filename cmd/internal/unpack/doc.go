// Package unpack reads containers: zip, tar, and tar compressed by gzip, bzip2 or zstandard.
// What may be in them is decided by packages domain/container and domain/bag.
//
// [Inspect] reads a container to its end, checks all of it and writes nothing; [Extract] hands
// out the files that were found. So nothing of a bad container is ever written. Neither
// follows a name into a file system: the caller decides where a file goes.
//
// Neither takes more memory for a hostile container than for a good one: directories of zips
// are bounded before they are read, windows of compressed streams too, and whatever is
// unpacked ends at the limits, whatever the container states.
package unpack
