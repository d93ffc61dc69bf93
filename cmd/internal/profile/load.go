package profile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// maxFile bounds what is read of one file, in bytes.
const maxFile = 1 << 20

// Set is all profiles of an installation. It does not change.
type Set struct{ byName map[string]Profile }

// Load reads every *.yaml file in dir. The error is [Faults] with all that is
// wrong in any of them, or that of the file system.
func Load(dir string) (*Set, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("profiles: %w; name the directory that holds the profiles", err)
	}
	set := &Set{byName: make(map[string]Profile)}
	var faults Faults
	collections := make(map[string]Profile)
	found := false
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		switch ext := filepath.Ext(e.Name()); {
		case e.IsDir() || ext != ".yaml" && ext != ".yml":
			continue
		case ext == ".yml":
			faults = append(faults, Fault{File: file, Problem: "only *.yaml is read", Remedy: "rename the file"})
			continue
		}
		found = true
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("profiles: %w", err)
		}
		p, d := parse(file, data)
		if other, ok := set.byName[p.Name]; ok && p.Name != "" {
			d.fault(d.line("name"), "name", quote(p.Name)+" is the name of the profile in "+other.File, "give each profile its own name")
		} else {
			set.byName[p.Name] = p
		}
		if other, ok := collections[p.Collection]; ok && p.Collection != "" {
			d.fault(d.line("collection"), "collection", quote(p.Collection)+" is the collection of "+other.File, "write one profile a collection")
		}
		collections[p.Collection] = p
		faults = append(faults, d.faults...)
	}
	if !found {
		faults = append(faults, Fault{File: dir, Problem: "no profile is there", Remedy: "write a *.yaml file for each collection"})
	}
	if err := faults.asError(); err != nil {
		return nil, err
	}
	return set, nil
}

func parse(file string, data []byte) (Profile, *document) {
	d := &document{file: file, lines: make(map[string]int)}
	p := Defaults()
	p.File = file
	if len(data) > maxFile {
		d.fault(0, "", fmt.Sprintf("the file has more than %d bytes", maxFile), "a profile needs a few hundred")
		return p, d
	}
	d.decode(data, &p)
	if len(d.lines) > 0 { // else there is no profile in it to check
		d.validate(&p)
		d.faults = once(d.faults)
	}
	p.Version = p.version()
	return p, d
}

// once keeps the first fault of each field: a value that could not be decoded is not
// called missing as well.
func once(faults Faults) Faults {
	seen := make(map[string]bool)
	return slices.DeleteFunc(faults, func(f Fault) bool {
		key := fmt.Sprint(f.Line, " ", f.Field)
		again := seen[key] && f.Field != ""
		seen[key] = true
		return again
	})
}

// Get returns the profile of a name, or a [*NotFoundError] that lists the names
// there are.
func (s *Set) Get(name string) (Profile, error) {
	if p, ok := s.byName[name]; ok {
		return p, nil
	}
	return Profile{}, &NotFoundError{Name: name, Known: s.Names()}
}

// Names lists the profiles, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.byName)) }
