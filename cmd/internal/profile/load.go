package profile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// maxFile bounds what is read of one file, in bytes.
const maxFile = 1 << 20

// Set is all profiles of an installation. One that was loaded does not change.
type Set struct {
	byName map[string]Profile // those of files
	now    Now                // nil = these are all
	fresh  func(ctx context.Context) (*Set, error)
	files  func() *Set // nil = those of byName
}

// Now returns the profiles as they are now. wanted is the name that is asked for, "" = none
// in particular. With an error, which says why it is not known what the profile of this name
// says, it returns them as they were known last.
type Now func(wanted string) (*Set, error)

// Has reports whether there is a profile of a name.
func (s *Set) Has(name string) bool {
	_, has := s.byName[name]
	return has
}

// Changing returns the set that is, whenever it is asked, the one that now returns; fresh reads
// it anew, and files returns what the files say.
func Changing(now Now, fresh func(ctx context.Context) (*Set, error), files func() *Set) *Set {
	return &Set{now: now, fresh: fresh, files: files}
}

// Fresh returns the profiles as they are, and not as they were a moment ago.
func (s *Set) Fresh(ctx context.Context) (*Set, error) {
	if s.fresh == nil {
		return s, nil
	}
	return s.fresh(ctx)
}

// File returns the profile of a name that a file says, or a [*NotFoundError].
func (s *Set) File(name string) (Profile, error) {
	if s.files != nil {
		s = s.files()
	}
	return (&Set{byName: s.byName}).Get(name)
}

// With returns a set in which profiles stand in the place of those of the same names.
func (s *Set) With(profiles ...Profile) *Set {
	all := &Set{byName: map[string]Profile{}}
	maps.Copy(all.byName, s.known())
	for _, p := range profiles {
		all.byName[p.Name] = p
	}
	return all
}

func (s *Set) current(wanted string) (*Set, error) {
	if s.now == nil {
		return s, nil
	}
	return s.now(wanted)
}

// known returns the profiles as they are known now, by name.
func (s *Set) known() map[string]Profile {
	now, _ := s.current("") // only what is not known has an error
	return now.byName
}

// Fits returns why a profile cannot be among these, in the place of the one of its name: nil =
// it can.
func (s *Set) Fits(p Profile) error {
	for _, other := range s.known() {
		if other.Name != p.Name && other.Collection == p.Collection {
			return Faults{{File: p.File, Field: "collection", Problem: quote(p.Collection) + " is the collection of the profile " + other.Name, Remedy: "write one profile a collection"}}
		}
		if other.Name != p.Name {
			continue
		}
		for _, f := range []struct{ field, is, was string }{
			{"collection", p.Collection, other.Collection}, {"storage", p.Bucket(), other.Bucket()}, {"working_dir", p.WorkingDir, other.WorkingDir},
		} {
			if f.is != f.was {
				return Faults{{File: p.File, Field: f.field, Problem: "it is " + quote(f.was) + " and stays so while the service runs: what was deposited is there", Remedy: "make another profile for what is deposited from now on"}}
			}
		}
	}
	return nil
}

// First says how a directory without profiles gets its first one.
func First(dir string) string {
	return "make a first profile: mkdir -p " + dir + " && accession profile init maps --owner \"Map library\" --naan 99999 --shoulder fk4 > " + filepath.Join(dir, "maps.yaml") + "; or name another directory with profiles_dir"
}

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

// Parse parses one profile; file is its name in errors. The error is [Faults].
func Parse(file string, data []byte) (Profile, error) {
	p, d := parse(file, data)
	return p, d.faults.asError()
}

// Kept returns the profile that was kept as what a setting names. It has that version, also
// where this program has further defaults.
func Kept(name string, content []byte, version, sha string) (Profile, error) {
	if is := SHA256(content); is != sha {
		return Profile{}, fmt.Errorf("the content of the profile %s has the SHA-256 %s, not %s: it was altered; remove what was set, and set it again", name, is, sha)
	}
	p, err := Parse("profile "+name+" as it was set", content)
	if err == nil && p.Name != name {
		err = fmt.Errorf("the content is that of the profile %s, not %s", p.Name, name)
	}
	p.Version = version
	return p, err
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
// there are. Another error says that it is not known what the profile says, or whether there
// is one.
func (s *Set) Get(name string) (Profile, error) {
	now, err := s.current(name)
	if err != nil {
		return Profile{}, fmt.Errorf("it is not known what the profile %s says: %w", name, err)
	}
	if p, ok := now.byName[name]; ok {
		return p, nil
	}
	return Profile{}, &NotFoundError{Name: name, Known: now.Names()}
}

// Missing reports whether an error of Get says that there is no such profile.
func Missing(err error) bool {
	_, missing := errors.AsType[*NotFoundError](err)
	return missing
}

// Names lists the profiles, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.known())) }
