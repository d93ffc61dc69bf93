package bag

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Codes of what is wrong with a bag. The depositor must act in each case.
const (
	CodeDeclaration domain.Code = "bag_declaration" // bagit.txt is not as it must be, or of an unknown version
	CodeEncoding    domain.Code = "bag_encoding"    // its texts are not UTF-8
	CodeManifest    domain.Code = "bag_manifest"    // a manifest is missing, or has a line that cannot be read
	CodeAlgorithm   domain.Code = "bag_algorithm"   // a manifest's algorithm is not known
	CodeMissing     domain.Code = "bag_missing"     // a file that a manifest lists is not there
	CodeUnlisted    domain.Code = "bag_unlisted"    // a payload file is in no manifest
	CodeDigest      domain.Code = "bag_digest"      // a digest differs
	CodeOxum        domain.Code = "bag_oxum"        // Payload-Oxum differs, or cannot be read
	CodeFetch       domain.Code = "bag_fetch"       // a file is to be fetched from elsewhere
	CodeText        domain.Code = "bag_text"        // one of its own files is too large to be read
)

// declaration is the file that makes a container a bag, and payload the folder of its payload.
const (
	declaration = "bagit.txt"
	payload     = "data/"
)

// Text reports whether a file of a container may be a text that Read needs, if the container
// is a bag: its name is one of those, at the top or in a folder.
func Text(name string) bool {
	if strings.Count(name, "/") > 1 {
		return false
	}
	base := path.Base(name)
	_, _, isManifest := manifestOf(base)
	return isManifest || base == declaration || base == "fetch.txt" || base == "bag-info.txt"
}

// Root returns the folder that is a bag, with a slash at its end, "" = the container itself.
func Root(files []container.Found) (root string, ok bool) {
	if len(files) == 0 {
		return "", false
	}
	if slices.ContainsFunc(files, func(f container.Found) bool { return f.Name == declaration }) {
		return "", true
	}
	top, _, inside := strings.Cut(files[0].Name, "/")
	if root = top + "/"; !inside {
		return "", false
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name, root) {
			return "", false
		}
		ok = ok || f.Name == root+declaration
	}
	return root, ok
}

// manifestOf returns of which algorithm a file is the manifest by its name, and whether of
// tag files.
func manifestOf(base string) (algorithm string, tags, ok bool) {
	base, ok = strings.CutSuffix(base, ".txt")
	if !ok {
		return "", false, false
	}
	if algorithm, ok = strings.CutPrefix(base, "tagmanifest-"); ok {
		return algorithm, true, true
	}
	algorithm, ok = strings.CutPrefix(base, "manifest-")
	return algorithm, false, ok
}

// Bag is a bag as its own files describe it.
type Bag struct {
	root      string
	version   [2]int
	manifests []list
	octets    int64 // Payload-Oxum, -1 = it has none
	streams   int64
	oxum      string // as it is written
}

// list is a manifest.
type list struct {
	name      string // of its file
	algorithm manifest.Algorithm
	tags      bool
	lines     []line
}

// line is a line of a manifest.
type line struct {
	number int
	name   string // of the file, in the object
	digest string
}

