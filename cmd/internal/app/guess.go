package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// guess tells what a payload is. A manifest says so itself; one behind a URL is not
// read before the deposit is accepted, so its type must be given.
func guess(payload string, local bool) (domain.SubmissionType, error) {
	name := payload
	if !local {
		if u, err := url.Parse(payload); err == nil {
			name = path.Base(u.Path)
		}
	}
	name = strings.ToLower(name)
	for _, end := range []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"} {
		if strings.HasSuffix(name, end) {
			return domain.TypeContainer, nil
		}
	}
	if local {
		f, err := os.Open(payload)
		if err != nil {
			return "", &Error{Kind: NotFound, What: "submit", Err: err, Hint: "give the path of a file, or a URL that starts with http:// or https://"}
		}
		defer f.Close()
		t, err := typeOf(f)
		if t == domain.TypeFile && strings.HasSuffix(name, checkm) {
			return "", &Error{Kind: Invalid, What: "submit", Err: fmt.Errorf("%s is named as a manifest and does not begin as one, with #%%checkm", payload),
				Hint: "correct it, or say with --type " + string(domain.TypeFile) + " that it is to be kept as it is"}
		}
		return t, err
	}
	if strings.HasSuffix(name, checkm) {
		return "", &Error{Kind: Invalid, What: "submit", Err: errors.New("a manifest behind a URL can be of several types"),
			Hint: "say which with --type: " + join([]domain.SubmissionType{domain.TypeObjectManifest, domain.TypeBatchManifest,
				domain.TypeContainerBatchManifest, domain.TypeFileBatchManifest})}
	}
	return domain.TypeFile, nil
}

// checkm is how names of manifests end.
const checkm = ".checkm"

// typeOf reads the head of a local file: a manifest names its profile there. What
// does not begin as a manifest, and what is empty, is a file.
func typeOf(r io.Reader) (domain.SubmissionType, error) {
	lines := bufio.NewScanner(io.LimitReader(r, 64<<10))
	begun := false
	for ; lines.Scan(); begun = true {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "\ufeff")
		if !begun && !strings.HasPrefix(line, "#%checkm") {
			return domain.TypeFile, nil
		}
		if rest, ok := strings.CutPrefix(line, "#%profile"); ok {
			p, err := manifest.ProfileOf(strings.Trim(rest, "| \t"))
			if err != nil {
				return "", &Error{Kind: Invalid, What: "submit", Err: err, Hint: "correct the manifest, or say with --type what it is"}
			}
			return domain.SubmissionType(p.SubmissionType()), nil
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			break
		}
	}
	if !begun { // empty, or a first line without an end
		return domain.TypeFile, nil
	}
	// What claims to be a manifest and is damaged is reported as such.
	return domain.TypeObjectManifest, nil
}
