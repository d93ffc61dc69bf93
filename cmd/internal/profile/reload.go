package profile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stamp names the state of the profiles in a directory: it is another one when a file was added,
// removed, or written, or a link leads to another one.
func Stamp(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("profiles: %w; name the directory that holds the profiles", err)
	}
	var b strings.Builder
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".yaml" && ext != ".yml" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name())) // of what a link leads to
		if err != nil {
			return "", fmt.Errorf("profiles: %w", err)
		}
		fmt.Fprintf(&b, "%q %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return b.String(), nil
}

// Reload reads the files of a directory again, for a process that works with those in s. now are
// the profiles with which it works, those that were set among them. A profile whose file is gone
// stays, since there may be jobs of it: gone names these. The error is [Faults] if a file has one,
// or cannot stand in the place of what the process works with.
func (s *Set) Reload(dir string, now *Set) (files *Set, gone []string, err error) {
	files, err = Load(dir)
	if err != nil {
		return nil, nil, err
	}
	var faults Faults
	for _, name := range slices.Sorted(maps.Keys(files.byName)) {
		if err := now.Fits(files.byName[name]); err != nil {
			faults = append(faults, err.(Faults)...) //nolint:errorlint,forcetypeassert // as documented
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if !files.Has(name) {
			files.byName[name], gone = s.byName[name], append(gone, name)
		}
	}
	return files, gone, faults.asError()
}
