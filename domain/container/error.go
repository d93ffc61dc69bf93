package container

import (
	"fmt"
	"unicode/utf8"

	"github.com/accession-ingest/accession/domain"
)

// Codes of what is wrong with a container. The depositor must act in each case.
const (
	CodeFormat     domain.Code = "container_format"     // not a format that is unpacked
	CodeUnreadable domain.Code = "container_unreadable" // cut off or damaged
	CodeChecksum   domain.Code = "container_checksum"   // a checksum of the container's own differs
	CodeEncrypted  domain.Code = "container_encrypted"  // a member cannot be read without a password
	CodeMethod     domain.Code = "container_method"     // a member is compressed by an unknown method
	CodeOverlap    domain.Code = "container_overlap"    // two members share bytes
	CodeEmpty      domain.Code = "container_empty"      // no member is a file
	CodeName       domain.Code = "container_name"       // a name that leaves the object, or is none
	CodeLink       domain.Code = "container_link"       // a symbolic or hard link
	CodeSpecial    domain.Code = "container_special"    // a device, a pipe or the like
	CodeDuplicate  domain.Code = "container_duplicate"  // two members with one name
	CodeConflict   domain.Code = "container_conflict"   // a file where a folder is needed
	CodeFiles      domain.Code = "container_files"      // too many files
	CodeFileBytes  domain.Code = "container_file_bytes" // a file is too large
	CodeBytes      domain.Code = "container_bytes"      // all files together are too large
	CodeRatio      domain.Code = "container_ratio"      // too much comes of too few bytes
	CodeDepth      domain.Code = "container_depth"      // too many folders in each other
)

// Error is what is wrong with a container. The message names the member, if it is about one,
// and says what to do.
type Error struct {
	Code    domain.Code
	Member  string // name as the container has it, "" = it is about the whole
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Reason returns the error as the reason of a failure.
func (e *Error) Reason() domain.Reason {
	return domain.Reason{Class: domain.ClassContent, Code: e.Code, Message: e.Message}
}

// Fault returns the error about a member, "" = about the whole. The message begins with
// the quoted name, or with what is given.
func Fault(code domain.Code, member, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	if member != "" {
		msg = Quote(member) + " " + msg
	}
	return &Error{Code: code, Member: member, Message: msg}
}

// maxQuoted is how many bytes of a name a message shows.
const maxQuoted = 200

// Quote quotes a name of a depositor for a message: escaped, so that it cannot control a
// terminal, and short.
func Quote(name string) string {
	if len(name) > maxQuoted {
		cut := maxQuoted
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	return fmt.Sprintf("%q", name)
}
