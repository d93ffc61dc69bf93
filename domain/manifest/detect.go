package manifest

import (
	"bufio"
	"bytes"
	"strings"
)

// Detect returns the submission type that the head of a file shows: that of the profile
// which a manifest names there. A file that does not begin as a manifest, or is empty, is
// a plain file; a damaged manifest is reported when it is read as an object manifest.
func Detect(head []byte) (submissionType string, err error) {
	lines := bufio.NewScanner(bytes.NewReader(bytes.ReplaceAll(head, []byte("\r"), []byte("\n")))) // also lines that end in CR alone
	begun := false
	for ; lines.Scan(); begun = true {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "\ufeff")
		if !begun && !strings.HasPrefix(line, "#%checkm") {
			return "file", nil
		}
		if rest, ok := strings.CutPrefix(line, "#%profile"); ok {
			p, err := ProfileOf(strings.Trim(rest, "| \t"))
			if err != nil {
				return "", err
			}
			return p.SubmissionType(), nil
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			break
		}
	}
	if !begun { // empty, or a first line without an end
		return "file", nil
	}
	return "object_manifest", nil
}
