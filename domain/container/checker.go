package container

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/accession-ingest/accession/domain/manifest"
)

// Kind says what a member is.
type Kind int

// The kinds of members.
const (
	File    Kind = iota
	Folder       // makes no file
	Link         // symbolic or hard
	Special      // anything else
)

// Member is a member as the container describes it.
type Member struct {
	Name string // as it is written there
	Kind Kind
	What string // of links and special members: what it is, in words
	Size int64  // of a file, unpacked, as it is stated
}

// Checker takes the members of one container in their order, and refuses the first that is
// not allowed.
type Checker struct {
	limits Limits
	own    string // name of the container
	size   int64  // of the container

	named map[string]string // the folded names of all files, and what they are written like
	order []string          // the folded names
	bytes int64             // unpacked, as stated
}

// NewChecker returns a checker of the container with a name and a size.
func NewChecker(name string, size int64, limits Limits) *Checker {
	return &Checker{limits: limits, own: name, size: size, named: make(map[string]string)}
}

// Member checks one member, and returns the name that it has in the object: "" = it makes no
// file. The error is an [*Error].
func (c *Checker) Member(m Member) (name string, err error) {
	name = m.Name
	if m.Kind == Folder {
		name = strings.TrimRight(name, "/")
	}
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(strings.TrimPrefix(name, "./"), "/")
	}
	if m.Kind == Folder && (name == "" || name == ".") && !strings.HasPrefix(m.Name, "/") {
		return "", nil // the top
	}
	if err := checkName(m.Name, name); err != nil {
		return "", err
	}
	if depth := strings.Count(name, "/"); depth > c.limits.Depth {
		return "", Fault(CodeDepth, m.Name, "stands in %d folders, more than the %d that are allowed: move it up", depth, c.limits.Depth)
	}
	switch m.Kind {
	case Folder:
		return "", nil
	case Link:
		return "", Fault(CodeLink, m.Name, "is %s, which cannot be kept: put the file itself in its place", cmp.Or(m.What, "a link"))
	case Special:
		return "", Fault(CodeSpecial, m.Name, "is %s, not a file: leave it out", cmp.Or(m.What, "something special"))
	case File:
	}
	return c.file(m, manifest.NormalName(name))
}

// file checks a file.
func (c *Checker) file(m Member, name string) (string, error) {
	if name == c.own {
		return "", Fault(CodeDuplicate, m.Name, "has the name of its container: rename one of them")
	}
	folded := Fold(name)
	if other, taken := c.named[folded]; taken {
		how := "is there twice"
		switch {
		case other == m.Name:
		case manifest.NormalName(strings.TrimPrefix(other, "./")) == name:
			how = "differs from " + Quote(other) + " only in how its characters are composed"
		default:
			how = "differs from " + Quote(other) + " only in upper and lower case"
		}
		return "", Fault(CodeDuplicate, m.Name, "%s: rename one of them, or leave it out", how)
	}
	if len(c.order) == c.limits.Files {
		return "", Fault(CodeFiles, m.Name, "is one file more than the %d that are allowed: divide the object", c.limits.Files)
	}
	if m.Size > c.limits.FileBytes {
		return "", Fault(CodeFileBytes, m.Name, "has %d bytes, more than the %d that are allowed for a file: divide it", m.Size, c.limits.FileBytes)
	}
	most, ratio := c.limits.most(c.size)
	if c.bytes += max(m.Size, 0); c.bytes > most || c.bytes < 0 {
		return "", tooMuch(m.Name, c.size, most, ratio)
	}
	c.named[folded], c.order = m.Name, append(c.order, folded)
	return name, nil
}

// tooMuch returns the error of a container that unpacks to more than most bytes at a member.
func tooMuch(member string, size, most int64, ratio bool) *Error {
	if ratio {
		return Fault(CodeRatio, member, "makes over %d bytes of a container of %d, more than are allowed for its size: send the files in another one, compressed less", most, size)
	}
	return Fault(CodeBytes, member, "makes over %d bytes of the container, more than are allowed: divide the object", most)
}

// Limit returns the error of a container that unpacks to more bytes than the limits allow, nil =
// it does not.
func (c *Checker) Limit(member string, bytes int64) error {
	if most, ratio := c.limits.most(c.size); bytes > most {
		return tooMuch(member, c.size, most, ratio)
	}
	return nil
}

// End checks all members together.
func (c *Checker) End() error {
	if len(c.order) == 0 {
		return Fault(CodeEmpty, "", "no file is in the container: put files into it, or deposit it as a file")
	}
	slices.SortFunc(c.order, compareInside)
	file := c.order[0]
	for _, name := range c.order[1:] {
		if strings.HasPrefix(name, file) && name[len(file)] == '/' {
			return Fault(CodeConflict, c.named[name], "stands in a folder whose name is that of the file %s: rename one of them", Quote(c.named[file]))
		}
		file = name
	}
	return nil
}

// compareInside orders paths so that what is inside a folder follows a file of the folder's
// name directly: the slash sorts before all other characters.
func compareInside(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			}
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// checkName checks a name without its leading "./" and the slash of a folder.
func checkName(written, name string) error {
	if err := manifest.CheckName(name); err != nil {
		var at *manifest.Error
		if errors.As(err, &at) && !utf8.ValidString(written) {
			return Fault(CodeName, written, "is not UTF-8: make the container again with a program that writes names in UTF-8")
		}
		return Fault(CodeName, written, "cannot be a name in the object: %v", err)
	}
	return nil
}

// Fold returns what names that differ in case or Unicode form only have in common.
func Fold(name string) string {
	return norm.NFC.String(strings.Map(folded, norm.NFC.String(name)))
}

// folded returns the smallest of the characters that differ from r in case only.
func folded(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
