package intake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/unpack"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/domain/metadata"
)

// checkm is the extension of manifests.
const checkm = ".checkm"

// containers are the endings of containers.
var containers = []string{".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tbz", ".tb2", ".tar.zst", ".tzst", ".tar.zstd"}

// How many bytes of a payload say what it is.
const (
	headBytes = 64 << 10 // if it is a manifest, or a metadata file
	packBytes = 1 << 20  // if it is a container: the first block of a compressed one
)

// nameOf returns the name of a payload in small letters.
func nameOf(payload string, local bool) string {
	if u, err := url.Parse(payload); !local && err == nil {
		payload = path.Base(u.Path)
	}
	return strings.ToLower(payload)
}

// undecided are endings of URLs whose content may be anything, beside none and a number.
var undecided = []string{checkm, ".bin", ".dat"}

// Named returns the type that the name of a payload says, "" = its content must say it, as that
// of each local file that is not named as a container.
func Named(payload string, local bool) domain.SubmissionType {
	name := nameOf(payload, local)
	switch {
	case slices.ContainsFunc(containers, func(end string) bool { return strings.HasSuffix(name, end) }):
		return domain.TypeContainer
	case local, strings.Trim(path.Ext(name), ".0123456789") == "", slices.Contains(undecided, path.Ext(name)):
		return ""
	}
	return domain.TypeFile
}

// Look returns the type of what is behind a URL, by its first bytes, or what is wrong and what to
// do. Only those are fetched, under the policy of the profile.
func Look(ctx context.Context, client *fetch.Client, payload string, p profile.Profile) (t domain.SubmissionType, hint string, err error) {
	policy, err := fetch.PolicyOf(p.Fetch.Allow, time.Duration(p.Fetch.Timeout), int64(p.Fetch.MinRate))
	if err != nil {
		return "", "", err
	}
	body, err := client.With(policy).First(ctx, payload, packBytes)
	if err == nil {
		defer body.Close()
		t, hint, err = Guess(payload, false, body, p.Formats()...)
	}
	if asked, is := errors.AsType[*fetch.Error](err); is {
		types := make([]string, len(domain.SubmissionTypes))
		for i, t := range domain.SubmissionTypes {
			types[i] = string(t)
		}
		return "", "say with --type what it is: " + strings.Join(types, ", "), fmt.Errorf("what is behind the URL cannot be found out: %w", asked)
	}
	return t, hint, err
}

// Guess returns the type that the content of a payload says, or what is wrong and what to do. A
// compressed file is a container if a tar begins in it; a metadata file is one of the formats.
func Guess(payload string, local bool, content io.Reader, formats ...metadata.Format) (t domain.SubmissionType, hint string, err error) {
	name, from := nameOf(payload, local), bufio.NewReaderSize(io.LimitReader(content, packBytes), headBytes)
	head, err := from.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	kind, err := manifest.Detect(head)
	if err != nil {
		return "", "correct the manifest, or say with --type what it is", err
	}
	t = domain.SubmissionType(kind)
	switch {
	case t == domain.TypeFile && strings.HasSuffix(name, checkm):
		if !local {
			payload = fetch.Redact(payload)
		}
		return "", "correct it, or say with --type " + string(domain.TypeFile) + " that it is to be stored as it is",
			fmt.Errorf("%s is named as a manifest and does not begin as one, with #%%checkm", payload)
	case t == domain.TypeFile && begins(head, formats):
		return domain.TypeMetadata, "", nil
	case t == domain.TypeFile && unpack.Packed(name, from):
		return domain.TypeContainer, "", nil
	}
	return t, "", nil
}
