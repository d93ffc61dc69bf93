// Package container says what may be in a container, and how its members are named in the
// object that is made of it. It is pure: package cmd/internal/unpack reads the formats.
//
// A container is a zip, a tar, or a tar compressed by gzip, bzip2 or zstandard. Its files
// are the files of the object, each under its path in the container. Folders are made by the
// files in them; the global headers of a tar and leading "./" do not count. A container in a
// container is a file.
//
// Refused as a whole, each with a code of its own and the name of the member:
//
//   - a name that leaves the object, or that the rules of manifests do not allow;
//   - links, devices, pipes and whatever else is neither a file nor a folder;
//   - two names of one file, also when they differ in case or Unicode form only, because a
//     person, or a file system to which the object is restored, would take them for one;
//   - a file where another member needs a folder;
//   - more files, bytes or folders in each other than the limits allow, and more bytes for
//     each byte of the container.
package container
