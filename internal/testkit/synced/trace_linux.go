package synced

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"
)

// What the system's interface has no names for in package syscall.
const (
	getSyscallInfo = 0x420e // ptrace request
	exitKill       = 1 << 20
	sysGood        = 1 // syscall.PTRACE_O_TRACESYSGOOD
	anyThread      = 0x40000000
	atCWD          = -100
)

// trace runs a process to its end and notes its calls. ok: it ended with status 0.
func trace(cmd *exec.Cmd) (calls []call, ok bool, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, false, err
	}
	pid := cmd.Process.Pid
	defer func() { _ = cmd.Process.Release() }()
	defer func() {
		if err != nil {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}()
	var status syscall.WaitStatus
	if err := wait(pid, &status); err != nil {
		return nil, false, err
	}
	if err := syscall.PtraceSetOptions(pid, sysGood|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return nil, false, err
	}
	known := map[int]bool{pid: true}
	for tid, signal := pid, 0; ; {
		// A thread that has ended meanwhile is no error.
		if err := syscall.PtraceSyscall(tid, signal); err != nil && err != syscall.ESRCH {
			return nil, false, err
		}
		for {
			if tid, err = waitGroup(pid, &status); err != nil {
				return nil, false, err
			}
			if status.Stopped() {
				break
			}
			if tid == pid {
				return calls, status.Exited() && status.ExitStatus() == 0, nil
			}
		}
		signal = 0
		switch stop := status.StopSignal(); {
		case stop == syscall.SIGTRAP|0x80:
			if c, found := look(tid); found {
				calls = append(calls, c)
			}
		case stop == syscall.SIGTRAP && status.TrapCause() > 0:
		case stop == syscall.SIGSTOP && !known[tid]: // a new thread
		default:
			signal = int(stop)
		}
		known[tid] = true
	}
}

func wait(pid int, status *syscall.WaitStatus) error {
	_, err := waitGroup(pid, status)
	return err
}

// waitGroup waits for any thread of the process, and for no other process.
func waitGroup(pid int, status *syscall.WaitStatus) (int, error) {
	for {
		tid, err := syscall.Wait4(-pid, status, anyThread, nil)
		if err != syscall.EINTR {
			return tid, err
		}
	}
}

// info is what the system says about a call, as far as it is of use here.
type info struct {
	Op     uint8
	_      [3]byte
	Arch   uint32
	IP, SP uint64
	Number uint64
	Args   [6]uint64
}

// look returns which call a thread is about to make.
func look(tid int) (call, bool) {
	var raw [80]byte
	n, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(tid), uintptr(len(raw)), uintptr(unsafe.Pointer(&raw[0])), 0, 0)
	var i info
	if errno != 0 || n == 0 || binary.Read(bytes.NewReader(raw[:]), binary.NativeEndian, &i) != nil || i.Op != 1 {
		return call{}, false
	}
	name := func(at, arg int) string { return nameOf(tid, int32(i.Args[at]), i.Args[arg]) }
	here := func(arg int) string { return nameOf(tid, atCWD, i.Args[arg]) }
	switch i.Number {
	case syscall.SYS_FSYNC, syscall.SYS_FDATASYNC:
		return call{what: "sync", name: link(tid, fmt.Sprintf("fd/%d", i.Args[0]))}, true
	case syscall.SYS_RENAMEAT, sysRenameat2:
		return call{"move", name(0, 1), name(2, 3)}, true
	case syscall.SYS_LINKAT:
		return call{"link", name(0, 1), name(2, 3)}, true
	case syscall.SYS_UNLINKAT:
		return call{what: "remove", name: name(0, 1)}, true
	case syscall.SYS_MKDIRAT:
		return call{what: "mkdir", name: name(0, 1)}, true
	case sysRename:
		return call{"move", here(0), here(1)}, true
	case sysLink:
		return call{"link", here(0), here(1)}, true
	case sysUnlink:
		return call{what: "remove", name: here(0)}, true
	case sysMkdir:
		return call{what: "mkdir", name: here(0)}, true
	}
	return call{}, false
}

func link(tid int, what string) string {
	to, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", tid, what))
	return to
}

// nameOf reads a name from the memory of the process.
func nameOf(tid int, dir int32, at uint64) string {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return ""
	}
	defer func() { _ = mem.Close() }()
	text := make([]byte, 4096)
	n, _ := mem.ReadAt(text, int64(at))
	text, _, _ = bytes.Cut(text[:n], []byte{0})
	name := string(text)
	switch {
	case filepath.IsAbs(name):
	case dir == atCWD:
		name = filepath.Join(link(tid, "cwd"), name)
	default:
		name = filepath.Join(link(tid, fmt.Sprintf("fd/%d", dir)), name)
	}
	return filepath.Clean(name)
}
