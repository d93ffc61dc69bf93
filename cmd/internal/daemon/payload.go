package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/internal/crash"
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
func (s *steps) files(ctx context.Context, p Profile, t *JobTask) ([]file, error) {
	c := t.Job.Configuration
	if c.PayloadType != domain.TypeObjectManifest {
		f, err := s.payload(ctx, c.PayloadURL, c.FileName, c.DigestAlgorithm, c.DigestValue, c.Size)
		if err != nil {
			return nil, err
		}
		return []file{f}, nil
	}
	m, err := s.objectManifest(ctx, p, t)
	if err != nil {
		return nil, err
	}
	all := make([]file, len(m.Rows))
	for i, r := range m.Rows {
		all[i] = file{Name: r.FileName, URL: r.FileURL, Algorithm: r.HashAlgorithm, Digest: r.HashValue, Size: r.Size, MimeType: r.MimeType}
	}
	return all, nil
}

// payload describes what a submission or a job names by a public URL; it has the
// whole one, to fetch it from.
func (s *steps) payload(ctx context.Context, public, name, algorithm, digest string, size int64) (file, error) {
	f, err := payloadFile(public, name, algorithm, digest, size)
	if err == nil {
		f.URL, err = s.fullURL(ctx, public)
	}
	return f, err
}

// payloadFile describes what a submission or a row names.
func payloadFile(rawURL, name, algorithm, digest string, size int64) (file, error) {
	f := file{URL: rawURL, Name: manifest.NormalName(name), Size: size}
	if size == 0 {
		f.Size = -1
	}
	if f.Name == "" {
		f.Name = manifest.PayloadName(rawURL)
	}
	if err := manifest.CheckName(f.Name); err != nil {
		return file{}, contentProblem(domain.CodeRowFault, "%v", err)
	}
	if algorithm == "" || digest == "" {
		return f, nil
	}
	a, err := manifest.ParseAlgorithm(algorithm)
	if err == nil {
		f.Algorithm = a
		f.Digest, err = a.CheckDigest(digest)
	}
	if err != nil {
		return file{}, contentProblem(domain.CodeRowFault, "%v", err)
	}
	return f, nil
}

// objectManifest reads the job's manifest from the copy that was kept. The first
// time, or when it could not be had before, it is fetched, checked and kept: all
// later steps see the same one.
func (s *steps) objectManifest(ctx context.Context, p Profile, t *JobTask) (*manifest.Manifest, error) {
	j := t.Job
	key := "manifests/" + string(j.Configuration.BatchID) + "/" + string(j.ID) + ".checkm"
	data, err := s.kept(ctx, key)
	if store.CodeOf(err) == store.CodeNotFound {
		c := j.Configuration
		data, err = s.fetchManifest(ctx, t.Log, p, c.PayloadURL, c.FileName, c.DigestAlgorithm, c.DigestValue, c.Size)
		if err == nil {
			if _, err = parseObject(data, p); err != nil {
				return nil, err
			}
			crash.Point("daemon/pending/before-keep-manifest")
			_, err = s.cfg.Objects.PutIfAbsent(ctx, key, bytes.NewReader(data))
			crash.Point("daemon/pending/after-keep-manifest")
			if store.CodeOf(err) == store.CodeConflict {
				data, err = s.kept(ctx, key) // another attempt was first: its copy holds
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return parseObject(data, p)
}

// parseObject reads an object manifest; whatever is wrong with it is a problem.
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
func (s *steps) fetchManifest(ctx context.Context, log logger, p Profile, rawURL, name, algorithm, digest string, size int64) ([]byte, error) {
	f, err := s.payload(ctx, rawURL, name, algorithm, digest, size)
	if err != nil {
		return nil, err
	}
	var got []byte
	err = s.attempts(ctx, log, p, func() error {
		var b bytes.Buffer
		m, err := newMeasure(f)
		if err == nil {
			err = s.get(ctx, p, f, io.MultiWriter(&b, m), int64(p.Limits.MaxManifestBytes))
		}
		if err != nil {
			return err
		}
		got = b.Bytes()
		return m.check()
	})
	return got, err
}

// kept reads a small object of the default store.
func (s *steps) kept(ctx context.Context, key string) ([]byte, error) {
	r, err := s.cfg.Objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// hideQueries keeps the whole URLs of the rows that become jobs now, and leaves
// their public forms in the rows: a job's events are for everybody to read.
func (s *steps) hideQueries(ctx context.Context, b domain.Batch, rows []manifest.Row) error {
	if b.NextRow >= len(rows) {
		return nil
	}
	rows = rows[b.NextRow:]
	var at []int
	var full []string
	for i, r := range rows {
		if record.Revealing(r.FileURL) {
			at, full = append(at, i), append(full, r.FileURL)
		}
	}
	if len(full) == 0 {
		return nil
	}
	public, err := s.cfg.Records.KeepURLs(ctx, full)
	if err != nil {
		return fmt.Errorf("keep the URLs of the rows: %w", err)
	}
	for i, url := range public {
		rows[at[i]].FileURL = url
	}
	return nil
}

// fullURL gives the URL to fetch from. It is never written into an event or a log.
func (s *steps) fullURL(ctx context.Context, public string) (string, error) {
	if !record.Redacted(public) {
		return public, nil
	}
	full, err := s.cfg.Records.FullURL(ctx, public)
	if _, code, temporary, known := verdict(err); known && !temporary {
		return "", systemProblem(code, "%v", err)
	}
	return full, err
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

// SHA256 gives the digest in lower-case hex.
func (m measure) SHA256() string { return m.Digests()[manifest.SHA256] }

// check says what differs as a problem of class content.
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
