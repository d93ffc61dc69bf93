package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/google/uuid"
)

// maxState bounds a state file.
const maxState = 1 << 20

// trustDirectory returns an error unless the directory belongs to this user and no other
// one can write in it: what is named there is started, ended and removed.
func trustDirectory(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err == nil {
		err = trusted(info, os.Geteuid())
	}
	if err != nil {
		return fmt.Errorf("stack: %s is not trusted: %w", path, err)
	}
	return nil
}

// trusted returns an error unless one of the users owns a file or directory, and no other
// one can write to it.
func trusted(info os.FileInfo, users ...int) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !slices.Contains(users, int(stat.Uid)):
		return errors.New("it belongs to another user: choose another directory")
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("its mode %s lets other users write to it: take that away with chmod go-w, or choose another directory", info.Mode())
	}
	return nil
}

// readTrusted reads a file of this user that no other one can write.
func readTrusted(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil {
		err = trusted(info, os.Geteuid())
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not trusted: %w", path, err)
	}
	return io.ReadAll(io.LimitReader(f, maxState))
}

// checkPostgres returns an error unless PostgreSQL's data are where this package puts
// them: below the stack's directory, or apart under the stack's id, made for it. Nothing
// else that a state file names is used or removed.
func (st state) checkPostgres(dir string) error {
	if st.Postgres == "" || st.Postgres == filepath.Join(dir, "postgres") {
		return nil
	}
	id, err := uuid.Parse(st.ID)
	if err != nil || st.Postgres != filepath.Join(apart, apartPrefix+id.String()) || os.Geteuid() != 0 {
		return fmt.Errorf("stack: %s names the data of PostgreSQL in %s, where no stack puts them: remove the file if that is yours", filepath.Join(dir, stateFile), st.Postgres)
	}
	info, err := os.Lstat(st.Postgres)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	cred, credErr := credential(postgresUser)
	if err = errors.Join(err, credErr); err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err == nil {
		err = trusted(info, 0, int(cred.Uid))
	}
	if err != nil {
		return fmt.Errorf("stack: %s is not trusted: %w", st.Postgres, err)
	}
	return nil
}
