// Package powercut is a disk that loses power, for tests: a file system in memory
// that forgets what was not synced, with a mount (build tag soak) under which a
// real server keeps its data.
//
// # What a power cut leaves
//
//   - Of a file's content and length: what it had at its last fsync (fdatasync is
//     the same). Nothing is written back by itself; [Disk.Settle] stands for the
//     kernel that got round to it.
//   - Of a name that was made, moved or removed: what it was at the last fsync of
//     its directory, or of the file itself. The second is more than POSIX promises
//     and what ext4, XFS and Btrfs do: the fsync of a file makes its own names
//     durable, and those of the directories on the way to it. ZooKeeper relies on
//     it: it never syncs the directory of its transaction log. The names of other
//     files, which ext4 would carry along in the same commit, stay forgotten.
//   - Owner and permissions are kept at once; times are not kept at all.
//
// Operations between two syncs are lost together or not at all; a disk that keeps
// the later of two writes and loses the earlier one is not played.
package powercut
