package store

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// KeepUpload stores an uploaded payload and gives the URL under which it can be
// deposited. The same bytes under the same name give the same URL. The name is
// one part, without slashes.
func (s *Store) KeepUpload(ctx context.Context, name string, r io.Reader) (string, Blob, error) {
	if err := CheckName(name); err != nil {
		return "", Blob{}, err
	}
	if strings.Contains(name, "/") {
		return "", Blob{}, &Error{Code: CodeBadName, Op: "keep upload", Key: name, Hint: "send the name of the file without its directory"}
	}
	tmp := newTmp()
	got, err := s.write(ctx, tmp, r, false, nil)
	if err != nil {
		return "", Blob{}, wrap("keep upload", name, err)
	}
	got.Key = "uploads/" + got.SHA256[:2] + "/" + got.SHA256 + "/" + encodeSegment(name)
	// What is there already has the same bytes: the key tells their digest.
	if err := s.place(ctx, tmp, got.Key, false, nil); err != nil {
		return "", Blob{}, wrap("keep upload", got.Key, err)
	}
	return URL(got.Key), got, nil
}

// KeepManifest stores the copy of a manifest from which a batch is listed.
func (s *Store) KeepManifest(ctx context.Context, batch domain.BatchID, data []byte) (Blob, error) {
	if _, err := domain.ParseBatchID(string(batch)); err != nil {
		return Blob{}, &Error{Code: CodeBadKey, Op: "keep manifest", Key: string(batch), Err: err}
	}
	key := "manifests/" + string(batch) + "/" + hexSum(string(data)) + ".checkm"
	return s.PutIfAbsent(ctx, key, bytes.NewReader(data))
}
