package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/accession-ingest/accession/domain/text"
)

// Limits of a name, in bytes of its normal form: what Linux file systems take.
const (
	MaxNameBytes    = 4096
	MaxSegmentBytes = 255
)

// NormalName returns the name in Unicode normal form C, the form in which names
// are kept and compared: é is one file however it was typed.
func NormalName(name string) string { return norm.NFC.String(name) }

// CheckName reports whether name is a path inside an object: segments separated
// by slashes, none of them empty, "." or "..", none above [MaxSegmentBytes],
// together at most [MaxNameBytes]; no slash at either end, no backslash, no
// control, bidirectional or invisible character, valid UTF-8 (see [text.Check]). The
// error is an [Error] with code [RowBadName].
func CheckName(name string) error {
	bad := func(what string, args ...any) error { return fault(0, RowBadName, what, args...) }
	switch {
	case name == "":
		return bad("the file name is empty; give one")
	case !text.Valid(name):
		return bad("the file name %s %v", excerpt(name), text.Check(name))
	case strings.Contains(name, `\`):
		return bad("the file name %s holds a backslash; separate folders with /", excerpt(name))
	case name[0] == '/':
		return bad("the file name %s is absolute; start it inside the object, without /", excerpt(name))
	}
	normal := NormalName(name)
	if len(normal) > MaxNameBytes {
		return bad("the file name %s has %d bytes; use at most %d", excerpt(name), len(normal), MaxNameBytes)
	}
	for segment := range strings.SplitSeq(normal, "/") {
		switch {
		case segment == "":
			return bad("the file name %s has an empty part; write one / between folders and none at the end", excerpt(name))
		case segment == "." || segment == "..":
			return bad("the file name %s has the part %q; write the path from the object's top without it", excerpt(name), segment)
		case len(segment) > MaxSegmentBytes:
			return bad("the file name %s has a part of %d bytes; use at most %d between slashes",
				excerpt(name), len(segment), MaxSegmentBytes)
		}
	}
	return nil
}

// markNameFaults finds the rows of an object whose names cannot stand side by
// side: the same name twice, or a file where another row needs a folder. In a
// batch each row is an object of its own, and names may repeat.
//
// It sorts instead of keeping a set of all folders, which deep paths could make
// far larger than the manifest.
func markNameFaults(m *Manifest) {
	if m.Profile.Batch() {
		return
	}
	sound := make([]*Row, 0, len(m.Rows))
	for i := range m.Rows {
		if m.Rows[i].Fault == nil {
			sound = append(sound, &m.Rows[i])
		}
	}
	slices.SortFunc(sound, func(a, b *Row) int {
		return cmp.Or(comparePaths(a.FileName, b.FileName), cmp.Compare(a.Line, b.Line))
	})
	var file *Row // the last row that is inside no other
	for _, r := range sound {
		switch {
		case file == nil:
			file = r
		case r.FileName == file.FileName:
			r.Fault = fault(r.Line, RowDuplicateName, "the file name %s is already on line %d; give each file its own",
				excerpt(r.FileName), file.Line)
		case strings.HasPrefix(r.FileName, file.FileName) && r.FileName[len(file.FileName)] == '/':
			r.Fault = fault(r.Line, RowNameConflict, "the file name %s needs a folder where line %d puts the file %s; rename one",
				excerpt(r.FileName), file.Line, excerpt(file.FileName))
		default:
			file = r
		}
	}
}

// comparePaths orders paths so that what is inside a folder follows the file of
// the folder's name directly: the slash sorts before all other characters.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

// UnnamedRow is what is wrong with a row of an update that does not name its object.
const UnnamedRow = "an update must name its object: give its identifier in the column " + string(PrimaryIdentifier) +
	", or the depositor's own name in the column " + string(LocalIdentifier)

// CheckNamed checks that a deposit of a submission type names its object where it must,
// and nowhere else: fault and remedy are empty when it does.
func CheckNamed(submissionType string, many, named, update bool) (fault, remedy string) {
	switch {
	case many && named:
		return fmt.Sprintf("a deposit of type %s has many objects, and no one identifier", submissionType),
			fmt.Sprintf("name each in its row, in the column %s or %s", PrimaryIdentifier, LocalIdentifier)
	case !many && !named && update:
		return "an update must name its object", "give its identifier with --identifier, or the depositor's own name with --local-id"
	}
	return "", ""
}
