// Package reason makes the reasons of failed and waiting jobs out of errors.
package reason

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// Codes of the steps' reasons, besides those of the rules and those of
// the packages that do the work (fetch, mint, notify, record, store).
const (
	CodePanic              domain.Code = "internal_panic"          // a defect in the program
	CodeInternal           domain.Code = "internal_error"          // anything that has no code of its own
	CodeSizeMismatch       domain.Code = "size_mismatch"           // not as many bytes as were announced
	CodeFileTooLarge       domain.Code = "file_too_large"          // more bytes than the profile allows
	CodeUploadMissing      domain.Code = "upload_missing"          // the payload is no longer in the object store
	CodeFilesMissing       domain.Code = "working_files_missing"   // what was downloaded is gone
	CodeIdentifierMismatch domain.Code = "identifier_mismatch"     // identifiers lead to different objects
	CodeIdentifierMissing  domain.Code = "identifier_missing"      // an update that names no object
	CodeIdentifierReserved domain.Code = "identifier_reserved"     // a name that only jobs are given
	CodeStorage            domain.Code = "storage_error"           // the object store failed, or holds something else
	CodeProfileBroken      domain.Code = "profile_store_not_found" // a profile names a directory or store that cannot be opened
)

// maxMessage bounds a reason's sentence, in bytes, because events and ZooKeeper nodes
// carry it.
const maxMessage = 2048

// Fault returns the class of an error (who must act), its code, and whether the same
// request may soon succeed; known is false for an error without these.
func Fault(err error) (class domain.Class, code domain.Code, temporary, known bool) {
	r, known := given(err)
	if !known {
		return "", "", false, false
	}
	temporary, _ = fetch.MayRetry(err)
	return r.Class, r.Code, temporary, true
}

// given returns the reason that an error has of itself.
func given(err error) (r domain.Reason, known bool) {
	var of interface{ Reason() domain.Reason }
	if !errors.As(err, &of) {
		return r, false
	}
	return of.Reason(), true
}

// Problem is a reason as an error.
type Problem struct{ domain.Reason }

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Content returns a problem that the depositor must correct.
func Content(code domain.Code, format string, args ...any) error {
	return &Problem{domain.Reason{Class: domain.ClassContent, Code: code, Message: fmt.Sprintf(format, args...)}}
}

// System returns a problem that the operators must correct.
func System(code domain.Code, format string, args ...any) error {
	return &Problem{domain.Reason{Class: domain.ClassSystem, Code: code, Message: fmt.Sprintf(format, args...)}}
}

// At adds the server to a problem that the depositor must correct and that names none. It
// returns err.
func At(host string, err error) error {
	var p *Problem
	if errors.As(err, &p) && p.Class == domain.ClassContent && p.Host == "" {
		p.Host = host
	}
	return err
}

// Of returns an error as a reason. The sentence begins with what was being
// done, "" = nothing to add.
func Of(err error, doing string) domain.Reason {
	r := domain.Reason{Class: domain.ClassSystem, Code: CodeInternal, Message: err.Error()}
	var p *Problem
	var st *store.Error
	own, known := given(err)
	switch {
	case errors.As(err, &p):
		r.Class, r.Code, r.Host = p.Class, p.Code, p.Host // the message keeps what was wrapped around it
	case known:
		r.Class, r.Code, r.Host = own.Class, own.Code, own.Host
	case errors.As(err, &st):
		r.Code = CodeStorage
		if st.Code == store.CodeDiskFull {
			r.Code = domain.CodeSpaceShort
		}
	case errors.Is(err, context.DeadlineExceeded):
		r.Class, r.Code = domain.ClassTimeout, "timeout"
	}
	r.Message = public(r.Message, err)
	if doing != "" {
		r.Message = doing + ": " + r.Message
	}
	r.Message = Bounded(r.Message)
	return r
}

// StorageIll reports whether an object store or a working directory is full or does not
// work.
func StorageIll(err error) bool {
	var at *store.Error
	return errors.As(err, &at) && (at.Code == store.CodeDiskFull || at.Code == store.CodeBroken || at.Code == store.CodeCancelled)
}

// OfTheObject reports whether an object store works, and cannot keep what it is given: it
// has other bytes, or takes no such name.
func OfTheObject(err error) bool {
	var at *store.Error
	if !errors.As(err, &at) {
		return false
	}
	switch at.Code {
	case store.CodeConflict, store.CodeMismatch, store.CodeBadKey, store.CodeBadName:
		return true
	}
	return false
}

// public returns the text of an error without the paths and addresses of this installation:
// depositors read it, and the log has it.
func public(s string, err error) string {
	var st *store.Error
	if errors.As(err, &st) {
		s = strings.Replace(s, st.Error(), st.Public(), 1)
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		s = strings.ReplaceAll(s, path.Path, "…")
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		s = strings.NewReplacer(link.Old, "…", link.New, "…").Replace(s)
	}
	return s
}

// Bounded cuts a sentence that is too long, between characters.
func Bounded(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage-len(" …")], "") + " …"
}
