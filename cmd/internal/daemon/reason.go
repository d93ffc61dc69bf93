package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
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
	CodeStorage            domain.Code = "storage_error"           // the object store failed, or holds something else
	CodeProfileBroken      domain.Code = "profile_store_not_found" // a profile names a place that cannot be opened
)

// maxMessage bounds a reason's sentence, in bytes: it travels in events and
// stands in ZooKeeper.
const maxMessage = 2048

// faultOf returns who must act on an error, with its code, and whether the same
// request may succeed a moment later; known is false for an error that does not say.
func faultOf(err error) (class domain.Class, code domain.Code, temporary, known bool) {
	var reason interface{ Reason() domain.Reason }
	if !errors.As(err, &reason) {
		return "", "", false, false
	}
	temporary, _ = fetch.MayRetry(err)
	r := reason.Reason()
	return r.Class, r.Code, temporary, true
}

// problem is a reason on its way up as an error.
type problem struct{ domain.Reason }

// Error implements error.
func (p *problem) Error() string { return p.Message }

// contentProblem is what the depositor must correct.
func contentProblem(code domain.Code, format string, args ...any) error {
	return &problem{domain.Reason{Class: domain.ClassContent, Code: code, Message: fmt.Sprintf(format, args...)}}
}

// systemProblem is what the operators must correct.
func systemProblem(code domain.Code, format string, args ...any) error {
	return &problem{domain.Reason{Class: domain.ClassSystem, Code: code, Message: fmt.Sprintf(format, args...)}}
}

// reasonOf returns an error as a reason. The sentence begins with what was being
// done, "" = nothing to add.
func reasonOf(err error, doing string) domain.Reason {
	r := domain.Reason{Class: domain.ClassSystem, Code: CodeInternal, Message: err.Error()}
	var p *problem
	var st *store.Error
	class, code, _, known := faultOf(err)
	switch {
	case errors.As(err, &p):
		r.Class, r.Code = p.Class, p.Code // the message keeps what was wrapped around it
	case known:
		r.Class, r.Code = class, code
	case errors.As(err, &st):
		r.Code = CodeStorage
		if st.Code == store.CodeDiskFull {
			r.Code = domain.CodeSpaceShort
		}
	case errors.Is(err, context.DeadlineExceeded):
		r.Class, r.Code = domain.ClassTimeout, "timeout"
	}
	if doing != "" {
		r.Message = doing + ": " + r.Message
	}
	r.Message = bounded(r.Message)
	return r
}

// trouble is the outcome of an error of our own side. While a server is away, the work
// is released for as long as it takes; what is final fails at once; anything else,
// such as a full disk, fails when it happened too often.
func (s *steps) trouble(err error, doing string) Outcome {
	r := reasonOf(err, doing)
	var p *problem
	var away *logError
	_, _, temporary, known := faultOf(err)
	switch {
	case errors.As(err, &away), isRefused(err), errors.Is(err, eventstore.ErrConflict), errors.Is(err, eventstore.ErrUnknown),
		known && temporary && r.Class == domain.ClassSystem:
		return release(fmt.Errorf("%s: %w", doing, err))
	case errors.As(err, &p), known:
		return fail(r)
	default:
		return retry(r, fmt.Errorf("%s: %w", doing, err))
	}
}

// isRefused reports whether the rules refused a command.
func isRefused(err error) bool {
	var r *domain.Refused
	return errors.As(err, &r)
}

// bounded cuts a sentence that is too long, between characters.
func bounded(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage-len(" …")], "") + " …"
}
