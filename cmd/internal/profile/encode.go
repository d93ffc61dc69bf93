package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// MarshalJSON encodes the fields under the names and in the units that files use.
func (p Profile) MarshalJSON() ([]byte, error) {
	data, err := p.YAML()
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	return json.Marshal(fields)
}
