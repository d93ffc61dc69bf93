package store

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestChecked: what is read is as it was stored, or the end of it is an error.
// Shows: P13
func TestChecked(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		good, err := s.Put(t.Context(), "k", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			want Blob
			code Code
			at   string
		}{
			{good, "", ""},
			{Blob{"k", 7, hexSum("another")}, CodeMismatch, "end"},
			{Blob{"k", 8, good.SHA256}, CodeMismatch, "begin"},
			{Blob{"gone", 7, good.SHA256}, CodeMismatch, "begin"},
		} {
			r, err := s.GetChecked(t.Context(), c.want)
			at := "begin"
			if err == nil {
				at = "end"
				var data []byte
				data, err = io.ReadAll(r)
				if err == nil && string(data) != "content" {
					t.Errorf("%q", data)
				}
				if _, again := r.Read(make([]byte, 1)); err != nil && again == nil || err == nil && !errors.Is(again, io.EOF) {
					t.Errorf("%+v: after its end: %v", c.want, again)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if mustCode(t, err, c.code); c.code != "" && at != c.at {
				t.Errorf("%+v fails at its %s, want %s", c.want, at, c.at)
			}
		}
	})
}

// TestExport: files are copied once, whole, never over another, and nowhere else.
func TestExport(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		good, err := s.Put(t.Context(), "k", strings.NewReader("content"))
		if err != nil {
			t.Fatal(err)
		}
		dir, outside := filepath.Join(t.TempDir(), "a", "out"), t.TempDir()
		e, err := OpenExport(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "other"), []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name    string
			want    Blob
			written bool
			code    Code
		}{
			{"x/y/z", good, true, ""},
			{"x/y/z", good, false, ""},
			{"x/y/w", good, true, ""},
			{"x/bad", Blob{"k", 7, hexSum("another")}, false, CodeMismatch},
			{"other", good, false, CodeConflict},
			{"../up", good, false, CodeBadName},
			{"link/out", good, false, CodeBroken},
		} {
			written, err := e.Copy(t.Context(), c.want, c.name, func(ctx context.Context) (io.ReadCloser, error) { return s.Get(ctx, c.want.Key) })
			if CodeOf(err) != c.code || written != c.written {
				t.Errorf("%s: %v, %v, want %v, %q", c.name, written, err, c.written, c.code)
			}
		}
		_, err = OpenExport(dir)
		mustCode(t, err, CodeConflict)
		// A child that is just being started has copies of all files, which do not keep the lock.
		held, err := syscall.Dup(int(e.lock.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(held) }()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if e, err = OpenExport(dir); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("outside: %v (%v)", left, err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "x", "y", "z")); err != nil || string(data) != "content" {
			t.Errorf("%q (%v)", data, err)
		}
		if _, err := os.Stat(filepath.Join(dir, exportTmp)); !os.IsNotExist(err) {
			t.Error(err)
		}
	})
}
