package store

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/accession-ingest/accession/cmd/internal/store/description"
	"github.com/accession-ingest/accession/cmd/internal/store/ocfl"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/ocflcheck"
)

// inOCFL is the sample in OCFL, as version number of its object with one more or less file.
func inOCFL(number int) Version {
	v := sample()
	v.Layout, v.Number, v.Job = LayoutOCFL, number, domain.NewJobID(int64(6+number))
	v.Deposit = &Deposit{Submitter: "ada@example.org"}
	return v
}

// below returns what a bucket has below its storage root.
func below(t *testing.T, s *Store) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, key := range keys(t, s, OCFLPrefix) {
		files[strings.TrimPrefix(key, OCFLPrefix)] = &fstest.MapFile{Data: []byte(read(t, s, key))}
	}
	return files
}

func valid(t *testing.T, s *Store, objects ...string) {
	t.Helper()
	has, faults := ocflcheck.Check(below(t, s))
	if len(faults) > 0 || !slices.Equal(has, objects) {
		t.Errorf("objects %v, want %v: %s", has, objects, strings.Join(faults, "\n"))
	}
}

// An update deposit adds what is new: bytes that the object has are not stored again,
// from whichever depositor. Version numbers that were reserved and not used make no hole.
func TestOCFLVersions(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		first := write(t, s, inOCFL(1))
		if again := write(t, s, inOCFL(1)); again != first {
			t.Fatalf("the second time %+v, the first %+v", again, first)
		}
		valid(t, s, sample().Object)
		m, key, sha, err := s.FindManifest(t.Context(), sample().Object, 1)
		if err != nil || key != first.ManifestKey || sha != first.ManifestSHA256 || m.Deposit.Submitter != "ada@example.org" {
			t.Fatalf("%q, %q, %+v, %v", key, sha, m, err)
		}
		next := inOCFL(3)
		next.Base = 1
		next.Files = []File{producer("data/tide.csv", "c;d\n"), producer("again.csv", "a;b\n")}
		for _, f := range m.Files {
			if f.Name == "zz <&>.txt" {
				next.Files = append(next.Files, File{Kind: f.Kind, Name: f.Name, Size: f.Size, SHA256: f.SHA256, Key: f.Key})
			}
		}
		third := write(t, s, next)
		valid(t, s, sample().Object)
		m, err = s.VerifyVersion(t.Context(), sample().Object, 3)
		if err != nil || len(m.Files) != 3 {
			t.Fatalf("%+v, %v", m, err)
		}
		at := map[string]string{}
		for _, f := range m.Files {
			at[f.Name] = strings.TrimPrefix(f.Key, OCFLRoot(sample().Object)+"/")
		}
		if want := map[string]string{"data/tide.csv": "v2/content/producer/data/tide.csv", "again.csv": "v1/content/producer/data/tide.csv",
			"zz <&>.txt": "v1/content/producer/zz%20%3C%26%3E.txt"}; !maps.Equal(at, want) {
			t.Errorf("the files are at %v, want %v", at, want)
		}
		if want := OCFLRoot(sample().Object) + "/v2/content/manifest-v3.json"; third.ManifestKey != want {
			t.Errorf("the manifest is %s, want %s", third.ManifestKey, want)
		}
		_, err = s.VerifyVersion(t.Context(), sample().Object, 2)
		mustCode(t, err, CodeNotFound)
		if _, err := s.VerifyVersion(t.Context(), sample().Object, 1); err != nil {
			t.Error(err)
		}
		if faults, err := s.OCFLFaults(t.Context(), sample().Object, third.ManifestKey, third.ManifestSHA256); err != nil || len(faults) > 0 {
			t.Errorf("%v, %v", faults, err)
		}
		other := inOCFL(3)
		other.Job = domain.NewJobID(77)
		_, err = s.WriteVersion(t.Context(), other)
		mustCode(t, err, CodeConflict)
		valid(t, s, sample().Object)
	})
}

