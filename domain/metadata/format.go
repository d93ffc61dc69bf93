package metadata

import (
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
)

// Name is the expanded name of an element: its namespace, "" = none, and its local name.
type Name struct{ Space, Local string }

// String returns the name as formats are written: {namespace}local.
func (n Name) String() string { return "{" + n.Space + "}" + n.Local }

// Format says what a file of one kind is made of. It is made by [ParseFormat].
type Format struct {
	Root       Name
	Record     []Name // from the root to a record
	Identifier []Name // from a record to its identifier
	Title      []Name // from a record to its title, nil = it has none
}

// ParseFormat returns the format that these texts describe. A name is {namespace}local;
// without braces it has the namespace of the root, the root itself none. record,
// identifier and title are paths of names with slashes between them: record from the root,
// the other two from the record. title may be empty.
func ParseFormat(root, record, identifier, title string) (Format, error) {
	names, err := parsePath(root, "")
	if err == nil && len(names) != 1 {
		err = errors.New("it is one name")
	}
	if err != nil {
		return Format{}, fmt.Errorf("root %s: %w", excerpt(root), err)
	}
	f := Format{Root: names[0]}
	for _, p := range []struct {
		what, text string
		path       *[]Name
	}{{"record", record, &f.Record}, {"identifier", identifier, &f.Identifier}, {"title", title, &f.Title}} {
		if p.text == "" && p.what == "title" {
			continue
		}
		if *p.path, err = parsePath(p.text, f.Root.Space); err != nil {
			return Format{}, fmt.Errorf("%s %s: %w", p.what, excerpt(p.text), err)
		}
	}
	return f, nil
}

// path returns a path as [ParseFormat] takes it.
func (f *Format) path(names []Name) string {
	texts := make([]string, len(names))
	for i, n := range names {
		if texts[i] = n.Local; n.Space != f.Root.Space {
			texts[i] = n.String()
		}
	}
	return strings.Join(texts, "/")
}

// maxPath is how many names a path has.
const maxPath = 16

func parsePath(path, space string) (names []Name, err error) {
	for rest, more := path, true; more; {
		n := Name{Space: space}
		if inner, ok := strings.CutPrefix(rest, "{"); ok {
			if n.Space, rest, ok = strings.Cut(inner, "}"); !ok {
				return nil, errors.New("a brace is not closed: write {namespace}name")
			}
		}
		n.Local, rest, more = strings.Cut(rest, "/")
		if n.Local == "" || strings.ContainsAny(n.Local, "{}:<>&\"'= ") || !text.Valid(n.Local) {
			return nil, errors.New("a name is missing or is no name of an element: write {namespace}name, without a prefix")
		}
		if strings.ContainsAny(n.Space, "{<>\" ") || !text.Valid(n.Space) {
			return nil, errors.New("a namespace has characters that none has")
		}
		if names = append(names, n); len(names) > maxPath {
			return nil, fmt.Errorf("it has more than %d names", maxPath)
		}
	}
	return names, nil
}

// follower follows one path through the elements of a file.
type follower struct {
	path    []Name
	base    int // depth of the element that the path starts from
	matched int // how many of its names the open elements have
}

// open notes the start of an element, and reports whether the path ends there.
func (f *follower) open(depth int, n Name) bool {
	if i := depth - f.base - 1; i != f.matched || i >= len(f.path) || f.path[i] != n {
		return false
	}
	f.matched++
	return f.matched == len(f.path)
}

// close notes the end of an element, and reports whether the path ended there.
func (f *follower) close(depth int) bool {
	if f.matched == 0 || depth != f.base+f.matched {
		return false
	}
	f.matched--
	return f.matched+1 == len(f.path)
}