// Read reads the texts of the bag in a folder of a container, by their names in the container.
// The error is a *[container.Error].
func Read(root string, texts map[string][]byte) (*Bag, error) {
	b := &Bag{root: root, octets: -1}
	if err := b.declare(texts[root+declaration]); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(texts))
	for name := range texts {
		if rest, ok := strings.CutPrefix(name, root); ok && !strings.Contains(rest, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !utf8.Valid(texts[name]) {
			return nil, fault(CodeEncoding, name, "is not UTF-8, though %s says so: write it in UTF-8", declaration)
		}
		var err error
		switch base := strings.TrimPrefix(name, root); base {
		case "fetch.txt":
			err = fetch(name, texts[name])
		case "bag-info.txt":
			err = b.info(name, texts[name])
		default:
			if algorithm, tags, ok := manifestOf(base); ok {
				err = b.manifest(name, algorithm, tags, texts[name])
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(b.manifests, func(l list) bool { return !l.tags }) {
		return nil, fault(CodeManifest, root+declaration, "declares a bag, and no manifest of its payload is beside it: add manifest-sha256.txt")
	}
	return b, nil
}

// Version returns the version of BagIt that the bag is of.
func (b *Bag) Version() string { return fmt.Sprintf("%d.%d", b.version[0], b.version[1]) }

// Algorithms returns the algorithms by whose digests the files are compared, each once.
func (b *Bag) Algorithms() (all []manifest.Algorithm) {
	for _, m := range b.manifests {
		if !slices.Contains(all, m.algorithm) {
			all = append(all, m.algorithm)
		}
	}
	return all
}

// declare reads bagit.txt.
func (b *Bag) declare(data []byte) error {
	bad := func(what string) error {
		return fault(CodeDeclaration, b.root+declaration, "%s: write the two lines \"BagIt-Version: 1.0\" and \"Tag-File-Character-Encoding: UTF-8\"", what)
	}
	if !utf8.Valid(data) {
		return bad("is not UTF-8")
	}
	var values []string
	for n, l := range lines(data) {
		label, value, ok := strings.Cut(l, ":")
		want := []string{"BagIt-Version", "Tag-File-Character-Encoding"}
		switch {
		case strings.TrimSpace(l) == "":
		case n > 2 || !ok:
			return bad("has other lines than the two that it must have")
		case label != want[n-1]:
			return bad(fmt.Sprintf("has %s in line %d", container.Quote(label), n))
		default:
			values = append(values, strings.TrimSpace(value))
		}
	}
	if len(values) != 2 {
		return bad("does not have the two lines that it must have")
	}
	major, minor, _ := strings.Cut(values[0], ".")
	var faults [2]error
	b.version[0], faults[0] = strconv.Atoi(major)
	b.version[1], faults[1] = strconv.Atoi(minor)
	old := b.version[0] == 0 && b.version[1] >= 93 && b.version[1] <= 97
	if faults != [2]error{} || !old && b.version != [2]int{1, 0} {
		return bad("is of version " + container.Quote(values[0]) + ", and 0.93 to 0.97 and 1.0 are known")
	}
	if !strings.EqualFold(values[1], "UTF-8") {
		return fault(CodeEncoding, b.root+declaration, "says that the texts of the bag are in %s, and only UTF-8 is read: write them in UTF-8", container.Quote(values[1]))
	}
	return nil
}

// before reports whether the bag is of a version before 1.0.
func (b *Bag) before() bool { return b.version[0] == 0 }

// fetch refuses a bag of which something is elsewhere.
func fetch(name string, data []byte) error {
	n := 0
	for _, l := range lines(data) {
		if strings.TrimSpace(l) != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fault(CodeFetch, name, "names files that are elsewhere, %d in all, which are not fetched: put them into the bag, or deposit them by a manifest", n)
}

// info reads bag-info.txt.
func (b *Bag) info(name string, data []byte) error {
	for n, l := range lines(data) {
		label, value, ok := strings.Cut(l, ":")
		if !ok || !strings.EqualFold(label, "Payload-Oxum") {
			continue
		}
		value = strings.TrimSpace(value)
		if b.octets >= 0 && value != b.oxum {
			return fault(CodeOxum, name, "has two Payload-Oxum, %s and, in line %d, %s: keep the one that is right", container.Quote(b.oxum), n, container.Quote(value))
		}
		octets, streams, ok := strings.Cut(value, ".")
		if !ok || !count(octets, &b.octets) || !count(streams, &b.streams) {
			return fault(CodeOxum, name, "has in line %d the Payload-Oxum %s: write the bytes of all files below data/, a dot, and how many they are", n, container.Quote(value))
		}
		b.oxum = value
	}
	return nil
}

func count(s string, into *int64) bool {
	n, err := strconv.ParseUint(s, 10, 63)
	*into = int64(n)
	return err == nil
}

// manifest reads a manifest.
func (b *Bag) manifest(name, algorithm string, tags bool, data []byte) error {
	a, err := manifest.ParseAlgorithm(algorithm)
	if err != nil {
		return fault(CodeAlgorithm, name, "is by an algorithm that cannot be checked: %v", err)
	}
	m := list{name: name, algorithm: a, tags: tags}
	seen := map[string]int{}
	for n, l := range lines(data) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		digest, file, err := b.line(l, tags)
		if err == nil {
			digest, err = a.CheckDigest(digest)
		}
		if err != nil {
			return fault(CodeManifest, name, "has a line %d that cannot be read: %v", n, err)
		}
		if first, twice := seen[file]; twice {
			return fault(CodeManifest, name, "lists %s in lines %d and %d: keep the one that is right", container.Quote(file), first, n)
		}
		seen[file] = n
		m.lines = append(m.lines, line{n, b.root + file, digest})
	}
	b.manifests = append(b.manifests, m)
	return nil
}

// line reads a line of a manifest.
func (b *Bag) line(l string, tags bool) (digest, file string, err error) {
	i := strings.IndexAny(l, " \t")
	if i <= 0 {
		return "", "", fmt.Errorf("write the digest, a space and the path of the file")
	}
	digest, file = l[:i], strings.TrimLeft(l[i:], " \t")
	if b.before() { // as programs wrote it that make checksums
		file = strings.TrimPrefix(strings.TrimPrefix(file, "*"), "./")
	}
	file = manifest.NormalName(b.decode(file))
	if err := manifest.CheckName(file); err != nil {
		return "", "", err
	}
	if strings.HasPrefix(file, payload) == tags {
		where := "lists files below data/ only"
		if tags {
			where = "of tag files lists none below data/"
		}
		return "", "", fmt.Errorf("a manifest %s, not %s", where, container.Quote(file))
	}
	return digest, file, nil
}

// decode decodes what a manifest writes by percent signs.
func (b *Bag) decode(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	pairs := []string{"%0A", "\n", "%0a", "\n", "%0D", "\r", "%0d", "\r"}
	if !b.before() {
		pairs = append(pairs, "%25", "%")
	}
	return strings.NewReplacer(pairs...).Replace(name)
}

// File is a file of the container with its digests.
type File struct {
	Name    string // in the object
	Size    int64
	Digests map[manifest.Algorithm]string // in lower case, at least those of Algorithms
}

// Check compares the files of the container with what the bag says of them. The error is a
// *[container.Error].
func (b *Bag) Check(files []File) error {
	there := make(map[string]File, len(files))
	for _, f := range files {
		there[f.Name] = f
	}
	listed := map[string]int{} // by how many payload manifests
	lists := 0
	for _, m := range b.manifests {
		for _, l := range m.lines {
			f, ok := there[l.name]
			if !ok {
				return fault(CodeMissing, l.name, "is in line %d of %s and not in the bag: put it there, or take it out of the manifest", l.number, m.name)
			}
			if got := f.Digests[m.algorithm]; got != l.digest {
				return fault(CodeDigest, l.name, "has the %s digest %s, and line %d of %s says %s: correct the one that is wrong", m.algorithm, orNone(got), l.number, m.name, l.digest)
			}
			if !m.tags {
				listed[l.name]++
			}
		}
		if !m.tags {
			lists++
		}
	}
	var octets, streams int64
	for _, f := range files {
		if !strings.HasPrefix(f.Name, b.root+payload) {
			continue
		}
		octets, streams = octets+f.Size, streams+1
		switch n := listed[f.Name]; {
		case n == 0:
			return fault(CodeUnlisted, f.Name, "is in no manifest of the bag: list it, or take it out")
		case n < lists && !b.before():
			return fault(CodeUnlisted, f.Name, "is in %d of the %d manifests of the bag, and must be in each: list it", n, lists)
		}
	}
	if b.octets >= 0 && (octets != b.octets || streams != b.streams) {
		return fault(CodeOxum, b.root+"bag-info.txt", "has the Payload-Oxum %s, and the bag has %d.%d: correct the one that is wrong", b.oxum, octets, streams)
	}
	return nil
}

func orNone(digest string) string {
	if digest == "" {
		return "(none)"
	}
	return digest
}

// lines yields the lines of a text with their numbers, from 1.
func lines(data []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n := 0
		for l := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)), "\n") {
			if n++; !yield(n, l) {
				return
			}
		}
	}
}

func fault(code domain.Code, file, format string, args ...any) *container.Error {
	return container.Fault(code, file, format, args...)
}
