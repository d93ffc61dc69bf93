package manifest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/text"
)

// parseRow reads one row, which is not blank and has no blanks around it. It
// reads on after a fault, so that a failed job still has the row's identifiers
// and title. warn is called with the warnings.
func parseRow(line string, number int, fields []Field, storeURLs bool, warn func(*Error)) Row {
	r := Row{Line: number, Size: -1}
	note := func(err error) {
		var e *Error
		if r.Fault == nil && errors.As(err, &e) {
			r.Fault = &Error{Line: number, Code: e.Code, Message: e.Message}
			r.raw = line
		}
	}
	cells := strings.SplitN(line, "|", len(fields)+1)
	if len(cells) > len(fields) {
		if strings.Trim(cells[len(fields)], blanks+"|") != "" {
			note(fault(0, RowTooManyCells,
				"the row has more than the %d cells that its columns need; write %%7c for a | inside a value", len(fields)))
		}
		cells = cells[:len(fields)]
	}
	named := false
	for i, c := range cells {
		c = strings.Trim(c, blanks)
		named = named || fields[i] == FileName && c != ""
		if hasControl(c) {
			note(fault(0, RowControlCharacter, "the cell %s holds a control character; remove it", fields[i]))
			c = ""
		}
		note(r.set(fields[i], c, storeURLs))
		if w := r.tidy(fields[i]); w != nil {
			w.Line = number
			warn(w)
		}
	}
	note(r.finishDigest())
	if !named && r.FileURL != "" {
		note(r.setNameFromURL())
	}
	return r
}

// set takes one cell. A digest needs two, and is left to finishDigest.
func (r *Row) set(f Field, cell string, storeURLs bool) error {
	if f == FileURL {
		if err := CheckURL(cell, storeURLs); err != nil {
			return err
		}
		r.FileURL = cell
		return nil
	}
	value := decode(cell)
	switch f {
	case HashAlgorithm:
		r.HashAlgorithm = Algorithm(value)
	case HashValue:
		r.HashValue = value
	case FileSize:
		return r.setSize(value)
	case FileName:
		return r.setName(value)
	case PrimaryIdentifier, LocalIdentifier:
		if err := text.Check(value); err != nil {
			return fault(0, RowBadIdentifier, "the cell %s %v", f, err)
		}
		if f == PrimaryIdentifier {
			r.PrimaryIdentifier = value
			return nil
		}
		for id := range strings.SplitSeq(value, ";") {
			if id = strings.Trim(id, blanks); id != "" {
				r.LocalIdentifiers = append(r.LocalIdentifiers, id)
			}
		}
		r.LocalIdentifiers = Distinct(r.LocalIdentifiers)
	default:
		if f.Known() {
			*texts[f](r) = value
		}
	}
	return nil
}

// Distinct returns the local ids of an object, each once, in their order.
func Distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// tidy takes out of a cell that was set what is not kept, and returns the warning about
// it, nil when there was nothing.
func (r *Row) tidy(f Field) *Error {
	if texts[f] == nil {
		return nil
	}
	cell := texts[f](r)
	if f == MimeType {
		if *cell == "" || text.MediaType(*cell) {
			return nil
		}
		was := *cell
		*cell = text.OctetStream
		return fault(0, MediaTypeIgnored, "%s is no media type, such as text/csv; the file is kept as %s", excerpt(was), text.OctetStream)
	}
	stripped, changed := text.Strip(strings.ReplaceAll(*cell, "\t", " "))
	*cell = stripped
	if !changed {
		return nil
	}
	return fault(0, CharactersRemoved, "the cell %s held characters that cannot be seen or that change the direction of the text; they were removed", f)
}

// hasControl reports whether a line or cell holds a control character but tab.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && text.KindOf(r) == text.Control })
}

// texts are the columns whose values are kept as they are written, but for what tidy
// takes out.
var texts = map[Field]func(*Row) *string{
	FileLastModified: func(r *Row) *string { return &r.FileLastModified },
	MimeType:         func(r *Row) *string { return &r.MimeType },
	Creator:          func(r *Row) *string { return &r.Creator },
	Title:            func(r *Row) *string { return &r.Title },
	Date:             func(r *Row) *string { return &r.Date },
}

// modifiedForms are how a fileLastModified may be written to count as a time, in UTC
// where it names no zone.
var modifiedForms = []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly}

// Modified returns FileLastModified in UTC, zero = it is empty, no time of RFC 3339, or
// before the year 1.
func (r Row) Modified() time.Time {
	for _, form := range modifiedForms {
		if t, err := time.Parse(form, r.FileLastModified); err == nil {
			if t = t.UTC(); t.Year() >= 1 && t.Year() <= 9999 { // what RFC 3339 can write
				return t
			}
		}
	}
	return time.Time{}
}

func (r *Row) setSize(value string) error {
	if value == "" {
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return fault(0, RowBadSize, "the size %s is not a number of bytes; write digits only, or leave it empty", excerpt(value))
	}
	r.Size = int64(n)
	return nil
}

func (r *Row) setName(value string) error {
	if value == "" {
		return nil
	}
	if err := CheckName(value); err != nil {
		return err
	}
	r.FileName = NormalName(value)
	return nil
}

// finishDigest checks the digest, which counts when both its cells are there.
func (r *Row) finishDigest() error {
	algorithm, value := string(r.HashAlgorithm), r.HashValue
	r.HashAlgorithm, r.HashValue = "", ""
	if algorithm == "" || value == "" {
		return nil
	}
	a, err := ParseAlgorithm(algorithm)
	if err != nil {
		return err
	}
	digest, err := a.CheckDigest(value)
	if err != nil {
		return err
	}
	r.HashAlgorithm, r.HashValue = a, digest
	return nil
}

func (r *Row) setNameFromURL() error {
	u, err := parseURL(r.FileURL, true) // checked when it was set
	if err != nil {
		return err
	}
	name := nameFromURL(u)
	if name == "" {
		return fault(0, RowBadName, "there is no file name and the URL's path ends in none; fill in %s", FileName)
	}
	return r.setName(name)
}

// decode undoes the two escapes of a manifest in one pass.
func decode(cell string) string { return unescaper.Replace(cell) }

var unescaper = strings.NewReplacer("%20", " ", "%7c", "|", "%7C", "|")
