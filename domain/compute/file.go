package compute

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
)

// Texts with which keys and inputs of entries about files begin. No caller may request work
// under such a key.
const (
	filePrefix  = "file/"
	inputPrefix = "accession:file/"
)

// CodeFileMoved is the reason of an entry whose file is not in the state any more in which it
// was requested: the file has what became of it.
const CodeFileMoved domain.Code = "file_moved"

// Attempt is an attempt at a file: the entry of the compute queue with its key stands for it.
type Attempt struct {
	Hash   domain.FileHash
	Number int // as the file counts them when it is begun, from 1
}

// NextAttempt returns the attempt that is made at a file that is READY.
func NextAttempt(f domain.File) Attempt { return Attempt{f.Hash, f.ProcessingAttempts + 1} }

// Key returns the key of the entry of the attempt.
func (a Attempt) Key() string { return fmt.Sprintf("%s%s/%d", filePrefix, a.Hash, a.Number) }

// Input returns what the entry has in place of the URL of its input: the content is where
// this service has downloaded it.
func (a Attempt) Input() string { return inputPrefix + string(a.Hash) }

// AttemptOf returns the attempt at a file for which an entry stands, if it stands for one.
func AttemptOf(key string) (Attempt, bool) {
	hash, number, ok := strings.Cut(strings.TrimPrefix(key, filePrefix), "/")
	h, herr := domain.ParseFileHash(hash)
	n, nerr := strconv.Atoi(number)
	a := Attempt{h, n}
	return a, ok && herr == nil && nerr == nil && n > 0 && a.Key() == key
}

// Reserved reports whether a key is one under which only the service itself requests work.
func Reserved(key string) bool {
	return strings.HasPrefix(key, filePrefix) || strings.HasPrefix(key, stepPrefix)
}

// Open reports whether the attempt has begun and not ended.
func (a Attempt) Open(f domain.File) bool {
	return f.State == domain.FileProcessing && f.ProcessingAttempts == a.Number
}

// Waits reports whether the attempt is the next one that is made at a file.
func (a Attempt) Waits(f domain.File) bool { return f.State == domain.FileReady && NextAttempt(f) == a }

// EndWith returns the command that ends the claim of an entry about a file whose attempt is
// not open: the second half of what its worker has left, or could not begin. The file is the
// authority: why counts where the file does not say it.
func (e Entry) EndWith(a Attempt, f domain.File, why domain.Reason) Command {
	switch {
	case a.Waits(f):
		return Return{Reason: why, Uncounted: true}
	case f.State == domain.FileProcessed && f.Output != nil && f.Output.Key == string(e.ID):
		return Complete{Result: entry.Result{SHA256: f.Output.SHA256, Size: f.Output.Size}}
	case (f.State == domain.FileProcessingFailed || f.State == domain.FileAbandoned) && f.ProcessingAttempts >= a.Number && f.Reason != nil:
		why = *f.Reason
	}
	return Fail{Reason: why}
}
