package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/unpack"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/bag"
	"github.com/accession-ingest/accession/domain/container"
)

// zipOf and tarOf make containers.
func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, files map[string]string, more ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644})
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range more {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarGzOf(t testing.TB, files map[string]string, more ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(tarOf(t, files, more...))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bagFiles are the files of a bag with one payload file.
func bagFiles(text string) map[string]string {
	sum := sha256.Sum256([]byte("one\n"))
	return map[string]string{
		"bag/bagit.txt":           "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
		"bag/manifest-sha256.txt": hex.EncodeToString(sum[:]) + "  data/one.txt\n",
		"bag/data/one.txt":        text,
	}
}

// bagWith are the files of a bag, of which some are changed; those without text are left out.
func bagWith(changed map[string]string) map[string]string {
	files := bagFiles("one\n")
	for name, text := range changed {
		if files["bag/"+name] = text; text == "" {
			delete(files, "bag/"+name)
		}
	}
	return files
}

// patchedZip returns a zip of which a byte of the first entry of the central directory is another.
func patchedZip(t testing.TB, at int, is byte) []byte {
	z := zipOf(t, map[string]string{"a.txt": "a\n"})
	z[bytes.Index(z, []byte("PK\x01\x02"))+at] = is
	return z
}

// overlappingZip returns a zip whose second file has the bytes of the first.
func overlappingZip(t testing.TB) []byte {
	z := zipOf(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	second := bytes.LastIndex(z, []byte("PK\x01\x02"))
	copy(z[second+42:], []byte{0, 0, 0, 0}) // where its header is
	return z
}

// damagedZip returns a zip of a file with other bytes than it was made of.
func damagedZip(t testing.TB) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.CreateHeader(&zip.FileHeader{Name: "a.txt", Method: zip.Store})
	if err == nil {
		_, err = f.Write([]byte("the text\n"))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(b.Bytes(), []byte("the text"), []byte("The text"), 1)
}

// badBoxes are containers and bags that are refused: by which code, and with which message.
func badBoxes(t testing.TB) map[string]badBox {
	files := func(names ...string) map[string]string {
		all := map[string]string{}
		for _, name := range names {
			all[name] = "x"
		}
		return all
	}
	many, long := map[string]string{}, strings.Repeat("x", 1000)
	for i := range 10_001 {
		many[fmt.Sprintf("%d.txt", i)] = ""
	}
	pack := func(changed map[string]string) []byte { return zipOf(t, bagWith(changed)) }
	special := func(h tar.Header) []byte { return tarGzOf(t, files("a.txt"), &h) }
	two, deep := files("a/one.txt", "two.txt"), strings.Repeat("d/", 40)
	bomb := zipOf(t, map[string]string{"zeros": strings.Repeat("\x00", 20<<20)})
	all := map[string]badBox{
		"text.zip":        {[]byte("a text\n"), container.CodeFormat, "the container is none of the formats that are unpacked: make it zip, tar, tar.gz, tar.bz2 or tar.zst, or deposit it as a file"},
		"cut.zip":         {zipOf(t, two)[:60], container.CodeUnreadable, "the container cannot be read to its end: zip: not a valid zip file; send it again, or make it again"},
		"damaged.zip":     {damagedZip(t), container.CodeChecksum, `"a.txt" has another checksum than the container says: send it again, or make it again`},
		"overlapping.zip": {overlappingZip(t), container.CodeOverlap, `"b.txt" shares bytes of the container with "a.txt": make the container again`},
		"leaves.zip":      {zipOf(t, files("../one.txt")), container.CodeName, `"../one.txt" cannot be a name in the object: the file name "../one.txt" has the part ".."; write the path from the object's top without it`},
		"case.tgz":        {tarGzOf(t, files("A", "a")), container.CodeDuplicate, `"a" differs from "A" only in upper and lower case: rename one of them, or leave it out`},
		"link.tgz":        {special(tar.Header{Name: "l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), container.CodeLink, `"l" is a symbolic link, which cannot be kept: put the file itself in its place`},
		"large-file.tgz":  {tarGzOf(t, map[string]string{"a": "", "big": long + "x"}), container.CodeFileBytes, `"big" has 1001 bytes, more than the 1000 that are allowed for a file: divide it`},
		"large.tgz":       {tarGzOf(t, map[string]string{"a": long, "b": long}), container.CodeBytes, `"b" makes over 1500 bytes of the container, more than are allowed: divide the object`},
		"digest.tgz":      {tarGzOf(t, bagFiles("two\n")), bag.CodeDigest, fmt.Sprintf(`"bag/data/one.txt" has the sha256 digest %s, and line 1 of bag/manifest-sha256.txt says %s: correct the one that is wrong`, sha256Text("two\n"), sha256Text("one\n"))},
		"long-text.zip":   {pack(map[string]string{"manifest-sha256.txt": strings.Repeat("\n", unpack.MaxTexts+1)}), bag.CodeText, `"bag/manifest-sha256.txt" has more bytes than are read of a bag's own files, 67108864 for all of them together: divide the bag`},
		"empty.zip":       {zipOf(t, map[string]string{"a/": ""}), container.CodeEmpty, "no file is in the container: put files into it, or deposit it as a file"},
		"device.tgz":      {special(tar.Header{Name: "null", Typeflag: tar.TypeChar}), container.CodeSpecial, `"null" is a device, not a file: leave it out`},
		"hard-link.tgz":   {special(tar.Header{Name: "b.txt", Linkname: "a.txt", Typeflag: tar.TypeLink}), container.CodeLink, `"b.txt" is a hard link, which cannot be kept: put the file itself in its place`},
		"absolute.tgz":    {tarGzOf(t, files("/etc/passwd")), container.CodeName, `"/etc/passwd" cannot be a name in the object: the file name "/etc/passwd" is absolute; start it inside the object, without /`},
		"backslash.zip":   {zipOf(t, files(`..\evil.txt`)), container.CodeName, `"..\\evil.txt" cannot be a name in the object: the file name "..\\evil.txt" holds a backslash; separate folders with /`},
		"unicode.tgz":     {tarGzOf(t, files("\u00e9.txt", "e\u0301.txt")), container.CodeDuplicate, "\"\u00e9.txt\" differs from \"e\u0301.txt\" only in how its characters are composed: rename one of them, or leave it out"},
		"conflict.tgz":    {tarGzOf(t, files("a", "a/b")), container.CodeConflict, `"a/b" stands in a folder whose name is that of the file "a": rename one of them`},
		"deep.zip":        {zipOf(t, files(deep+"f")), container.CodeDepth, fmt.Sprintf(`"%sf" stands in 40 folders, more than the 32 that are allowed: move it up`, deep)},
		"many.zip":        {zipOf(t, many), container.CodeFiles, `"9999.txt" is one file more than the 10000 that are allowed: divide the object`},
		"bomb.zip":        {bomb, container.CodeRatio, fmt.Sprintf(`"zeros" makes over 16777216 bytes of a container of %d, more than are allowed for its size: send the files in another one, compressed less`, len(bomb))},
		"encrypted.zip":   {patchedZip(t, 8, 1), container.CodeEncrypted, `"a.txt" is encrypted: make the container without a password`},
		"lzma.zip":        {patchedZip(t, 10, 14), container.CodeMethod, `"a.txt" is compressed by the method 14 (LZMA), which is not read: use Deflate, or none`},
		"erc.zip":         {zipOf(t, map[string]string{"mrt-erc.txt": "erc:\nwhere-primary: chart 7\n"}), container.CodeERC, `name the object: mrt-erc.txt in the container has an identifier that is none: chart 7: identifier "chart 7" is not an ARK: it does not begin with ark:/ (nor with doi:)`},
		"version.zip":     {pack(map[string]string{"bagit.txt": "BagIt-Version: 3.0\nTag-File-Character-Encoding: UTF-8\n"}), bag.CodeDeclaration, `"bag/bagit.txt" is of version "3.0", and 0.93 to 0.97 and 1.0 are known: write the two lines "BagIt-Version: 1.0" and "Tag-File-Character-Encoding: UTF-8"`},
		"encoding.zip":    {pack(map[string]string{"bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-16\n"}), bag.CodeEncoding, `"bag/bagit.txt" says that the texts of the bag are in "UTF-16", and only UTF-8 is read: write them in UTF-8`},
		"no-manifest.zip": {pack(map[string]string{"manifest-sha256.txt": ""}), bag.CodeManifest, `"bag/bagit.txt" declares a bag, and no manifest of its payload is beside it: add manifest-sha256.txt`},
		"algorithm.zip":   {pack(map[string]string{"manifest-sha256.txt": "", "manifest-rot13.txt": "0a  data/one.txt\n"}), bag.CodeAlgorithm, `"bag/manifest-rot13.txt" is by an algorithm that cannot be checked: the digest algorithm "rot13" is not known; use adler32, crc32, md5, sha1, sha256, sha384 or sha512`},
		"missing.zip":     {pack(map[string]string{"data/one.txt": "", "README": "x"}), bag.CodeMissing, `"bag/data/one.txt" is in line 1 of bag/manifest-sha256.txt and not in the bag: put it there, or take it out of the manifest`},
		"unlisted.zip":    {pack(map[string]string{"data/two.txt": "two\n"}), bag.CodeUnlisted, `"bag/data/two.txt" is in no manifest of the bag: list it, or take it out`},
		"oxum.zip":        {pack(map[string]string{"bag-info.txt": "Payload-Oxum: 9.9\n"}), bag.CodeOxum, `"bag/bag-info.txt" has the Payload-Oxum 9.9, and the bag has 4.1: correct the one that is wrong`},
		"fetch.zip":       {pack(map[string]string{"fetch.txt": "http://files.test/two.txt 3 data/two.txt\n"}), bag.CodeFetch, `"bag/fetch.txt" names files that are elsewhere, 1 in all, which are not fetched: put them into the bag, or deposit them by a manifest`},
	}
	reached := map[string]bool{}
	for _, box := range all {
		reached[string(box.code)] = true
	}
	for _, code := range codesOf(t, "container", "bag") {
		if !reached[code] {
			t.Errorf("no container is refused for %s", code)
		}
	}
	return all
}

// codesOf returns the codes which packages of the domain declare.
func codesOf(t testing.TB, packages ...string) (all []string) {
	for _, name := range packages {
		before := len(all)
		files, err := filepath.Glob("../../../domain/" + name + "/*.go")
		for _, file := range files {
			text, failed := os.ReadFile(file)
			err = errors.Join(err, failed)
			for _, m := range regexp.MustCompile(`(?m)^(?:const |\t)Code\w+ +domain\.Code += "(\w+)"`).FindAllSubmatch(text, -1) {
				all = append(all, string(m[1]))
			}
		}
		if err != nil || len(all) == before {
			t.Fatalf("%s has no codes: %v", name, err)
		}
	}
	return all
}

// profiles of their own have the bad boxes that the ordinary limits do not refuse, or for
// another reason.
var boxProfiles = map[string]string{
	"large-file.tgz": "small", "large.tgz": "small", "long-text.zip": "steep",
}

type badBox struct {
	content []byte
	code    domain.Code
	says    string // the whole message
}

// refused returns how the deposit of the container ends: as its one file it is given up. One whose
// citation is bad was unpacked before.
func (b badBox) refused(name string) refusedJob {
	files := []string{givenUp(name, 1, b.says)}
	if b.code == container.CodeERC {
		files = []string{name + " DOWNLOADED : ", "mrt-erc.txt READY : "}
	}
	return refusedJob{domain.ClassContent, b.code, domain.ActsDepositor, b.says, files}
}

// TestBadContainers: each bad container is refused as a whole: nothing of it is stored or named,
// the container itself is given up, and the job, the report and its mail say by the same sentence
// what is wrong with it, what to do, and who acts.
// Shows: P1
func TestBadContainers(t *testing.T) {
	t.Parallel()
	in := newPatient(t)
	boxes, ids := badBoxes(t), map[string]domain.BatchID{}
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(boxes[strings.TrimPrefix(r.URL.Path, "/")].content)
	}))
	for profile, limits := range map[string]string{"small": "max_file_bytes: 1000, max_unpacked_bytes: 1500", "steep": "max_ratio: 100000"} {
		text := strings.ReplaceAll(profileOf("attempts: 2, timeout: 1h"), ": test\n", ": "+profile+"\n") + "limits: {" + limits + "}\n"
		in.must(os.WriteFile(filepath.Join(filepath.Dir(in.profileFile()), profile+".yaml"), []byte(text), 0o600))
	}
	in.serveInProcess()
	for name := range boxes {
		s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: cmp.Or(boxProfiles[name], "test"), Submitter: "tester", Payload: base + "/" + name, Type: domain.TypeContainer, Title: name})
		in.must(err)
		ids[name] = s.Batch
	}
	for name, box := range boxes {
		in.refused(name, ids[name], box.refused(name))
	}
	for what, query := range map[string]string{"versions": "select count(*) from record.object_version", "identifiers": "select count(*) from record.identifier"} {
		if n := in.count(query); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	in.agree()
	in.says(0, words("verify"))
}

// TestContainers deposits containers and bags, all at once: their files are stored and have lives
// of their own. One that is bad and good when its job is requeued is unpacked then.
// Shows: P1
func TestContainers(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	two := map[string]string{"a/one.txt": "one\n", "e\u0301.txt": "two\n"}
	stored := map[string]string{"a/one.txt": "one\n", "\u00e9.txt": "two\n"}
	var mended atomic.Bool
	boxes := map[string][]byte{"/two.zip": zipOf(t, two), "/two.tar": tarOf(t, two), "/two.tgz": tarGzOf(t, two), "/bag.zip": zipOf(t, bagFiles("one\n")), "/bag.tgz": tarGzOf(t, bagFiles("one\n"))}
	good := map[string]map[string]string{"/two.zip": stored, "/two.tar": stored, "/two.tgz": stored, "/bag.zip": bagFiles("one\n"), "/bag.tgz": bagFiles("one\n")}
	for _, name := range []string{"box.tar.bz2", "box.tar.zst"} { // made by the programs of that name
		box, err := os.ReadFile(filepath.Join("..", "..", "internal", "unpack", "testdata", name))
		in.must(err)
		boxes["/"+name], good["/"+name] = box, map[string]string{"a/b.txt": "inside\n"}
	}
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		box, ok := boxes[r.URL.Path]
		if r.URL.Path == "/mended.zip" {
			if box, ok = zipOf(t, map[string]string{"../one.txt": "x"}), true; mended.Load() {
				box = boxes["/two.zip"]
			}
		}
		if !ok {
			http.NotFound(rw, r)
			return
		}
		_, _ = rw.Write(box)
	}))
	in.serveInProcess()
	ids := map[string]domain.BatchID{}
	for path := range good {
		ids[path] = in.submit(app.Deposit{Payload: base + path, Type: domain.TypeContainer})
	}
	bad := in.submit(app.Deposit{Payload: base + "/mended.zip", Type: domain.TypeContainer})
	for path, files := range good {
		v := in.rest(ids[path])
		if v.Status != "completed" || len(v.Jobs) != 1 {
			t.Errorf("%s: %+v", path, v)
			continue
		}
		in.holds(v.Jobs[0], files)
		in.membersLived(v.Jobs[0].ID, strings.TrimPrefix(path, "/"), files)
	}
	refused := in.rest(bad).Jobs[0]
	if deref(refused.ReasonCode) != string(container.CodeName) {
		t.Fatalf("the bad container: %+v", refused)
	}
	mended.Store(true)
	job := refused.ID
	in.run("job", "requeue", job, "--reason", "it was mended")
	waitFor(t, "the requeued job to complete", func() bool {
		return in.count("select count(*) from accession.job where id = $1 and status = 'completed'", job) == 1
	})
	in.membersLived(job, "mended.zip", stored)
	in.agree()
}

