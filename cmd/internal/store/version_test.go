package store

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/store/description"
	"github.com/accession-ingest/accession/domain"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", path, got)
	}
}

func write(t *testing.T, s *Store, v Version) Stored {
	t.Helper()
	got, err := s.WriteVersion(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestWriteVersion(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		got := write(t, s, sample())
		text := read(t, s, got.ManifestKey)
		golden(t, "manifest.json", []byte(text))
		if got.ManifestSHA256 != hexSum(text) || got.Files != 3 || got.Bytes != int64(4+1+len(description.ERC{Who: "w"}.Encode())) {
			t.Fatalf("got %+v", got)
		}
		if data, err := s.ManifestBytes(t.Context(), got.ManifestKey, got.ManifestSHA256); err != nil || string(data) != text {
			t.Fatalf("%q, %v", data, err)
		}
		_, err := s.ManifestBytes(t.Context(), got.ManifestKey, hexSum("another"))
		mustCode(t, err, CodeMismatch)
		if again := write(t, s, sample()); again != got {
			t.Fatalf("the second time %+v, the first %+v", again, got)
		}
		m, err := s.VerifyVersion(t.Context(), sample().Object, 1)
		if err != nil || len(m.Files) != 3 || m.Created != testCreated {
			t.Fatalf("%+v, %v", m, err)
		}
		next := sample()
		next.Number, next.Job = 2, domain.NewJobID(8)
		if write(t, s, next).ManifestKey == got.ManifestKey {
			t.Fatal("two versions have one manifest")
		}
		_, err = s.VerifyVersion(t.Context(), sample().Object, 3)
		mustCode(t, err, CodeNotFound)
	})
}

func TestOrderOfFilesDoesNotMatter(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		got := write(t, s, sample())
		turned := sample()
		slices.Reverse(turned.Files)
		if again := write(t, s, turned); again != got {
			t.Fatalf("%+v, then %+v", got, again)
		}
	})
}

func TestVersionOfAnotherJobOrContentStays(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		got := write(t, s, sample())
		before := read(t, s, got.ManifestKey)
		for _, change := range []func(v *Version){
			func(v *Version) { v.Job = domain.NewJobID(8) },
			func(v *Version) { v.Files[0] = producer("data/tide.csv", "x;y\n") },
			func(v *Version) { v.Files = v.Files[:2] },
			func(v *Version) { v.LocalIDs = nil },
		} {
			v := sample()
			change(&v)
			_, err := s.WriteVersion(t.Context(), v)
			mustCode(t, err, CodeConflict)
		}
		if _, err := s.VerifyVersion(t.Context(), sample().Object, 1); err != nil || read(t, s, got.ManifestKey) != before {
			t.Fatalf("the version was touched: %v", err)
		}
	})
}

// A crash at any file leaves no version; doing it again completes it.
func TestNoManifestNoVersion(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"/data/tide.csv", "zz%20%3C%26%3E.txt", description.ERCName, "/manifest.json"} {
		t.Run(strings.ReplaceAll(stop, "/", " "), func(t *testing.T) {
			t.Parallel()
			s, fault := newFaulty(t, stop, errDiskFull)
			_, err := s.WriteVersion(t.Context(), sample())
			mustCode(t, err, CodeDiskFull)
			_, err = s.VerifyVersion(t.Context(), sample().Object, 1)
			mustCode(t, err, CodeNotFound)
			fault.err = nil
			write(t, s, sample())
			if _, err := s.VerifyVersion(t.Context(), sample().Object, 1); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Other bytes that an earlier attempt of the job left are neither used nor
// overwritten.
func TestLeftoverWithOtherBytes(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		key := VersionPrefix(sample().Object, 1) + "/producer/data/tide.csv"
		if _, err := s.Put(t.Context(), key, strings.NewReader("left over")); err != nil {
			t.Fatal(err)
		}
		got := write(t, s, sample())
		if again := write(t, s, sample()); again != got {
			t.Fatalf("%+v, then %+v", got, again)
		}
		m, err := s.VerifyVersion(t.Context(), sample().Object, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Files[0].Key != key+"~"+m.Files[0].SHA256[:32] || read(t, s, key) != "left over" {
			t.Fatalf("got %+v", m.Files[0])
		}
	})
}

func TestWorkersOfOneJobAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	results := make(chan Stored, 6)
	for range cap(results) {
		s := open(t, dir)
		wg.Go(func() {
			got, err := s.WriteVersion(t.Context(), sample())
			if err != nil {
				t.Error(err)
			}
			results <- got
		})
	}
	wg.Wait()
	first := <-results
	for range cap(results) - 1 {
		if got := <-results; got != first {
			t.Fatalf("%+v and %+v", first, got)
		}
	}
}

func TestFileThatIsNotAsPromised(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		for _, content := range []string{"a;c\n", "a;b", "a;b\n\n", ""} {
			v := sample()
			v.Files[0].Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
			_, err := s.WriteVersion(t.Context(), v)
			mustCode(t, err, CodeChanged)
			if !strings.Contains(err.Error(), "data/tide.csv") {
				t.Errorf("%v does not name the file", err)
			}
		}
		v := sample()
		v.Files[0].Open = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
		_, err := s.WriteVersion(t.Context(), v)
		mustCode(t, err, CodeBroken)
		for _, key := range keys(t, s, "") { // its other files may have come first
			if strings.Contains(key, "tide.csv") || strings.HasSuffix(key, "manifest.json") || strings.HasPrefix(key, tmpPrefix) {
				t.Errorf("left behind: %s", key)
			}
		}
	})
}

func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		write(t, s, sample())
		key := VersionPrefix(sample().Object, 1) + "/producer/data/tide.csv"
		for _, damage := range []string{"a;c\n", "a;b", ""} {
			if _, err := s.Put(t.Context(), key, strings.NewReader(damage)); err != nil {
				t.Fatal(err)
			}
			_, err := s.VerifyVersion(t.Context(), sample().Object, 1)
			mustCode(t, err, CodeMismatch)
		}
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		_, err := s.VerifyVersion(t.Context(), sample().Object, 1)
		mustCode(t, err, CodeMismatch)
		if _, err := s.Put(t.Context(), ManifestKey(sample().Object, 1), strings.NewReader("{")); err != nil {
			t.Fatal(err)
		}
		_, err = s.VerifyVersion(t.Context(), sample().Object, 1)
		mustCode(t, err, CodeMismatch)
	})
}

func TestVersionsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, "mem://")
	for name, change := range map[string]func(v *Version){
		"no identifier": func(v *Version) { v.Object = "" },
		"no number":     func(v *Version) { v.Number = 0 },
		"no job":        func(v *Version) { v.Job = "" },
		"no files":      func(v *Version) { v.Files = nil },
		"name twice":    func(v *Version) { v.Files[1].Name = v.Files[0].Name },
		"name leaves":   func(v *Version) { v.Files[0].Name = "../../x" },
		"name is dir":   func(v *Version) { v.Files[1].Name = "data" },
		"no digest":     func(v *Version) { v.Files[0].SHA256 = "abc" },
		"no kind":       func(v *Version) { v.Files[0].Kind = "" },
		"negative size": func(v *Version) { v.Files[0].Size = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			v := sample()
			change(&v)
			_, err := s.WriteVersion(t.Context(), v)
			mustCode(t, err, CodeBadName)
		})
	}
	if got := keys(t, s, ""); len(got) != 0 {
		t.Fatalf("stored %v", got)
	}
}
