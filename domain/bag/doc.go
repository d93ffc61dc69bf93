// Package bag compares the files of a container that is a bag with the bag's own manifests,
// by RFC 8493. It is pure: the texts of the bag and the digests of its files come from the
// caller.
//
// A container is a bag if bagit.txt is at its top, or in the one folder that all its files
// are in. Its versions are 0.93 to 1.0, its texts are UTF-8. It is refused, with the name of
// the file, unless
//
//   - there is a payload manifest, and every digest in it and in the tag manifests is that of
//     a file that is there, by an algorithm that is known;
//   - every file below data/ is in the payload manifests: in each of them since version 1.0,
//     in one of them before;
//   - bag-info.txt, if it has a Payload-Oxum, has that of the files below data/;
//   - nothing is to be fetched from elsewhere: fetch.txt is missing or empty.
//
// Tag files that no tag manifest lists are allowed, as the RFC has it.
package bag
