// Package payload gets what a deposit names: the files and manifests behind its URLs and
// uploads, checked against what the deposit says of them.
package payload

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// Source fetches payloads.
type Source struct {
	Client          *fetch.Client
	Objects         *store.Store // has the uploads, and keeps the manifests
	Records         Records
	ManifestTimeout time.Duration // of the whole request for a manifest, 0 = that of the profile
	StepTimeout     time.Duration // of all requests for the sizes of a job's files
}

// Records has the whole URLs of payloads, and the digests of manifests.
type Records interface {
	FullURL(ctx context.Context, public string) (string, error)
	KeepDeposit(ctx context.Context, id domain.BatchID, of domain.Submission) (earlier domain.BatchID, err error)
}

// File is one file that a deposit names.
type File struct {
	Name      string
	URL       string
	Algorithm manifest.Algorithm // "" = no digest was given
	Digest    string             // lower-case hex
	Size      int64              // bytes, -1 = unknown
	MimeType  string
	Modified  domain.Time // at the source, zero = unknown
}

// Host returns the host and port that the file is requested from, "" = the object store.
func (f File) Host() string { return fetch.Host(f.URL) }

// Spec describes a file of a job, as it is discovered. The job and its name identify it.
func (f File) Spec(j domain.Job, p profile.Profile) domain.FileSpec {
	spec := domain.FileSpec{Collection: p.Collection, Profile: p.Name, Host: fetch.Host(f.URL),
		Source: string(j.ID), Path: f.Name, BatchID: j.Configuration.BatchID, JobID: j.ID,
		URL: fetch.Redact(f.URL), Size: max(f.Size, 0), Modified: f.Modified, DigestAlgorithm: string(f.Algorithm), DigestValue: f.Digest}
	if len(spec.URL) > domain.MaxFileText {
		spec.URL = "" // the manifest has it
	}
	return spec
}

// Fetched reports whether the log says in this state that a file is there.
func Fetched(s domain.FileState) bool {
	switch s {
	case domain.FileNone, domain.FileDiscovered, domain.FileDownloading, domain.FileDownloadingFailed, domain.FileIgnore:
		return false
	default:
		return true
	}
}

// Hosts returns the host of each file.
func Hosts(files []File) []string {
	hosts := make([]string, len(files))
	for i, f := range files {
		hosts[i] = f.Host()
	}
	return hosts
}

// Files lists the files of the job's object: the payload itself for files and
// containers, the rows of its manifest for an object manifest. A fault of the deposit
// is a *reason.Problem of class content.
func (s *Source) Files(ctx context.Context, p profile.Profile, j domain.Job) ([]File, error) {
	c := j.Configuration
	if c.PayloadType != domain.TypeObjectManifest {
		f, err := s.file(ctx, ofJob(c))
		if err != nil {
			return nil, err
		}
		return []File{f}, nil
	}
	m, _, err := s.objectManifest(ctx, p, j)
	if err != nil {
		return nil, err
	}
	all := make([]File, len(m.Rows))
	for i, r := range m.Rows {
		all[i] = File{Name: r.FileName, URL: r.FileURL, Algorithm: r.HashAlgorithm, Digest: r.HashValue, Size: r.Size, MimeType: r.MimeType, Modified: domain.At(r.Modified())}
	}
	return all, nil
}

// Warnings checks the payload's description, and keeps its manifest if it has one. It
// returns, in sentences, what of the manifest was not taken as it is written, and for one
// that is all of a deposit whether it was deposited before.
func (s *Source) Warnings(ctx context.Context, p profile.Profile, j domain.Job, batch func(context.Context, domain.BatchID) (eventstore.Loaded[domain.Batch], error)) ([]string, error) {
	c := j.Configuration
	if c.PayloadType != domain.TypeObjectManifest {
		_, err := s.file(ctx, ofJob(c))
		return nil, err
	}
	m, data, err := s.objectManifest(ctx, p, j)
	if err != nil {
		return nil, err
	}
	b, err := batch(ctx, c.BatchID)
	if err != nil || b.State.Type() != domain.TypeObjectManifest {
		return m.Sentences(MaxWarnings), err
	}
	sum := sha256.Sum256(data)
	return append(s.Repeated(ctx, c.BatchID, b.State.Submission, hex.EncodeToString(sum[:])), m.Sentences(MaxWarnings)...), nil
}

