package daemon

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// file is one file that a deposit names.
type file struct {
	Name      string
	URL       string
	Algorithm manifest.Algorithm // "" = no digest was given
	Digest    string             // lower-case hex
	Size      int64              // bytes, -1 = unknown
	MimeType  string
}

// files lists what the job's object is made of: one file as it came for files and
// containers, the rows of its manifest for an object manifest. What is wrong with
// the deposit comes as a problem of class content.
func (s *steps) files(ctx context.Context, t *JobTask) ([]file, error) {
	c := t.Job.Configuration
	if c.PayloadType != domain.TypeObjectManifest {
		f, err := s.payload(ctx, jobPayload(c))
		if err != nil {
			return nil, err
		}
		return []file{f}, nil
	}
	m, err := s.objectManifest(ctx, t)
	if err != nil {
		return nil, err
	}
	all := make([]file, len(m.Rows))
	for i, r := range m.Rows {
		all[i] = file{Name: r.FileName, URL: r.FileURL, Algorithm: r.HashAlgorithm, Digest: r.HashValue, Size: r.Size, MimeType: r.MimeType}
	}
	return all, nil
}

// payload is what a submission or a job says of its one file.
type payload struct {
	url, name         string // the URL in its public form
	algorithm, digest string
	size              int64 // 0 = unknown
}

func jobPayload(c domain.Configuration) payload {
	return payload{c.PayloadURL, c.FileName, c.DigestAlgorithm, c.DigestValue, c.Size}
}

// payload returns the file of a payload, with the whole URL to fetch it from. The URL is
// never written into an event or a log.
func (s *steps) payload(ctx context.Context, p payload) (file, error) {
	f, err := p.file()
	if err != nil || !record.Redacted(p.url) {
		return f, err
	}
	f.URL, err = s.cfg.Records.FullURL(ctx, p.url)
	if _, code, temporary, known := faultOf(err); known && !temporary {
		err = systemProblem(code, "%v", err)
	}
	return f, err
}

// file checks what a payload says.
func (p payload) file() (file, error) {
	f := file{URL: p.url, Name: cmp.Or(manifest.NormalName(p.name), manifest.PayloadName(p.url)), Size: cmp.Or(p.size, -1)}
	err := manifest.CheckName(f.Name)
	if err == nil && p.algorithm != "" && p.digest != "" {
		if f.Algorithm, err = manifest.ParseAlgorithm(p.algorithm); err == nil {
			f.Digest, err = f.Algorithm.CheckDigest(p.digest)
		}
	}
	if err != nil {
		return file{}, contentProblem(domain.CodeRowFault, "%v", err)
	}
	return f, nil
}

// objectManifest reads the job's manifest from the copy that was kept. The first
// time, or when it could not be had before, it is fetched, checked and kept: all
// later steps see the same one.
func (s *steps) objectManifest(ctx context.Context, t *JobTask) (*manifest.Manifest, error) {
	c := t.Job.Configuration
	key := "manifests/" + string(c.BatchID) + "/" + string(t.Job.ID) + ".checkm"
	data, err := s.kept(ctx, key)
	if store.CodeOf(err) == store.CodeNotFound {
		if data, err = s.fetchManifest(ctx, t.Log, t.Profile, jobPayload(c)); err != nil {
			return nil, err
		}
		if _, err := parseObject(data, t.Profile); err != nil {
			return nil, err
		}
		_, err = effect("pending/keep-manifest", func() (store.Blob, error) { return s.cfg.Objects.PutIfAbsent(ctx, key, bytes.NewReader(data)) })
		if store.CodeOf(err) == store.CodeConflict {
			data, err = s.kept(ctx, key) // another attempt was first: its copy holds
		}
	}
	if err != nil {
		return nil, err
	}
	return parseObject(data, t.Profile)
}

// parseObject parses an object manifest; any fault of it is a problem.
func parseObject(data []byte, p Profile) (*manifest.Manifest, error) {
	m, err := manifest.Parse(data, manifest.Limits{MaxBytes: int(p.Limits.MaxManifestBytes), MaxRows: p.Limits.MaxFiles})
	if err == nil && m.Profile != manifest.MrtIngest {
		return nil, contentProblem(domain.CodeManifestInvalid, "the manifest's profile is %s, and that of an object is %s", m.Profile, manifest.MrtIngest)
	}
	if err == nil {
		err = m.Corrupt()
	}
	if err != nil {
		return nil, contentProblem(domain.CodeManifestInvalid, "%s", bounded(err.Error()))
	}
	return m, nil
}

// fetchManifest gets a manifest into memory and checks its size and digest.
func (s *steps) fetchManifest(ctx context.Context, log *slog.Logger, p Profile, of payload) ([]byte, error) {
	f, err := s.payload(ctx, of)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = s.attempts(ctx, log, p, func() error {
		b.Reset()
		m, err := newMeasure(f)
		if err == nil {
			err = s.get(ctx, p, f, io.MultiWriter(&b, m), int64(p.Limits.MaxManifestBytes))
		}
		if err != nil {
			return err
		}
		return m.check()
	})
	return b.Bytes(), err
}

// kept reads a small object of the default store.
func (s *steps) kept(ctx context.Context, key string) ([]byte, error) {
	return readAll(ctx, s.cfg.Objects, key)
}

func readAll(ctx context.Context, objects *store.Store, key string) ([]byte, error) {
	r, err := objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// measure counts and digests what is written to it, and compares it with what
// the deposit says of a file.
type measure struct {
	*fetch.Hasher
	of file
}

func newMeasure(f file) (measure, error) {
	var also []manifest.Algorithm
	if f.Algorithm != "" {
		also = append(also, f.Algorithm)
	}
	h, err := fetch.NewHasher(also...)
	return measure{h, f}, err
}

// measured reads r to its end and checks it.
func measured(r io.Reader, f file) (measure, error) {
	m, err := newMeasure(f)
	if err != nil {
		return m, err
	}
	if _, err := io.Copy(m, r); err != nil {
		return m, err
	}
	return m, m.check()
}

// SHA256 returns the digest in lower-case hex.
func (m measure) SHA256() string { return m.Digests()[manifest.SHA256] }

// check returns a problem of class content for what differs.
func (m measure) check() error {
	f := m.of
	if f.Size >= 0 && m.Bytes() != f.Size {
		return contentProblem(CodeSizeMismatch, "%s: %d bytes came, the deposit says %d; correct the one that is wrong",
			fetch.Redact(f.URL), m.Bytes(), f.Size)
	}
	if f.Algorithm == "" {
		return nil
	}
	if got := m.Digests()[f.Algorithm]; got != f.Digest {
		return contentProblem(domain.CodeDigestMismatch, "%s: the %s digest is %s, the deposit says %s; correct the one that is wrong",
			fetch.Redact(f.URL), f.Algorithm, got, f.Digest)
	}
	return nil
}
