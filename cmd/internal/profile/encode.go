package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns the profile as a file that says the same, defaults spelled out.
func (p Profile) YAML() ([]byte, error) {
	data, err := yaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return data, nil
}

// version returns the first digits of the SHA-256 of the profile, defaults spelled out.
func (p Profile) version() string {
	data, err := p.YAML()
	if err != nil {
		return ""
	}
	return SHA256(data)[:12]
}

// SHA256 returns the SHA-256 of the content of a profile, in hexadecimal.
func SHA256(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