// MaxWarnings is how many warnings about the text of a manifest an event and a report have.
const MaxWarnings = 20

// Payload describes the payload of a submission or a job.
type Payload struct {
	URL, Name         string // the URL in its public form
	Algorithm, Digest string
	Size              int64       // 0 = unknown
	Modified          domain.Time // at the source, zero = unknown
}

func ofJob(c domain.Configuration) Payload {
	return Payload{c.PayloadURL, c.FileName, c.DigestAlgorithm, c.DigestValue, c.Size, c.FileModified}
}

// file returns the file of a payload, with the whole URL to fetch it from. The URL is
// never written into an event or a log.
func (s *Source) file(ctx context.Context, p Payload) (File, error) {
	f, err := p.file()
	if err != nil || !record.Redacted(p.URL) {
		return f, err
	}
	f.URL, err = s.Records.FullURL(ctx, p.URL)
	if _, code, temporary, known := reason.Fault(err); known && !temporary {
		err = reason.System(code, "%v", err)
	}
	return f, err
}

// file checks the description of a payload.
func (p Payload) file() (File, error) {
	f := File{URL: p.URL, Name: cmp.Or(manifest.NormalName(p.Name), manifest.PayloadName(p.URL)), Size: cmp.Or(p.Size, -1), Modified: p.Modified}
	err := manifest.CheckName(f.Name)
	if err == nil && p.Algorithm != "" && p.Digest != "" {
		if f.Algorithm, err = manifest.ParseAlgorithm(p.Algorithm); err == nil {
			f.Digest, err = f.Algorithm.CheckDigest(p.Digest)
		}
	}
	if err != nil {
		return File{}, reason.Content(domain.CodeRowFault, "%v", err)
	}
	return f, nil
}

// objectManifest reads the job's manifest from the copy that was kept. If there is no
// copy it is fetched, checked and kept, so that all later steps read the same one.
func (s *Source) objectManifest(ctx context.Context, p profile.Profile, j domain.Job) (*manifest.Manifest, []byte, error) {
	c := j.Configuration
	key := "manifests/" + string(c.BatchID) + "/" + string(j.ID) + ".checkm"
	data, err := s.Kept(ctx, key)
	if store.CodeOf(err) == store.CodeNotFound {
		if data, err = s.FetchManifest(ctx, p, ofJob(c)); err != nil {
			return nil, nil, err
		}
		if _, err := parseObject(data, p); err != nil {
			return nil, nil, err
		}
		err = s.InTime(ctx, int64(len(data)), "keep the manifest", key, func(ctx context.Context) error {
			return crash.Around("daemon/pending/keep-manifest", func() error {
				_, err := s.Objects.PutIfAbsent(ctx, key, bytes.NewReader(data))
				return err
			})
		})
		if store.CodeOf(err) == store.CodeConflict {
			data, err = s.Kept(ctx, key) // another attempt was first: its copy holds
		}
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := parseObject(data, p)
	return m, data, err
}

// parseObject parses an object manifest; any fault is a *reason.Problem.
func parseObject(data []byte, p profile.Profile) (*manifest.Manifest, error) {
	m, err := manifest.Parse(data, manifest.Limits{MaxBytes: int(p.Limits.MaxManifestBytes), MaxRows: p.Limits.MaxFiles})
	if err == nil && m.Profile != manifest.MrtIngest {
		return nil, reason.Content(domain.CodeManifestInvalid, "the manifest's profile is %s, and that of an object is %s", m.Profile, manifest.MrtIngest)
	}
	if err == nil {
		err = m.Corrupt()
	}
	if err != nil {
		return nil, reason.Content(domain.CodeManifestInvalid, "%s", reason.Bounded(err.Error()))
	}
	return m, nil
}

// FetchManifest gets a manifest into memory and checks its size and digest. It makes
// one attempt.
func (s *Source) FetchManifest(ctx context.Context, p profile.Profile, of Payload) ([]byte, error) {
	f, err := s.file(ctx, of)
	if err != nil {
		return nil, err
	}
	m, err := NewMeasure(f)
	if err != nil {
		return nil, err
	}
	b := newLeased(ctx)
	err = s.Get(ctx, p, f, io.MultiWriter(b, m), Limits{Bytes: int64(p.Limits.MaxManifestBytes), Timeout: s.ManifestTimeout})
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		return nil, reason.At(f.Host(), err)
	}
	return b.Bytes(), nil
}

