package store

import (
	"path"

	"github.com/accession-ingest/accession/domain/manifest"
)

// maxSegmentBytes is how long a directory lets a part of a name be.
const maxSegmentBytes = manifest.MaxSegmentBytes

// CheckName says whether a file name can be stored: what the name rule of
// manifests allows, in Unicode normal form C. The error is an *Error with
// CodeBadName.
func CheckName(name string) error {
	if err := manifest.CheckName(name); err != nil {
		return &Error{Code: CodeBadName, Op: "check name", Key: name, Err: err}
	}
	if manifest.NormalName(name) != name {
		return &Error{Code: CodeBadName, Op: "check name", Key: name, Hint: "write the name in Unicode normal form C"}
	}
	return nil
}

// checkNames refuses names that cannot stand side by side: twice the same, or
// one that is the directory of another.
func checkNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if err := CheckName(n); err != nil {
			return err
		}
		if seen[n] {
			return &Error{Code: CodeBadName, Op: "check name", Key: n, Hint: "the name occurs twice in the object"}
		}
		seen[n] = true
	}
	for _, n := range names {
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			if seen[d] {
				return &Error{Code: CodeBadName, Op: "check name", Key: n, Hint: "its directory " + d + " is also the name of a file"}
			}
		}
	}
	return nil
}
