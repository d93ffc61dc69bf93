package intake

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// checkm is the extension of manifests.
const checkm = ".checkm"

// Guess returns the type of a payload, or what is wrong and what to do. file is that of a
// local one, whose head names its type if it is a manifest; nil = the payload is a URL, and
// is not read before the deposit is accepted, so that the type of a manifest must be given.
func Guess(payload string, file io.Reader) (t domain.SubmissionType, hint string, err error) {
	name := payload
	if u, err := url.Parse(payload); file == nil && err == nil {
		name = path.Base(u.Path)
	}
	name = strings.ToLower(name)
	manifests := strings.HasSuffix(name, checkm)
	switch {
	case slices.ContainsFunc([]string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"}, func(end string) bool { return strings.HasSuffix(name, end) }):
		return domain.TypeContainer, "", nil
	case file == nil && manifests:
		types := []domain.SubmissionType{domain.TypeObjectManifest, domain.TypeBatchManifest, domain.TypeContainerBatchManifest, domain.TypeFileBatchManifest}
		return "", fmt.Sprintf("say which with --type: %s, %s, %s, %s", types[0], types[1], types[2], types[3]), errors.New("a manifest behind a URL can be of several types")
	case file == nil:
		return domain.TypeFile, "", nil
	}
	head, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err != nil {
		return "", "", err
	}
	kind, err := manifest.Detect(head)
	if err != nil {
		return "", "correct the manifest, or say with --type what it is", err
	}
	if t = domain.SubmissionType(kind); t == domain.TypeFile && manifests {
		return "", "correct it, or say with --type " + string(domain.TypeFile) + " that it is to be stored as it is",
			fmt.Errorf("%s is named as a manifest and does not begin as one, with #%%checkm", payload)
	}
	return t, "", nil
}
