package export

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File creates a file with what write writes. The file appears under its name when it
// is complete; an existing file is never replaced.
func File(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	b := bufio.NewWriterSize(f, 1<<16)
	if err := cmp.Or(write(b), b.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), name) // unlike a rename, this replaces nothing
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already: name another file, or remove it", name)
	}
	return err
}
