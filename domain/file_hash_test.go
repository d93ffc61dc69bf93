package domain_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

// TestFileHashVectors: the identities of files never change. The vectors were
// computed by another program.
func TestFileHashVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/raw_file_hash.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Source, Path string
		Size         int64
		Modified     domain.Time
		RawFileHash  domain.FileHash `json:"raw_file_hash"`
		ByVersion    domain.FileHash `json:"by_version"`
	}
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) < 7 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		spec := domain.FileSpec{Source: v.Source, Path: v.Path, Size: v.Size, Modified: v.Modified}
		if got := spec.Hash(); got != v.RawFileHash {
			t.Errorf("%s %s: %s, want %s", v.Source, v.Path, got, v.RawFileHash)
		}
		spec.ByVersion = true
		if got := spec.Hash(); got != v.ByVersion {
			t.Errorf("version of %s %s: %s, want %s", v.Source, v.Path, got, v.ByVersion)
		}
	}
}

// TestFileHashes: what differs has another hash, wherever one text ends and the
// next begins, and every hash can be read again.
func TestFileHashes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/")), 0, 4, -1)
		a := domain.FileSpec{Source: text.Draw(t, "source"), Path: text.Draw(t, "path"), Size: rapid.Int64Range(0, 2).Draw(t, "size"), ByVersion: rapid.Bool().Draw(t, "version")}
		b := domain.FileSpec{Source: text.Draw(t, "source"), Path: text.Draw(t, "path"), Size: rapid.Int64Range(0, 2).Draw(t, "size"), ByVersion: rapid.Bool().Draw(t, "version")}
		same := a.Source == b.Source && a.Path == b.Path && a.ByVersion == b.ByVersion && (!a.ByVersion || a.Size == b.Size)
		if (a.Hash() == b.Hash()) != same {
			t.Fatalf("%+v and %+v: %s, %s", a, b, a.Hash(), b.Hash())
		}
		if h, err := domain.ParseFileHash(string(a.Hash())); err != nil || h != a.Hash() {
			t.Fatalf("%s: %v", a.Hash(), err)
		}
	})
	good := string(domain.HashFile("a", "b"))
	for _, bad := range []string{"", good[1:], good + "0", strings.ToUpper(good), good[:63] + "g", good[:63] + "\n"} {
		if h, err := domain.ParseFileHash(bad); err == nil {
			t.Errorf("%q was read as %s", bad, h)
		}
	}
	if a := domain.FileHash(good).Aggregate(); a.String() != "file/"+good {
		t.Errorf("the aggregate is %s", a)
	}
}
