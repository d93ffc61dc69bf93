package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/accession-ingest/accession/domain"
)

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// merged gives the ids of both lists, sorted.
func merged(a, b []domain.JobID) []domain.JobID {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return all
}
