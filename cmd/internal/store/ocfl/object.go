package ocfl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Object is what an inventory says (3.5): its versions, and where the bytes of their files are.
type Object struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Algorithm string `json:"digestAlgorithm"`
	Head      string `json:"head"`
	// Manifest has the paths of each content below the root of the object, by digest.
	Manifest map[string][]string `json:"manifest"`
	Versions map[string]Version  `json:"versions"`
}

// Version is one version of an object.
type Version struct {
	Created string `json:"created"` // RFC 3339
	Message string `json:"message"`
	User    *User  `json:"user,omitempty"`
	// State has the names of the files of the version by digest.
	State map[string][]string `json:"state"`
}

// User is who a version comes from.
type User struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // a URI
}

// Entry is a file of a new version.
type Entry struct {
	Name   string // in the version
	Digest string
	Path   string // of its bytes below the root of the object
}

const conforms = "https://ocfl.io/1.1/spec/#inventory"

// Number returns how many versions an object has.
func (o Object) Number() int { return len(o.Versions) }

// Content returns the path of a content that the object has, below its root.
func (o Object) Content(digest string) (path string, ok bool) {
	if paths := o.Manifest[digest]; len(paths) > 0 {
		return paths[0], true
	}
	return "", false
}

// Next returns the object with one more version, which has these files.
func (o Object) Next(id string, v Version, files []Entry) Object {
	number := o.Number() + 1
	next := Object{ID: id, Type: conforms, Algorithm: algorithm, Head: VersionName(number),
		Manifest: map[string][]string{}, Versions: maps.Clone(o.Versions)}
	for digest, paths := range o.Manifest {
		next.Manifest[digest] = slices.Clone(paths)
	}
	v.State = map[string][]string{}
	for _, f := range files {
		v.State[f.Digest] = append(v.State[f.Digest], f.Name)
		if !slices.Contains(next.Manifest[f.Digest], f.Path) {
			next.Manifest[f.Digest] = append(next.Manifest[f.Digest], f.Path)
		}
	}
	for _, list := range []map[string][]string{v.State, next.Manifest} {
		for _, names := range list {
			slices.Sort(names)
		}
	}
	if next.Versions == nil {
		next.Versions = map[string]Version{}
	}
	next.Versions[next.Head] = v
	return next
}

// Encode returns the inventory. Equal objects have equal bytes.
func (o Object) Encode() []byte { return encode(o) }

// Paths returns the path of each content, below the root of the object.
func (o Object) Paths() map[string]bool {
	all := map[string]bool{}
	for _, paths := range o.Manifest {
		for _, p := range paths {
			all[p] = true
		}
	}
	return all
}

// Decode reads the inventory of an object with this identifier, as far as what is read from
// it and added to it has to hold.
func Decode(id string, data []byte) (o Object, err error) {
	if err := json.Unmarshal(data, &o); err != nil {
		return o, err
	}
	switch {
	case o.ID != id:
		return o, fmt.Errorf("it is the inventory of %q", o.ID)
	case o.Algorithm != algorithm:
		return o, fmt.Errorf("its digests are by %q, not by %s", o.Algorithm, algorithm)
	case o.Number() == 0 || o.Head != VersionName(o.Number()):
		return o, errors.New("its head is not its highest version")
	}
	for n := range o.Number() {
		v, ok := o.Versions[VersionName(n+1)]
		if !ok {
			return o, fmt.Errorf("it lacks %s", VersionName(n+1))
		}
		for digest, names := range v.State {
			if _, ok := o.Content(digest); !ok {
				return o, fmt.Errorf("it does not say where %s of %s is", strings.Join(names, ", "), VersionName(n+1))
			}
		}
	}
	for path := range o.Paths() {
		version, _, ok := strings.Cut(path, content)
		if n, err := strconv.Atoi(strings.TrimPrefix(version, "v")); !ok || err != nil || version != VersionName(n) || n < 1 || n > o.Number() {
			return o, fmt.Errorf("its path %q is in no version", path)
		}
	}
	return o, nil
}
