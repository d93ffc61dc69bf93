//go:build unix && !linux

package stack

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// selfExe is the file of this program.
func selfExe() (string, error) { return os.Executable() }

// setDeathSignal does nothing: only Linux signals the death of its parent to a child.
// The next Start ends what is left.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// commandLine returns the command line of a process, "" when there is none.
func commandLine(pid int) string {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// began returns when a process was started, "" = it has ended.
func began(pid int) string {
	out, err := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, at, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || strings.HasPrefix(state, "Z") {
		return ""
	}
	return strings.TrimSpace(at)
}

// awaitHalt does nothing: that a process has stopped is known by the next look at it.
func awaitHalt(int) {}

// descendants lists the children of a process.
func descendants(pid int) []orphan {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	var found []orphan
	for field := range strings.FieldsSeq(string(out)) {
		if child, err := strconv.Atoi(field); err == nil {
			found = append(found, orphan{pid: child, begun: began(child)})
		}
	}
	return found
}
