package manifest

import (
	"errors"
	"strings"
)

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
