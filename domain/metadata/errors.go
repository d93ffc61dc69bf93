package metadata

import (
	"fmt"
	"unicode/utf8"
)

// Codes of errors: the file as a whole is refused.
const (
	Malformed      = "metadata_malformed"        // it is no well-formed XML with namespaces
	NotUTF8        = "metadata_not_utf8"         // its encoding is another one
	Doctype        = "metadata_doctype"          // it has a document type declaration, or another one
	Entity         = "metadata_entity"           // it uses an entity other than the five of XML
	Outside        = "metadata_outside"          // it includes another document, or has a processing instruction
	TooLarge       = "metadata_too_large"        // more bytes than Limits.MaxBytes
	TextTooLong    = "metadata_text_too_long"    // a tag or text of more than MaxText bytes
	TooDeep        = "metadata_too_deep"         // elements nested more than MaxDepth deep
	TooMany        = "metadata_too_many"         // more than MaxElements elements, or MaxAttributes attributes of one
	UnknownRoot    = "metadata_unknown_root"     // no format has its root element
	NoRecords      = "metadata_no_records"       // it has no record
	TooManyRecords = "metadata_too_many_records" // more records than Limits.MaxRecords
)

// Error is what is wrong with a file.
type Error struct {
	Line    int    // counted from 1
	Code    string // one of the codes of this package
	Message string // what is wrong and what to do, for the depositor
}

// Error returns the line and the message.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

func fault(line int, code, format string, args ...any) *Error {
	return &Error{Line: line, Code: code, Message: fmt.Sprintf(format, args...)}
}

// excerpt quotes a depositor's text for a message: escaped, so that it cannot control a
// terminal, and short.
func excerpt(s string) string { return fmt.Sprintf("%q", short(s, 100)) }

// short cuts a text to about so many bytes.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
