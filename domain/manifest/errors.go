package manifest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Codes of structural errors: the manifest as a whole is refused.
const (
	TooLarge       = "manifest_too_large"       // more bytes than Limits.MaxBytes
	TooManyRows    = "manifest_too_many_rows"   // more rows than Limits.MaxRows
	LineTooLong    = "manifest_line_too_long"   // more bytes in a line than Limits.MaxLineBytes
	NotUTF8        = "manifest_not_utf8"        // a line is not UTF-8
	BadHeader      = "manifest_header"          // a #% line that is unreadable, repeated with another value or too late
	NoProfile      = "manifest_no_profile"      // no #%profile line before the first row
	UnknownProfile = "manifest_unknown_profile" // a profile that is none of the four
	BadFields      = "manifest_fields"          // a #%fields line with missing or repeated columns
	NoRows         = "manifest_no_rows"         // nothing is listed
	NoEOF          = "manifest_no_eof"          // no #%eof: the file may have been cut off
	AfterEOF       = "manifest_after_eof"       // content after #%eof, which would be lost
)

// Codes of row faults: one row cannot be ingested.
const (
	RowTooManyCells     = "row_too_many_cells"    // more cells than columns
	RowControlCharacter = "row_control_character" // a control character in a cell
	RowBadIdentifier    = "row_bad_identifier"    // an identifier with characters that cannot be seen
	RowBadURL           = "row_bad_url"           // no URL, or one that may not be fetched
	RowBadName          = "row_bad_name"          // no name, or one that leaves the object
	RowDuplicateName    = "row_duplicate_name"    // an earlier row of the object has this name
	RowNameConflict     = "row_name_conflict"     // a name used both as file and as folder
	RowBadSize          = "row_bad_size"          // not a number of bytes
	RowUnknownAlgorithm = "row_unknown_algorithm" // not one of Algorithms
	RowDigestLength     = "row_digest_length"     // not as many digits as the algorithm gives
	RowDigestNotHex     = "row_digest_not_hex"    // not hexadecimal
)

// Codes of warnings: the manifest is taken, but not all that it says.
const (
	LineIgnored       = "manifest_line_ignored"   // a #% line that is not known
	ColumnIgnored     = "manifest_column_ignored" // a column that is not known
	LineRepeated      = "manifest_line_repeated"  // the same #% line again
	LineEnds          = "manifest_line_ends"      // lines that end in CR alone
	CharactersRemoved = "row_characters_removed"  // bidirectional or invisible characters in a text for people
	MediaTypeIgnored  = "row_media_type_ignored"  // what the column mimeType has is no media type
)

// RowUnwritable is the code of a row that [Manifest.Format] cannot write.
const RowUnwritable = "row_unwritable"

// maxErrors bounds the structural errors, and the warnings, that Parse collects: a
// reader needs no more, and a binary file has one in every line.
const maxErrors = 100

// Error is one thing wrong with a manifest.
type Error struct {
	Line    int    // counted from 1; 0 when the error is not about a line of a file
	Code    string // one of the codes of this package
	Message string // what is wrong and what to do, for the depositor
}

// Error returns the line and the message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Errors is everything found wrong with a manifest, in the order of its lines.
type Errors []*Error

// Error returns the first few errors and how many more there are.
func (es Errors) Error() string {
	const shown = 5
	var texts []string
	for _, e := range es[:min(len(es), shown)] {
		texts = append(texts, e.Error())
	}
	if more := len(es) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// Unwrap lets errors.As find the first *Error.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

func fault(line int, code, format string, args ...any) *Error {
	return &Error{Line: line, Code: code, Message: fmt.Sprintf(format, args...)}
}

// excerpt quotes a depositor's text for a message: escaped, so that it cannot
// control a terminal, and short, so that the sentence stays readable.
func excerpt(s string) string {
	const most = 100
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return fmt.Sprintf("%q", s)
}
