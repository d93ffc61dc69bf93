package ocflcheck

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// inventory is what section 3.5 asks for.
type inventory struct {
	ID        string              `json:"id"`
	Type      string              `json:"type"`
	Algorithm string              `json:"digestAlgorithm"`
	Head      string              `json:"head"`
	Manifest  map[string][]string `json:"manifest"`
	Versions  map[string]struct {
		Created string              `json:"created"`
		State   map[string][]string `json:"state"`
		Message string              `json:"message"`
		User    *struct {
			Name    string `json:"name"`
			Address string `json:"address"`
		} `json:"user"`
	} `json:"versions"`
}

// checker collects what is wrong below a storage root.
type checker struct {
	fs      fs.FS
	faults  []string
	objects []string
}

// Check returns the ids of the objects below a storage root, and what the specification does
// not allow there.
func Check(root fs.FS) (objects, faults []string) {
	c := &checker{fs: root}
	if text := c.file("0=ocfl_1.1"); text != "ocfl_1.1\n" {
		c.fault(".", "the declaration of the root is %q", text)
	}
	var layout struct{ Extension, Description string }
	if err := json.Unmarshal([]byte(c.file("ocfl_layout.json")), &layout); err != nil || layout.Extension != "0004-hashed-n-tuple-storage-layout" || layout.Description == "" {
		c.fault("ocfl_layout.json", "it is %+v (%v)", layout, err)
	}
	var config struct {
		ExtensionName, DigestAlgorithm string
		TupleSize, NumberOfTuples      int
		ShortObjectRoot                bool
	}
	name := "extensions/" + layout.Extension + "/config.json"
	if err := json.Unmarshal([]byte(c.file(name)), &config); err != nil || config.ExtensionName != layout.Extension || config.DigestAlgorithm != "sha256" ||
		config.TupleSize != 3 || config.NumberOfTuples != 3 || config.ShortObjectRoot {
		c.fault(name, "it is %+v (%v)", config, err)
	}
	for _, e := range c.dir(".") {
		if e.IsDir() && e.Name() != "extensions" {
			c.hierarchy(e.Name())
		} else if !e.IsDir() && e.Name() != "0=ocfl_1.1" && e.Name() != "ocfl_layout.json" {
			c.fault(e.Name(), "no such file belongs there")
		}
	}
	return c.objects, c.faults
}

func (c *checker) fault(where, text string, a ...any) {
	c.faults = append(c.faults, where+": "+fmt.Sprintf(text, a...))
}

func (c *checker) file(name string) string {
	data, err := fs.ReadFile(c.fs, name)
	if err != nil {
		c.fault(name, "%v", err)
	}
	return string(data)
}

func (c *checker) dir(name string) []fs.DirEntry {
	list, err := fs.ReadDir(c.fs, name)
	if err != nil {
		c.fault(name, "%v", err)
	}
	if len(list) == 0 {
		c.fault(name, "it is empty")
	}
	return list
}

// hierarchy looks at a directory that is not an object: it has directories only.
func (c *checker) hierarchy(dir string) {
	list := c.dir(dir)
	if slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "0=ocfl_object_") || strings.HasPrefix(e.Name(), "inventory.json") || e.Name() == "v1"
	}) {
		c.object(dir, list)
		return
	}
	for _, e := range list {
		if e.IsDir() {
			c.hierarchy(dir + "/" + e.Name())
		} else {
			c.fault(dir+"/"+e.Name(), "a file outside of an object")
		}
	}
}

var version = regexp.MustCompile(`^v[1-9][0-9]*$`)

