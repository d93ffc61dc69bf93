package app

import "github.com/accession-ingest/accession/domain"

// FileProgress tells how far the files of a batch are: by number, and by bytes as
// far as sizes are known.
type FileProgress struct {
	Listed     int `json:"listed"`
	Downloaded int `json:"downloaded"`
	Processed  int `json:"processed"`
	GivenUp    int `json:"given_up"`
	Skipped    int `json:"skipped"`

	BytesListed     int64 `json:"bytes_listed"`
	BytesDownloaded int64 `json:"bytes_downloaded"`
	BytesProcessed  int64 `json:"bytes_processed"`

	// Begun is when the first download began, Last when a file moved last; zero
	// before.
	Begun domain.Time `json:"begun,omitzero"`
	Last  domain.Time `json:"last,omitzero"`
}

// Done counts the steps that are behind the files, of [FileProgress.Steps]: each is
// downloaded, then processed.
func (f FileProgress) Done() int {
	return min(f.Downloaded+f.Processed+2*f.GivenUp+2*f.Skipped, f.Steps())
}

// Steps counts the steps that there are.
func (f FileProgress) Steps() int { return 2 * f.Listed }

// countFile takes a file's event in. Its cost does not depend on how many files
// there are; only those that are not downloaded yet are remembered.
func (w *watcher) countFile(r domain.Recorded, m domain.FileMove) {
	f, hash := &w.p.Files, domain.FileHash(r.Aggregate.ID)
	f.Last = r.Time
	if m.To == domain.FileDownloading && f.Begun.IsZero() {
		f.Begun = r.Time
	}
	before, known := w.sizes[hash]
	if !known {
		before = m.Size // downloaded: it does not change any more
	}
	if m.From != domain.FileNone {
		f.add(m.From, before, -1)
	}
	f.add(m.To, m.Size, +1)
	if downloaded(m.To) {
		delete(w.sizes, hash)
	} else {
		w.sizes[hash] = m.Size
	}
}

// add counts one file in (+1) or out (-1).
func (f *FileProgress) add(state domain.FileState, size int64, n int) {
	f.Listed += n
	f.BytesListed += int64(n) * size
	switch state {
	case domain.FileIgnore, domain.FileAbandoned:
		f.GivenUp += n
	case domain.FileSkipped:
		f.Skipped += n
	case domain.FileProcessed:
		f.Processed += n
		f.BytesProcessed += int64(n) * size
	}
	if downloaded(state) && state != domain.FileSkipped && state != domain.FileAbandoned {
		f.Downloaded += n
		f.BytesDownloaded += int64(n) * size
	}
}

// downloaded reports whether a file in the state is, or was, in its place.
func downloaded(s domain.FileState) bool {
	switch s {
	case domain.FileDownloaded, domain.FileSkipped, domain.FileReady, domain.FileProcessing,
		domain.FileProcessed, domain.FileProcessingFailed, domain.FileAbandoned:
		return true
	default:
		return false
	}
}
