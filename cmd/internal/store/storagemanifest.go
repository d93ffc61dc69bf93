package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/accession-ingest/accession/domain"
)

// FileKind says where a file of an object comes from.
type FileKind string

// The kinds of file.
const (
	KindProducer FileKind = "producer" // the depositor sent it
	KindSystem   FileKind = "system"   // Accession made it
)

// maxManifest bounds the memory that reading a storage manifest takes, in bytes.
const maxManifest = 256 << 20

// StorageManifest lists what a version of an object is made of. Its presence
// makes the version exist.
type StorageManifest struct {
	Object   string         `json:"object_id"`
	Version  int            `json:"version"`
	Job      domain.JobID   `json:"job_id"`
	Batch    domain.BatchID `json:"batch_id"`
	Created  domain.Time    `json:"created"`
	LocalIDs []string       `json:"local_ids"`
	Files    []StoredFile   `json:"files"` // ordered by kind, then name
	Bytes    int64          `json:"total_bytes"`
	// Base is the version that this one updates, 0 = none.
	Base int `json:"base_version,omitempty"`
	// Deposit describes the version, so that the inventory can be made again from the
	// store; nil in a manifest of an older program.
	Deposit *Deposit `json:"deposit,omitempty"`
}

// Deposit says whose a version is, and what it is called.
type Deposit struct {
	Owner       string `json:"owner"`
	Collection  string `json:"collection"`
	ProfileName string `json:"profile_name"`
	Submitter   string `json:"submitter"`
	ErcWho      string `json:"erc_who"`
	ErcWhat     string `json:"erc_what"`
	ErcWhen     string `json:"erc_when"`
}

// StoredFile is one file of a version.
type StoredFile struct {
	Kind     FileKind `json:"kind"`
	Name     string   `json:"name"`
	Key      string   `json:"key"` // where its bytes are in the store
	Size     int64    `json:"size"`
	SHA256   string   `json:"sha256"`
	MimeType string   `json:"mime_type"`
}

// Encode returns the bytes of the manifest and their SHA-256. Equal manifests have
// equal bytes.
func (m StorageManifest) Encode() (data []byte, sha string, err error) {
	m.Files = slices.Clone(m.Files)
	slices.SortFunc(m.Files, func(a, b StoredFile) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if m.LocalIDs == nil {
		m.LocalIDs = []string{}
	}
	if m.Files == nil {
		m.Files = []StoredFile{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, "", fmt.Errorf("encode storage manifest of %s: %w", m.Object, err)
	}
	return b.Bytes(), hexSum(b.Bytes()), nil
}

// ReadManifest returns a storage manifest and its SHA-256. CodeNotFound: the version
// does not exist.
func (s *Store) ReadManifest(ctx context.Context, key string) (StorageManifest, string, error) {
	data, err := s.manifest(ctx, key)
	if err != nil {
		return StorageManifest{}, "", err
	}
	var m StorageManifest
	if err := json.Unmarshal(data, &m); err != nil { // also one that was cut
		return StorageManifest{}, "", &Error{Code: CodeMismatch, Op: "read manifest", Key: key,
			Hint: "it is not a storage manifest: restore it from a copy of the store", Err: err}
	}
	return m, hexSum(data), nil
}

// ManifestBytes returns the bytes of a storage manifest whose SHA-256 is known. CodeMismatch: it
// has another one.
func (s *Store) ManifestBytes(ctx context.Context, key, sha string) ([]byte, error) {
	data, err := s.manifest(ctx, key)
	if err == nil && hexSum(data) != sha {
		err = &Error{Code: CodeMismatch, Op: "read manifest", Key: key, Hint: "its SHA-256 is " + hexSum(data) + " and was " + sha + ": restore it from a copy of the store"}
	}
	return data, err
}

func (s *Store) manifest(ctx context.Context, key string) ([]byte, error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	return data, wrap("read manifest", key, err)
}

// same reports whether two manifests describe the same content of the same job; keys and
// deposit may differ.
func (m StorageManifest) same(o StorageManifest) bool {
	a, _, errA := m.content().Encode()
	b, _, errB := o.content().Encode()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// content returns the manifest without what may change between two attempts.
func (m StorageManifest) content() StorageManifest {
	m.Deposit = nil
	m.Files = slices.Clone(m.Files)
	for i := range m.Files {
		m.Files[i].Key = ""
	}
	return m
}
