package synced

// Calls that this machine does not have, and one without a name in package syscall.
const (
	sysRename    = ^uint64(0) - iota
	sysMkdir     = ^uint64(0) - iota
	sysLink      = ^uint64(0) - iota
	sysUnlink    = ^uint64(0) - iota
	sysRenameat2 = 276
)