// object looks at an object.
func (c *checker) object(dir string, list []fs.DirEntry) {
	if text := c.file(dir + "/0=ocfl_object_1.1"); text != "ocfl_object_1.1\n" {
		c.fault(dir, "it is declared as %q", text)
	}
	data, is := c.inventory(dir)
	c.objects = append(c.objects, is.ID)
	sum := digest([]byte(is.ID))
	if want := path.Join(sum[:3], sum[3:6], sum[6:9], sum); dir != want {
		c.fault(dir, "the layout wants %s at %s", is.ID, want)
	}
	seen := map[string]bool{}
	for _, e := range list {
		switch {
		case e.IsDir() && version.MatchString(e.Name()):
			seen[e.Name()] = true
			c.version(dir, e.Name(), is, data)
		case e.IsDir() || !slices.Contains([]string{"0=ocfl_object_1.1", "inventory.json", "inventory.json.sha256"}, e.Name()):
			c.fault(dir+"/"+e.Name(), "it does not belong into an object")
		}
	}
	for n := range max(len(is.Versions), len(seen)) {
		name := fmt.Sprintf("v%d", n+1)
		if _, ok := is.Versions[name]; !ok || !seen[name] {
			c.fault(dir, "%s: in the inventory %v, in the object %v", name, ok, seen[name])
		}
	}
	if is.Head != fmt.Sprintf("v%d", len(is.Versions)) {
		c.fault(dir, "the head is %q of %d versions", is.Head, len(is.Versions))
	}
	used := map[string]bool{}
	for name, v := range is.Versions {
		c.state(dir+" "+name, v.State, is.Manifest, used)
		if _, err := time.Parse(time.RFC3339, v.Created); err != nil || v.Message == "" || v.User != nil && v.User.Name == "" {
			c.fault(dir, "%s: created %q, message %q, user %v", name, v.Created, v.Message, v.User)
		}
	}
	paths := map[string]bool{}
	for sum, list := range is.Manifest {
		if !used[sum] {
			c.fault(dir, "no version has what the manifest has under %s", sum)
		}
		for _, p := range list {
			if data := c.file(dir + "/" + p); digest([]byte(data)) != sum {
				c.fault(dir+"/"+p, "it has another digest than in the manifest")
			}
			paths[p] = true
		}
	}
	for name := range seen {
		if _, err := fs.Stat(c.fs, dir+"/"+name+"/content"); err == nil {
			c.content(dir, name+"/content", paths)
		}
	}
}

// content looks at the files that came with a version.
func (c *checker) content(object, dir string, known map[string]bool) {
	for _, e := range c.dir(object + "/" + dir) {
		switch name := dir + "/" + e.Name(); {
		case e.IsDir():
			c.content(object, name, known)
		case !known[name]:
			c.fault(object+"/"+name, "it is not in the manifest")
		}
	}
}

// inventory looks at an inventory with its sidecar.
func (c *checker) inventory(dir string) (data string, is inventory) {
	data = c.file(dir + "/inventory.json")
	if want := digest([]byte(data)) + " inventory.json\n"; c.file(dir+"/inventory.json.sha256") != want {
		c.fault(dir, "the sidecar is not that of the inventory")
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&is); err != nil || is.ID == "" || is.Type != "https://ocfl.io/1.1/spec/#inventory" || is.Algorithm != "sha256" {
		c.fault(dir, "id %q, type %q, digests by %q (%v)", is.ID, is.Type, is.Algorithm, err)
	}
	return data, is
}

// version looks at the directory of a version: its inventory is what the one at the root was
// when the version was the newest one.
func (c *checker) version(dir, name string, at inventory, root string) {
	data, is := c.inventory(dir + "/" + name)
	if name == at.Head && data != root {
		c.fault(dir, "the inventory is not that of its head")
	}
	if is.Head != name || is.ID != at.ID {
		c.fault(dir+"/"+name, "it is the inventory of %s of %s", is.Head, is.ID)
	}
	for n, v := range is.Versions {
		if !maps.Equal(flat(v.State), flat(at.Versions[n].State)) {
			c.fault(dir+"/"+name, "the state of %s differs from that of the newest inventory", n)
		}
	}
	for _, e := range c.dir(dir + "/" + name) {
		if !slices.Contains([]string{"content", "inventory.json", "inventory.json.sha256"}, e.Name()) {
			c.fault(dir+"/"+name+"/"+e.Name(), "it does not belong into a version")
		}
	}
}

// flat returns the digest of each file of a state.
func flat(state map[string][]string) map[string]string {
	files := map[string]string{}
	for sum, names := range state {
		for _, name := range names {
			files[name] = sum
		}
	}
	return files
}

// state looks at the files of a version.
func (c *checker) state(where string, state, manifest map[string][]string, used map[string]bool) {
	files := map[string]bool{}
	for sum, names := range state {
		used[sum] = true
		if len(manifest[sum]) == 0 {
			c.fault(where, "%v is not in the manifest", names)
		}
		for _, name := range names {
			if files[name] || !fs.ValidPath(name) || name == "." {
				c.fault(where, "%q is there twice, or is no name", name)
			}
			files[name] = true
		}
	}
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if files[dir] {
				c.fault(where, "%q is also a directory", dir)
			}
		}
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