// Kept reads a small object of the default store.
func (s *Source) Kept(ctx context.Context, key string) (data []byte, err error) {
	err = s.InTime(ctx, 0, "read", key, func(ctx context.Context) error {
		r, err := s.Objects.Get(ctx, key)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		b := newLeased(ctx)
		_, err = io.Copy(struct{ io.Writer }{b}, r) // not ReadFrom, which would not count
		data = b.Bytes()
		return err
	})
	return data, err
}

// Read reads an object of the default store, and has as long as its size allows.
func (s *Source) Read(ctx context.Context, key string) ([]byte, error) {
	var info store.Info
	err := s.InTime(ctx, 0, "look for", key, func(ctx context.Context) (err error) { info, err = s.Objects.Stat(ctx, key); return err })
	if err != nil {
		return nil, err
	}
	return s.read(ctx, info)
}

func (s *Source) read(ctx context.Context, info store.Info) (data []byte, err error) {
	err = s.InTime(ctx, info.Size, "read", info.Key, func(ctx context.Context) (err error) { data, err = ReadAll(ctx, s.Objects, info.Key); return err })
	return data, err
}

// Lists reads the lists of texts that are kept below a prefix of the default store, by
// their names. The listing, and each of them, has a deadline of its own.
func (s *Source) Lists(ctx context.Context, prefix string) (map[string][]string, error) {
	var kept []store.Info
	err := s.InTime(ctx, 0, "list", prefix, func(ctx context.Context) error {
		for info, err := range s.Objects.List(ctx, prefix) {
			if err != nil {
				return err
			}
			kept = append(kept, info)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make(map[string][]string, len(kept))
	for _, info := range kept {
		data, err := s.read(ctx, info)
		if err != nil {
			return nil, err
		}
		var list []string
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", info.Key, err)
		}
		all[strings.TrimSuffix(path.Base(info.Key), ".json")] = list
	}
	return all, nil
}

// ReadAll reads a small object of a store.
func ReadAll(ctx context.Context, objects *store.Store, key string) ([]byte, error) {
	r, err := objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// Measure counts and digests the bytes written to it, and compares the results with the
// deposit's description of a file.
type Measure struct {
	*fetch.Hasher
	of File
}

// NewMeasure returns a measure for the file f.
func NewMeasure(f File) (Measure, error) {
	h, err := fetch.NewHasher(cmp.Or(f.Algorithm, manifest.SHA256)) // SHA-256 in any case
	return Measure{h, f}, err
}

// Measured reads r to its end and checks it.
func Measured(r io.Reader, f File) (Measure, error) {
	m, err := NewMeasure(f)
	if err != nil {
		return m, err
	}
	if _, err := io.Copy(m, r); err != nil {
		return m, err
	}
	return m, m.Check()
}

// SHA256 returns the digest in lower-case hex.
func (m Measure) SHA256() string { return m.Digests()[manifest.SHA256] }

// Check returns a *reason.Problem of class content if the size or a digest differs.
func (m Measure) Check() error {
	f := m.of
	if f.Size >= 0 && m.Bytes() != f.Size {
		return reason.Content(reason.CodeSizeMismatch, "%s: %d bytes came, the deposit says %d; correct the one that is wrong",
			fetch.Redact(f.URL), m.Bytes(), f.Size)
	}
	if f.Algorithm == "" {
		return nil
	}
	if got := m.Digests()[f.Algorithm]; got != f.Digest {
		return reason.Content(domain.CodeDigestMismatch, "%s: the %s digest is %s, the deposit says %s; correct the one that is wrong",
			fetch.Redact(f.URL), f.Algorithm, got, f.Digest)
	}
	return nil
}
