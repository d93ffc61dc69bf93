package synced

// Calls that other machines do not have, and one without a name in package syscall.
const (
	sysRename    = 82
	sysMkdir     = 83
	sysLink      = 86
	sysUnlink    = 87
	sysRenameat2 = 316
)
