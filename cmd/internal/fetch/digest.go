package fetch

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"

	"github.com/accession-ingest/accession/domain/manifest"
)

// Weak digests find accidents of transfer, which is what depositors use them for;
// what is kept is always known by its SHA-256.
var hashes = map[manifest.Algorithm]func() hash.Hash{
	manifest.Adler32: func() hash.Hash { return adler32.New() },
	manifest.CRC32:   func() hash.Hash { return crc32.NewIEEE() },
	manifest.MD5:     md5.New,
	manifest.SHA1:    sha1.New,
	manifest.SHA256:  sha256.New,
	manifest.SHA384:  sha512.New384,
	manifest.SHA512:  sha512.New,
}

// Hasher computes several digests of the bytes that are written to it.
type Hasher struct {
	sums map[manifest.Algorithm]hash.Hash
	n    int64
}

// NewHasher returns a Hasher of SHA-256 and the given algorithms, in manifest's spelling.
func NewHasher(algorithms ...manifest.Algorithm) (*Hasher, error) {
	h := &Hasher{sums: map[manifest.Algorithm]hash.Hash{manifest.SHA256: sha256.New()}}
	for _, a := range algorithms {
		open, ok := hashes[a]
		if !ok {
			return nil, fmt.Errorf("fetch: the digest algorithm %q is not known; use one of %v", a, manifest.Algorithms())
		}
		h.sums[a] = open()
	}
	return h, nil
}

// Write adds bytes; it never fails.
func (h *Hasher) Write(p []byte) (int, error) {
	for _, s := range h.sums {
		s.Write(p) // a hash never fails
	}
	h.n += int64(len(p))
	return len(p), nil
}

// Bytes returns how many bytes were written.
func (h *Hasher) Bytes() int64 { return h.n }

// Digests returns the digests of the bytes so far, in lower-case hexadecimal.
func (h *Hasher) Digests() map[manifest.Algorithm]string {
	out := make(map[manifest.Algorithm]string, len(h.sums))
	for a, s := range h.sums {
		out[a] = hex.EncodeToString(s.Sum(nil))
	}
	return out
}
