package daemon

import (
	"io"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// measure counts and digests what is written to it, and compares it with what
// the deposit says of a file.
type measure struct {
	*fetch.Hasher
	of file
}

func newMeasure(f file) (measure, error) {
	var also []manifest.Algorithm
	if f.Algorithm != "" {
		also = append(also, f.Algorithm)
	}
	h, err := fetch.NewHasher(also...)
	return measure{h, f}, err
}

// measured reads r to its end and checks it.
func measured(r io.Reader, f file) (measure, error) {
	m, err := newMeasure(f)
	if err != nil {
		return m, err
	}
	if _, err := io.Copy(m, r); err != nil {
		return m, err
	}
	return m, m.check()
}

// SHA256 gives the digest in lower-case hex.
func (m measure) SHA256() string { return m.Digests()[manifest.SHA256] }

// check says what differs as a problem of class content.
func (m measure) check() error {
	f := m.of
	if f.Size >= 0 && m.Bytes() != f.Size {
		return contentProblem(CodeSizeMismatch, "%s: %d bytes came, the deposit says %d; correct the one that is wrong",
			fetch.Redact(f.URL), m.Bytes(), f.Size)
	}
	if f.Algorithm == "" {
		return nil
	}
	if got := m.Digests()[f.Algorithm]; got != f.Digest {
		return contentProblem(domain.CodeDigestMismatch, "%s: the %s digest is %s, the deposit says %s; correct the one that is wrong",
			fetch.Redact(f.URL), f.Algorithm, got, f.Digest)
	}
	return nil
}
