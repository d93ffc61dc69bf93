package domain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// FileHash is a file's identity (raw_file_hash): 64 lower-case hexadecimal
// digits. It says where the file comes from, not what is in it, since the content
// is unknown when the file is discovered.
type FileHash string

// HashFile returns the identity of a file by its source and its path there. For a
// file of a job the source is the job's id and the path its file name; for a file
// of an open directory they are the listing's URL and the path below it.
//
// It is SHA-256 over both, each after its length in bytes as 8 bytes, big-endian:
// the boundary between the two is part of what is hashed.
func HashFile(source, path string) FileHash {
	return sum(identity(source, path))
}

// HashFileVersion returns the identity of one version of a remote file, so that a
// changed file is a new one: as [HashFile], followed by the size in bytes and the
// time of modification in milliseconds since 1970, 8 bytes each, big-endian. An
// unknown time counts as 0.
func HashFileVersion(source, path string, size int64, modified Time) FileHash {
	var ms int64
	if !modified.IsZero() {
		ms = modified.UnixMilli()
	}
	b := binary.BigEndian.AppendUint64(identity(source, path), uint64(size))
	return sum(binary.BigEndian.AppendUint64(b, uint64(ms)))
}

// identity returns texts, each after its length.
func identity(parts ...string) []byte {
	b := make([]byte, 0, 256)
	for _, s := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func sum(b []byte) FileHash {
	digest := sha256.Sum256(b)
	return FileHash(hex.EncodeToString(digest[:]))
}

// ParseFileHash checks that s is a file's identity.
func ParseFileHash(s string) (FileHash, error) {
	if !hexDigest(s) {
		return "", fmt.Errorf("%q is not a file's hash: want %d lower-case hexadecimal digits", s, 2*sha256.Size)
	}
	return FileHash(s), nil
}

// hexDigest reports whether s is a SHA-256 as this project writes it.
func hexDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// Aggregate names the file as an aggregate.
func (h FileHash) Aggregate() Aggregate { return Aggregate{Kind: KindFile, ID: string(h)} }
