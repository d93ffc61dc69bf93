// Package docs has what the program itself shows of its documentation.
package docs

import _ "embed"

// OutputSchema is the JSON Schema of what commands write with -o json: each command has a
// definition of its name in $defs.
//
//go:embed output.schema.json
var OutputSchema []byte