// membersLived checks that each file of a container had its life, and the container its own.
func (in *installation) membersLived(job, container string, files map[string]string) {
	in.t.Helper()
	const at = "select count(*) from accession.file where job_id = $1 and path = $2 and status = $3"
	if n := in.count(at+" and reason_code = 'container_unpacked'", job, container, "SKIPPED"); n != 1 {
		in.t.Errorf("%s: the container %s is not skipped", job, container)
	}
	const lived = "select count(*) from accession.event e join accession.file f on f.raw_file_hash = e.aggregate_id where f.job_id = $1 and f.path = $2 and e.type = $3"
	for name, text := range files {
		sum := sha256.Sum256([]byte(text))
		if n := in.count(at+" and sha256 = $4 and size = $5 and download_attempts = 0 and processing_attempts = 1", job, name, "PROCESSED", hex.EncodeToString(sum[:]), len(text)); n != 1 {
			in.t.Errorf("%s: %q is not processed", job, name)
		}
		for _, kind := range []string{"discovered", "downloaded", "ready", "processing_started", "processed"} {
			if n := in.count(lived, job, name, "file."+kind); n != 1 {
				in.t.Errorf("%s: %q has %d events file.%s", job, name, n, kind)
			}
		}
	}
	if n := in.count("select count(*) from accession.file where job_id = $1", job); n != len(files)+1 {
		in.t.Errorf("%s: %d files, want %d", job, n, len(files)+1)
	}
}