// A profile may get another layout: an object is then in both, and each version is whole in its
// own.
func TestOCFLAfterAnotherLayout(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		write(t, s, sample())
		m, _, _, err := s.FindManifest(t.Context(), sample().Object, 1)
		if err != nil {
			t.Fatal(err)
		}
		next := inOCFL(2)
		next.Base, next.Files = 1, []File{producer("new", "n")}
		for _, f := range m.Files {
			next.Files = append(next.Files, File{Kind: f.Kind, Name: f.Name, Size: f.Size, SHA256: f.SHA256, Key: f.Key})
		}
		write(t, s, next)
		valid(t, s, sample().Object)
		same := inOCFL(1) // its job is tried again after the change
		same.Job, same.Deposit = sample().Job, nil
		write(t, s, same)
		back := inOCFL(3)
		back.Layout = LayoutOwn
		if got := write(t, s, back); got.ManifestKey != ManifestKey(back.Object, 3) {
			t.Errorf("the manifest is %s", got.ManifestKey)
		}
		for n := range 3 {
			if _, err := s.VerifyVersion(t.Context(), sample().Object, n+1); err != nil {
				t.Error(err)
			}
		}
		valid(t, s, sample().Object)
	})
}

// Each write that fails leaves the versions before; the next attempt completes the version, and
// what another attempt left beside it is gone.
func TestOCFLWriteThatFails(t *testing.T) {
	t.Parallel()
	for _, stop := range []string{"0=ocfl_1.1", "config.json", "/data/tide.csv", description.ERCName, "/manifest-v1.json", "/v1/inventory.json", "/v1/inventory.json.sha256",
		"/0=ocfl_object_1.1", "/inventory.json.sha256", "/inventory.json",
		"/manifest-v2.json", "/v2/inventory.json", "/v2/inventory.json.sha256"} {
		t.Run(strings.ReplaceAll(stop, "/", " "), func(t *testing.T) {
			t.Parallel()
			s, fault := newFaulty(t, stop, errDiskFull)
			second := strings.Contains(stop, "v2")
			number := 1
			if second {
				fault.err = nil
				write(t, s, inOCFL(1))
				fault.err, number = errDiskFull, 2
			}
			_, err := s.WriteVersion(t.Context(), inOCFL(number))
			mustCode(t, err, CodeDiskFull)
			if second {
				if _, _, _, err := s.FindManifest(t.Context(), sample().Object, 1); err != nil {
					t.Error(err)
				}
			}
			fault.err = nil
			next := inOCFL(number)
			next.Files[0] = producer("data/tide.csv", "other\n")
			if _, _, _, err := s.FindManifest(t.Context(), sample().Object, number); err == nil { // it has the first content already
				next = inOCFL(number)
			}
			write(t, s, next)
			if _, err := s.VerifyVersion(t.Context(), sample().Object, number); err != nil {
				t.Error(err)
			}
			valid(t, s, sample().Object)
		})
	}
}

// What describes an object is made again from the inventory of its newest version: after a
// process that stood still has put an earlier one at the root, or after damage.
func TestOCFLSettles(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		write(t, s, inOCFL(1))
		root := OCFLRoot(sample().Object) + "/"
		old := map[string]string{}
		for _, name := range []string{ocfl.Inventory, ocfl.Sidecar} {
			old[name] = read(t, s, root+name)
		}
		stored := write(t, s, inOCFL(2))
		put := func(name, text string) {
			t.Helper()
			if _, err := s.Put(t.Context(), root+name, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		for name, harm := range map[string]func(){
			"earlier": func() { put(ocfl.Inventory, old[ocfl.Inventory]); put(ocfl.Sidecar, old[ocfl.Sidecar]) },
			"half":    func() { put(ocfl.Sidecar, old[ocfl.Sidecar]) },
			"damaged": func() {
				put(ocfl.Inventory, strings.Replace(read(t, s, root+ocfl.Inventory), "producer/data", "producer/dato", 1))
			},
			"no JSON":     func() { put(ocfl.Inventory, "{") },
			"declaration": func() { put(ocfl.Declaration, "") },
			"version's sidecar": func() {
				put("v2/"+ocfl.Sidecar, old[ocfl.Sidecar]+"x")
				_ = s.Delete(t.Context(), root+"v2/"+ocfl.Sidecar)
			},
			"version's": func() { put("v2/"+ocfl.Inventory, "{") },
		} {
			harm()
			if faults, err := s.OCFLFaults(t.Context(), sample().Object, stored.ManifestKey, stored.ManifestSHA256); err != nil || len(faults) == 0 {
				t.Errorf("%s: %v, %v", name, faults, err)
			}
			if _, err := s.VerifyVersion(t.Context(), sample().Object, 2); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			valid(t, s, sample().Object)
		}
		_, err := s.OCFLFaults(t.Context(), sample().Object, stored.ManifestKey, hexSum("other"))
		mustCode(t, err, CodeMismatch)
		put(ocfl.Inventory, "{")
		put("v1/"+ocfl.Inventory, "{")
		_, err = s.OCFLFaults(t.Context(), sample().Object, stored.ManifestKey, stored.ManifestSHA256)
		mustCode(t, err, CodeMismatch)
	})
}

