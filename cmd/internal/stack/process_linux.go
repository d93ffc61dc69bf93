package stack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// descendants lists the living children of a process and theirs.
func descendants(pid int) []orphan {
	parents := map[int][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		data, _ := os.ReadFile(f)
		// pid (name, may hold anything) state parent ...
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) < 2 {
			continue // ended meanwhile
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		parent, _ := strconv.Atoi(fields[1])
		parents[parent] = append(parents[parent], child)
	}
	var found []orphan
	for todo := parents[pid]; len(todo) > 0; todo = todo[1:] {
		found = append(found, orphan{pid: todo[0], line: commandLine(todo[0])})
		todo = append(todo, parents[todo[0]]...)
	}
	return found
}
