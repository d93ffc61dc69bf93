package config

import _ "embed"

// Sample is a file of settings that explains each of them and sets none.
//
//go:embed sample.yaml
var Sample []byte
