// Package profiles holds the profiles that come with Accession: demo.yaml for the
// demonstration, and reference.yaml, which explains every field.
package profiles

import _ "embed"

// Demo is the profile of the demonstration's collection. It allows requests to
// this machine's own address, where the demonstration serves its sample deposits.
//
//go:embed demo.yaml
var Demo []byte

// Reference is the profile that explains every field, and has its default.
//
//go:embed reference.yaml
var Reference []byte
