package stack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// selfExe is this very program, also when its file was replaced meanwhile.
func selfExe() (string, error) { return "/proc/self/exe", nil }

func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// commandLine returns the arguments of a process, joined by spaces; "" when there
// is no such process or it is only waiting to be reaped.
func commandLine(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(bytes.ReplaceAll(data, []byte{0}, []byte{' '}))
}

// statOf returns what the kernel says of a process after its name: state, parent, and so
// on; nil = it is gone.
func statOf(pid int) []string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// pid (name, may hold anything) state parent ...
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}

// began returns when a process was started, in ticks since the machine was; "" = it has
// ended.
func began(pid int) string {
	if fields := statOf(pid); len(fields) > 19 && fields[0] != "Z" && fields[0] != "X" {
		return fields[19]
	}
	return ""
}

// awaitHalt waits until a process that was told so has stopped, or has ended, at most a
// second.
func awaitHalt(pid int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		if fields := statOf(pid); len(fields) == 0 || slices.Contains([]string{"T", "t", "Z", "X"}, fields[0]) {
			return
		}
		<-tick.C
	}
}

// descendants lists the living children of a process and theirs.
func descendants(pid int) []orphan {
	parents := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		child, _ := strconv.Atoi(filepath.Base(dir))
		if fields := statOf(child); len(fields) > 1 { // else it ended meanwhile
			parent, _ := strconv.Atoi(fields[1])
			parents[parent] = append(parents[parent], child)
		}
	}
	var found []orphan
	for todo := parents[pid]; len(todo) > 0; todo = todo[1:] {
		if at := began(todo[0]); at != "" {
			found = append(found, orphan{pid: todo[0], begun: at})
		}
		todo = append(todo, parents[todo[0]]...)
	}
	return found
}
