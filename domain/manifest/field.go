package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Field is a column, by its name without the prefix.
type Field string

// The columns that a manifest may have.
const (
	FileURL           Field = "fileUrl"
	HashAlgorithm     Field = "hashAlgorithm"
	HashValue         Field = "hashValue"
	FileSize          Field = "fileSize"
	FileLastModified  Field = "fileLastModified"
	FileName          Field = "fileName"
	MimeType          Field = "mimeType"
	PrimaryIdentifier Field = "primaryIdentifier"
	LocalIdentifier   Field = "localIdentifier"
	Creator           Field = "creator"
	Title             Field = "title"
	Date              Field = "date"
)

// prefixOf has every column, with the prefix that it is written with.
var prefixOf = map[Field]string{
	FileURL: "nfo:", HashAlgorithm: "nfo:", HashValue: "nfo:", FileSize: "nfo:",
	FileLastModified: "nfo:", FileName: "nfo:",
	MimeType: "mrt:", PrimaryIdentifier: "mrt:", LocalIdentifier: "mrt:",
	Creator: "mrt:", Title: "mrt:", Date: "mrt:",
}

// byLowerName finds a column however its name is capitalised (fileURL is common).
var byLowerName = func() map[string]Field {
	m := make(map[string]Field, len(prefixOf))
	for f := range prefixOf {
		m[strings.ToLower(string(f))] = f
	}
	return m
}()

// String returns the column's name with its prefix, as a #%fields line has it.
func (f Field) String() string { return prefixOf[f] + string(f) }

// Known reports whether the column means something to this program; the cells of others
// are not read.
func (f Field) Known() bool { return prefixOf[f] != "" }

// Fields returns the profile's usual columns, which hold when a manifest has no
// #%fields line. The slice is the caller's.
func (p Profile) Fields() []Field {
	fields := []Field{FileURL, HashAlgorithm, HashValue, FileSize, FileLastModified, FileName}
	if p.Batch() {
		return append(fields, PrimaryIdentifier, LocalIdentifier, Creator, Title, Date)
	}
	return append(fields, MimeType)
}

// parseFields reads the cells of a #%fields line. Columns may be left out, stand in
// another order, or be unknown, but fileUrl comes first: a row that began with
// another cell could look like a comment.
func parseFields(cells []string) ([]Field, error) {
	fields := make([]Field, 0, len(cells))
	for _, c := range cells {
		name := c[strings.LastIndexByte(c, ':')+1:]
		f, ok := byLowerName[strings.ToLower(name)]
		switch {
		case c == "":
			return nil, errors.New("a column has no name; name each column")
		case !ok:
			f = Field(c) // its cells are not read
		case slices.Contains(fields, f):
			return nil, fmt.Errorf("the column %s is named twice; name each column once", f)
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 || fields[0] != FileURL {
		return nil, fmt.Errorf("the first column of #%%fields must be %s", FileURL)
	}
	return fields, nil
}

func knownFields() string {
	all := append(MrtIngest.Fields(), MrtBatch.Fields()[6:]...)
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.String()
	}
	return strings.Join(names, ", ")
}