// Two jobs that write versions of one object at once both get one; that of a worker that was
// overtaken is not lost, and its bytes are not mixed with the other's.
func TestOCFLVersionsAtOnce(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		second := inOCFL(2)
		slow := &second.Files[0]
		had := slow.Open
		slow.Open = func() (io.ReadCloser, error) {
			other := inOCFL(1)
			other.Files[0] = producer("data/tide.csv", "first\n")
			write(t, s, other)
			slow.Open = had
			return had()
		}
		write(t, s, second)
		for n := range 2 {
			if _, err := s.VerifyVersion(t.Context(), sample().Object, n+1); err != nil {
				t.Error(err)
			}
		}
		if data := read(t, s, OCFLRoot(sample().Object)+"/"+ocfl.Inventory); !strings.Contains(data, `"head": "v2"`) {
			t.Error(data)
		}
		valid(t, s, sample().Object)
	})
}

// A version of which a file is not what was promised does not exist, and nothing of it stays.
func TestOCFLWriteOfOtherBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	write(t, s, inOCFL(1))
	bad := inOCFL(2)
	bad.Files[0].SHA256 = hexSum("other")
	_, err := s.WriteVersion(t.Context(), bad)
	mustCode(t, err, CodeChanged)
	_, err = s.VerifyVersion(t.Context(), sample().Object, 2)
	mustCode(t, err, CodeNotFound)
	valid(t, s, sample().Object)
	if left, err := os.ReadDir(dir + "/tmp"); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A storage root of another program is left alone.
func TestOCFLRootOfOthers(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		if _, err := s.Put(t.Context(), OCFLPrefix+"ocfl_layout.json", strings.NewReader("{}")); err != nil {
			t.Fatal(err)
		}
		_, err := s.WriteVersion(t.Context(), inOCFL(1))
		mustCode(t, err, CodeConflict)
		if has := keys(t, s, OCFLRoot(sample().Object)); len(has) > 0 {
			t.Errorf("it has %v", has)
		}
	})
}

// Another program reads each file of each version, finds an object by its identifier, and the
// files have the digests that were promised.
// Shows: P13
func TestOCFLReadByAnotherProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	want := ocflcheck.Digests{}
	for _, object := range []string{"ark:/99999/fk4abc", "doi:10.5072/FK2/ÄÖ x", "ark:/99999/fk4%2F..'()*"} {
		versions := map[string]map[string]string{}
		for n := range 2 {
			v := inOCFL(n + 1)
			v.Object = object
			if n == 1 {
				v.Files = append(v.Files[1:], producer("ä/"+strings.Repeat("long", 60)+".txt", "l"))
			}
			stored := write(t, s, v)
			state := map[string]string{"manifest.json": stored.ManifestSHA256}
			for _, f := range v.Files {
				state[string(f.Kind)+"/"+f.Name] = f.SHA256
			}
			versions[ocfl.VersionName(n+1)] = state
		}
		want[object] = versions
	}
	for name, ids := range map[string][]string{"all": nil, "by id": slices.Collect(maps.Keys(want))} {
		if got := ocflcheck.Read(t, dir+"/ocfl", ids...); !maps.EqualFunc(got, want, func(a, b map[string]map[string]string) bool {
			return maps.EqualFunc(a, b, maps.Equal)
		}) {
			t.Errorf("%s: ocfl-fs reads %v, want %v", name, got, want)
		}
	}
	if _, faults := ocflcheck.Check(os.DirFS(dir + "/ocfl")); len(faults) > 0 {
		t.Error(faults)
	}
}
