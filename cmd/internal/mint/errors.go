package mint

import "github.com/accession-ingest/accession/domain"

// Codes of this package's errors.
const (
	CodeMinterInvalid domain.Code = "minter_invalid" // the configured authority or shoulder cannot be used
	CodeJobIDInvalid  domain.Code = "job_id_invalid" // not an id that ZooKeeper allotted to a job
	CodeARKInvalid    domain.Code = "ark_invalid"    // not of the form ark:/NAAN/name
	CodeDOIInvalid    domain.Code = "doi_invalid"    // not of the form doi:PREFIX/name
)

// Error is the reason why a name could not be made or accepted.
type Error struct {
	Code    domain.Code // one of the Code constants
	Message string      // a sentence for people: what is wrong and the remedy
}

func (e *Error) Error() string { return e.Message }

// Reason returns the error as the reason of a failed job. A wrong identifier is
// the depositor's to correct, wrong settings the operators'; trying again never helps.
func (e *Error) Reason() domain.Reason {
	class := domain.ClassSystem
	if e.Code == CodeARKInvalid || e.Code == CodeDOIInvalid {
		class = domain.ClassContent
	}
	return domain.Reason{Class: class, Code: e.Code, Message: e.Message}
}
