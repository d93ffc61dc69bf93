package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/attempt"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
)

// source has the inputs of an entry.
type source interface {
	// inputs makes files of them in a directory, and returns their names in the order of the
	// inputs.
	inputs(ctx context.Context, dir string) ([]string, error)
}

// addresses are URLs.
type addresses struct {
	w    *Worker
	urls []string
}

// single is the file of an attempt.
type single struct{ *attempt.Attempt }

// ofJob are the files of an own step of a job.
type ofJob struct{ *attempt.Step }

func (s single) inputs(ctx context.Context, dir string) ([]string, error) {
	name := numbered(dir, 1, s.File().Spec.Path)
	return []string{name}, s.Copy(ctx, name)
}

func (s ofJob) inputs(ctx context.Context, dir string) (names []string, err error) {
	for i, f := range s.Files() {
		name := numbered(dir, i+1, f.Spec.Path)
		if err := s.Copy(ctx, f, name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (s addresses) inputs(ctx context.Context, dir string) (names []string, err error) {
	for i, from := range s.urls {
		name := numbered(dir, i+1, from)
		if err := s.w.fetchOne(ctx, from, name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// numbered returns the path of the n-th input, which was called from.
func numbered(dir string, n int, from string) string {
	return filepath.Join(dir, fmt.Sprintf("%03d-%s", n, fileName(from)))
}

func (w *Worker) fetchOne(ctx context.Context, from, name string) (err error) {
	body, _, err := w.Inputs.Get(ctx, from, fetch.GetOptions{})
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}

// fileName returns the last part of the path of a URL as a plain name.
func fileName(from string) string {
	name := "input"
	if u, err := url.Parse(from); err == nil {
		name = path.Base(u.Path)
	}
	name = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune(`/\'"$&;|<>*?()[]{}`+"`", r) {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-100):]
}
