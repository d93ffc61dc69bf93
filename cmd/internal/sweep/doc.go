// Package sweep ends overdue attempts. It is one function of the time: the
// files whose attempt is overdue, or whose attempts are used up, become commands
// ([Sweeper.Sweep]); [Sweeper.Run] calls it at an interval and the command line
// calls it once.
//
// # Promises
//
// Any number of sweepers may run at once, beside workers that finish late. The
// candidates come from tables that may be behind, so none of them counts as overdue yet: each
// command is decided against the file's last event in the log, and the log takes
// one outcome. That a candidate has moved on is an ordinary answer and counted.
//
// One clock decides, the log's: both the beginning of an attempt and the time that
// it is compared with were told by the server that keeps the history.
//
// A pass that is cut off leaves nothing half done: the two steps of "overdue, and
// it was the last attempt" are one write.
package sweep
