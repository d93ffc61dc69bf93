package manifest

import (
	"cmp"
	"slices"
	"strings"
)

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
