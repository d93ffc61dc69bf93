package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File has write fill a new file, which gets its name only when it is complete. One
// of that name is never replaced.
func File(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	b := bufio.NewWriterSize(f, 1<<16)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); err != nil { // unlike a rename, this replaces nothing
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s exists already: name another file, or remove it", name)
		}
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}
