package manifest

import (
	"errors"
	"strings"
)

// Algorithm is a digest algorithm, in the one spelling that is used inside:
// lower case without a dash.
type Algorithm string

// The algorithms that a manifest may name.
const (
	Adler32 Algorithm = "adler32"
	CRC32   Algorithm = "crc32"
	MD5     Algorithm = "md5"
	SHA1    Algorithm = "sha1"
	SHA256  Algorithm = "sha256"
	SHA384  Algorithm = "sha384"
	SHA512  Algorithm = "sha512"
)

// Algorithms returns all algorithms, weakest first.
func Algorithms() []Algorithm {
	return []Algorithm{Adler32, CRC32, MD5, SHA1, SHA256, SHA384, SHA512}
}

// ParseAlgorithm reads an algorithm's name in any case, with or without the
// dash (SHA-256, sha256, CRC-32). The error is an [Error] with code
// [RowUnknownAlgorithm].
func ParseAlgorithm(name string) (Algorithm, error) {
	bare := strings.Replace(strings.ToLower(name), "-", "", 1)
	if a := Algorithm(bare); a.HexLength() > 0 {
		return a, nil
	}
	return "", fault(0, RowUnknownAlgorithm,
		"the digest algorithm %s is not known; use adler32, crc32, md5, sha1, sha256, sha384 or sha512", excerpt(name))
}

// HexLength returns how many hexadecimal digits a digest has, 0 for an unknown
// algorithm.
func (a Algorithm) HexLength() int { return hexLength[a] }

var hexLength = map[Algorithm]int{Adler32: 8, CRC32: 8, MD5: 32, SHA1: 40, SHA256: 64, SHA384: 96, SHA512: 128}

// CheckDigest returns the digest in lower case. The error is an [Error] with
// code [RowDigestNotHex] or [RowDigestLength].
func (a Algorithm) CheckDigest(value string) (string, error) {
	if strings.Trim(value, "0123456789abcdefABCDEF") != "" {
		return "", fault(0, RowDigestNotHex, "the digest %s is not hexadecimal; use the digits 0-9 and a-f only", excerpt(value))
	}
	if len(value) != a.HexLength() {
		return "", fault(0, RowDigestLength,
			"the digest has %d digits but %s has %d; check that algorithm and value belong together",
			len(value), a, a.HexLength())
	}
	return strings.ToLower(value), nil
}

// ParseDigest parses ALGORITHM:HEX.
func ParseDigest(s string) (algorithm, value string, err error) {
	name, hex, ok := strings.Cut(s, ":")
	if !ok {
		return "", "", errors.New("write ALGORITHM:HEX, such as sha256:9f86d0…")
	}
	a, err := ParseAlgorithm(name)
	if err != nil {
		return "", "", err
	}
	value, err = a.CheckDigest(hex)
	return string(a), value, err
}
