// Package sniff finds out what a payload is of which its depositor does not say so, by its first
// bytes. Where its name says another thing it is at fault.
package sniff

import (
	"bufio"
	"errors"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/unpack"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/metadata"
)

// Bytes is how many of the first bytes of a payload say what it is: of a compressed container the
// first block.
const Bytes = 1 << 20

// headBytes of them say whether it is a manifest, or a metadata file.
const headBytes = 64 << 10

// checkm is the ending of manifests.
const checkm = ".checkm"

// containers are the endings of containers.
var containers = []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tb2", ".tar.zst", ".tzst", ".tar.zstd"}

// undecided are endings of URLs that say nothing of the content, beside none and a number.
var undecided = []string{checkm, ".bin", ".dat"}

// shown returns a payload without what may be secret: of a URL the name alone.
func shown(payload string, local bool) string {
	if u, err := url.Parse(payload); !local && err == nil {
		return path.Base(u.Path)
	}
	return payload
}

// nameOf returns the name of a payload in small letters.
func nameOf(payload string, local bool) string { return strings.ToLower(shown(payload, local)) }

// Container reports whether the name of a payload says that it is a container.
func Container(payload string, local bool) bool {
	name := nameOf(payload, local)
	return slices.ContainsFunc(containers, func(end string) bool { return strings.HasSuffix(name, end) })
}

// Telling reports whether the ending of a URL says that behind it is a file, as .pdf does: for
// where its content cannot be had.
func Telling(payload string) bool {
	end := path.Ext(nameOf(payload, false))
	return strings.Trim(end, ".0123456789") != "" && !slices.Contains(undecided, end)
}

// Metadata reports whether a file that begins so is a metadata file of one of the formats.
func Metadata(head []byte, formats []metadata.Format) bool {
	root, ok := metadata.Root(head)
	return ok && slices.ContainsFunc(formats, func(f metadata.Format) bool { return f.Root == root })
}

// Fault says what is wrong with a payload whose content is not what its name says, and what to do.
type Fault struct {
	Code       domain.Code
	Text, Hint string
}

// Error implements error.
func (f *Fault) Error() string { return f.Text }

// Type returns the type that the content of a payload says. A compressed file is a container if a
// tar begins in it, or if it is named so; a metadata file is one of the formats. The error is a
// *[Fault], or that of the reader.
func Type(payload string, local bool, content io.Reader, formats ...metadata.Format) (domain.SubmissionType, error) {
	name, from := nameOf(payload, local), bufio.NewReaderSize(io.LimitReader(content, Bytes), headBytes)
	head, err := from.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	kind, err := manifest.Detect(head)
	_, unpacked := container.Detect(head)
	named := Container(payload, local)
	switch {
	case err != nil:
		return "", &Fault{domain.CodeManifestInvalid, err.Error(), "correct the manifest, or say with --type what it is"}
	case kind != string(domain.TypeFile):
		return domain.SubmissionType(kind), nil
	case strings.HasSuffix(name, checkm):
		return "", contradicts(domain.CodeManifestInvalid, payload, local, "a manifest and does not begin as one, with #%checkm")
	case Metadata(head, formats):
		return domain.TypeMetadata, nil
	case named && unpacked != nil:
		return "", contradicts(container.CodeFormat, payload, local, "a container and does not begin as one")
	case named || unpack.Packed(name, from):
		return domain.TypeContainer, nil
	}
	return domain.TypeFile, nil
}

// contradicts returns the fault of a payload that is named as something else than it is.
func contradicts(code domain.Code, payload string, local bool, what string) error {
	return &Fault{code, shown(payload, local) + " is named as " + what, "correct it, or say with --type " + string(domain.TypeFile) + " that it is to be stored as it is"}
}
