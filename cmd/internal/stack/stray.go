package stack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// apart is where PostgreSQL's data lie that cannot lie in the stack's directory, one
// directory for each stack. Each holds, in the file initialisedMark, the path of the
// stack to which it belongs.
const (
	apart       = "/var/tmp"
	apartPrefix = "accession-postgres-"
)

// removeStrays removes from parent the data of PostgreSQL whose stack stood among
// temporary files and is gone, as killed tests leave them behind. A directory
// elsewhere may have been moved, or be on a disk that is not there now: its data stay,
// and so do the caller's own.
func removeStrays(parent, own string) error {
	dirs, _ := filepath.Glob(filepath.Join(parent, apartPrefix+"*"))
	var faults []error
	for _, dir := range dirs {
		if dir != own && ours(dir) && stray(dir) {
			faults = append(faults, os.RemoveAll(dir))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("stack: remove data that belong to no stack: %w", err)
	}
	return nil
}

// ours reports whether a directory belongs to this user or to PostgreSQL's, and is no
// link.
func ours(dir string) bool {
	users := []int{os.Geteuid()}
	if cred, err := credential(postgresUser); err == nil {
		users = append(users, int(cred.Uid))
	}
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && trusted(info, users...) == nil
}

func stray(dir string) bool {
	owner, err := os.ReadFile(filepath.Join(dir, initialisedMark))
	if err != nil || !temporary(string(owner)) {
		return false // being made, by an earlier version, or not for a test
	}
	st, err := parseState(string(owner))
	if err == nil && st.Postgres == dir || err != nil && !errors.Is(err, os.ErrNotExist) {
		return false
	}
	pidFile, _ := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	line, _, _ := bytes.Cut(pidFile, []byte("\n"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(line)))
	return !(orphan{pid: pid, line: "-D " + dir}).alive()
}

// temporary reports whether a path is below a directory for temporary files.
func temporary(path string) bool {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if rel, err := filepath.Rel(dir, path); err == nil && rel != "." && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
