// Command writer stores a version of an object in OCFL: writer DIRECTORY NUMBER. The second one
// has a file of its own and one of the first.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, number string) error {
	s, err := store.Open(ctx, dir)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	v := store.Version{Object: "ark:/99999/fk4x", Number: n, Layout: store.LayoutOCFL, Job: domain.NewJobID(int64(n)), Batch: domain.NewBatchID(1),
		Deposit: &store.Deposit{Submitter: "ada@example.org"}, Files: []store.File{producer("a", "a of "+number)}}
	if n == 1 {
		v.Files = append(v.Files, producer("b/c d.txt", "b of 1"))
	} else {
		m, _, _, err := s.FindManifest(ctx, v.Object, 1)
		if err != nil {
			return err
		}
		for _, f := range m.Files {
			if f.Name == "b/c d.txt" {
				v.Files, v.Base = append(v.Files, store.File{Kind: f.Kind, Name: f.Name, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType, Key: f.Key}), 1
			}
		}
	}
	if err := v.Created.UnmarshalJSON([]byte(`"2026-01-02T03:04:05.678Z"`)); err != nil {
		return err
	}
	if _, err := s.WriteVersion(ctx, v); err != nil {
		return err
	}
	if _, err := s.VerifyVersion(ctx, v.Object, n); err != nil {
		return err
	}
	return s.Close()
}

func producer(name, content string) store.File {
	f := store.SystemFile(name, "text/plain", []byte(content))
	f.Kind = store.KindProducer
	f.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte(content))), nil }
	return f
}
