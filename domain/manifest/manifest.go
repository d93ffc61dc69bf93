package manifest

import (
	"fmt"
	"slices"
)

// Manifest is a manifest that is structurally sound; its rows may be at fault.
type Manifest struct {
	Version  string // of checkm, such as "0.7"; "" when the file does not say
	Profile  Profile
	Prefixes []Prefix
	Fields   []Field // the columns: from #%fields, else the profile's usual ones
	Rows     []Row

	// Warnings say what was not taken as it is written, in the order of the lines; at most
	// 100. MoreWarnings counts the others.
	Warnings     Errors
	MoreWarnings int
}

// Prefix is one #%prefix line. Prefixes are kept but decide nothing: columns
// are known by their names.
type Prefix struct {
	Name string // with its colon, "nfo:"
	URI  string
}

// Row is one line of the list. A cell at fault, or not there, is empty.
type Row struct {
	Line              int       // in the file, counted from 1
	FileURL           string    // as written, never decoded
	HashAlgorithm     Algorithm // "" unless HashValue is there too
	HashValue         string    // lower-case hex; "" unless HashAlgorithm is there too
	Size              int64     // bytes, -1 = unknown
	FileLastModified  string    // as written, but for what cannot be seen; so are the texts below
	FileName          string    // passes CheckName, in the form of NormalName; from the URL's path when the cell is empty
	MimeType          string    // a media type, or empty
	PrimaryIdentifier string
	LocalIdentifiers  []string // nil or non-empty strings, each once
	Creator           string
	Title             string
	Date              string
	Fault             *Error // the first fault of the row, nil if it is sound

	raw string // the line, when a cell is at fault, so that Format gives it back; may hold a secret
}

// Corrupt returns the faults of all rows of an object manifest as [Errors], nil
// if there are none: an object that lacks a file is not the object that was
// meant. For a batch manifest it is always nil: each faulty row fails by itself.
func (m *Manifest) Corrupt() error {
	if m.Profile.Batch() {
		return nil
	}
	var errs Errors
	for i := range m.Rows {
		if f := m.Rows[i].Fault; f != nil {
			errs = append(errs, f)
		}
	}
	if errs == nil {
		return nil
	}
	return errs
}

// Sentences returns the warnings, one in a line each, up to most of them.
func (m *Manifest) Sentences(most int) []string {
	var all []string
	for _, w := range m.Warnings[:min(len(m.Warnings), most)] {
		all = append(all, w.Error())
	}
	if more := len(m.Warnings) + m.MoreWarnings - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return all
}

// equal compares the contents of rows, not their positions.
func (r *Row) equal(o *Row) bool {
	return r.FileURL == o.FileURL && r.HashAlgorithm == o.HashAlgorithm && r.HashValue == o.HashValue &&
		r.Size == o.Size && r.FileLastModified == o.FileLastModified && r.FileName == o.FileName &&
		r.MimeType == o.MimeType && r.PrimaryIdentifier == o.PrimaryIdentifier &&
		slices.Equal(r.LocalIdentifiers, o.LocalIdentifiers) &&
		r.Creator == o.Creator && r.Title == o.Title && r.Date == o.Date &&
		r.faultCode() == o.faultCode()
}

func (r *Row) faultCode() string {
	if r.Fault == nil {
		return ""
	}
	return r.Fault.Code
}
