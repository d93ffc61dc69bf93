package unpack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/bag"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
)

var wide = container.Limits{Files: 50, FileBytes: 1 << 30, Bytes: 1 << 30, Ratio: 100, Depth: 8}

// entry is a member of a container that a test makes.
type entry struct {
	name, text string
	kind       byte // of a tar, 0 = a file
	mode       fs.FileMode
	method     uint16 // of a zip
}

func files(texts ...string) (all []entry) {
	for i := 0; i < len(texts); i += 2 {
		all = append(all, entry{name: texts[i], text: texts[i+1], method: zip.Deflate})
	}
	return all
}

func makeZip(t testing.TB, all ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range all {
		h := &zip.FileHeader{Name: e.name, Method: e.method}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		f, err := w.CreateHeader(h)
		if err == nil && !strings.HasSuffix(e.name, "/") {
			_, err = f.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func makeTar(t testing.TB, all ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		h := &tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o644, Typeflag: max(e.kind, tar.TypeReg)}
		switch e.kind {
		case 0, tar.TypeReg:
		case tar.TypeXGlobalHeader:
			h = &tar.Header{Typeflag: e.kind, PAXRecords: map[string]string{"comment": e.text}}
		default:
			h.Linkname, h.Size = e.text, 0
		}
		err := w.WriteHeader(h)
		if err == nil && h.Size > 0 {
			_, err = w.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compress(t testing.TB, data []byte, with func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := with(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	return compress(t, data, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func zstandard(t testing.TB, data []byte) []byte {
	return compress(t, data, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	})
}

func of(data []byte) Container {
	sum := sha256.Sum256(data)
	return Container{Name: "box", Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Data: bytes.NewReader(data)}
}

// extracted inspects and extracts a container.
func extracted(ctx context.Context, data []byte, limits container.Limits) (container.Listing, map[string]string, error) {
	list, err := Inspect(ctx, of(data), limits)
	if err != nil {
		return list, nil, err
	}
	got := map[string]string{}
	err = Extract(ctx, of(data), limits, list, func(i int, r io.Reader) error {
		text, err := io.ReadAll(r)
		got[list.Files[i].Name] = string(text)
		return err
	})
	return list, got, err
}

// bzipped is a tar of the file "a/b.txt" with the text "inside\n", made by bzip2.
func bzipped(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/box.tar.bz2")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Each format gives the same files, with their sizes and digests.
func TestFormats(t *testing.T) {
	t.Parallel()
	all := append([]entry{{name: "a/", kind: tar.TypeDir}}, files("a/b.txt", "inside\n")...)
	plain := makeTar(t, all...)
	for format, data := range map[container.Format][]byte{
		container.Zip: makeZip(t, all...), container.Tar: plain, container.TarGzip: gzipped(t, plain),
		container.TarZstd: zstandard(t, plain), container.TarBzip2: bzipped(t),
	} {
		list, got, err := extracted(t.Context(), data, wide)
		if err != nil || !maps.Equal(got, map[string]string{"a/b.txt": "inside\n"}) {
			t.Errorf("%s: %q, %v", format, got, err)
			continue
		}
		sum := sha256.Sum256([]byte("inside\n"))
		if list.Format != format || list.Size != int64(len(data)) || list.Bytes() != 7 || list.Bag != nil || list.ERC != nil ||
			!slices.Equal(list.Files, []container.Found{{Name: "a/b.txt", Size: 7, SHA256: hex.EncodeToString(sum[:])}}) {
			t.Errorf("%s: %+v", format, list)
		}
	}
}

// What programs write besides files does no harm.
func TestWhatIsTaken(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789", 100_000)
	for name, data := range map[string][]byte{
		"dots and a global header":  makeTar(t, append([]entry{{kind: tar.TypeXGlobalHeader, text: "commit"}, {name: "./", kind: tar.TypeDir}}, files("./x", "1", "./y/z", big)...)...),
		"more than one gzip member": slices.Concat(gzipped(t, makeTar(t, files("x", "1", "y/z", big)...)[:1024]), gzipped(t, makeTar(t, files("x", "1", "y/z", big)...)[1024:])),
		"zeros behind the end":      append(makeTar(t, files("x", "1", "y/z", big)...), make([]byte, 10<<10)...),
		"a zip behind a program":    makeZip(t, entry{name: "x", text: "1"}, entry{name: "y/z", text: big, method: zip.Deflate}),
		"long names":                makeTar(t, files("x", "1", "y/z", big)...),
	} {
		_, got, err := extracted(t.Context(), data, wide)
		if err != nil || !maps.Equal(got, map[string]string{"x": "1", "y/z": big}) {
			t.Errorf("%s: %d files, %v", name, len(got), err)
		}
	}
	long := strings.Repeat("l", 200) + "/" + strings.Repeat("m", 200)
	if _, got, err := extracted(t.Context(), makeTar(t, files(long, "x", "e\u0301", "y")...), wide); err != nil || got[long] != "x" || got["\u00e9"] != "y" {
		t.Errorf("%q, %v", got, err)
	}
}

// patched returns a copy of data with the bytes at an offset replaced.
func patched(data []byte, at int, by ...byte) []byte {
	return slices.Concat(data[:at], by, data[at+len(by):])
}

// central returns where the first entry of a zip's directory is.
func central(data []byte) int { return bytes.Index(data, []byte("PK\x01\x02")) }

// overlapping returns a zip whose second member is the first one's bytes once more.
func overlapping(t testing.TB) []byte {
	data := makeZip(t, entry{name: "a", text: "text"}, entry{name: "b", text: "text"})
	second := central(data) + 46 + 1 + bytes.Index(data[central(data)+47:], []byte("PK\x01\x02"))
	return patched(data, second+42, 0, 0, 0, 0) // where its header is
}

// manyEntries returns a zip with an entry of its directory many times, and a count that hides it.
func manyEntries(t testing.TB, n int) []byte {
	data := makeZip(t, entry{name: "a", text: "x"})
	at, end := central(data), bytes.Index(data, []byte("PK\x05\x06"))
	record := data[at:end]
	out := slices.Concat(data[:at], bytes.Repeat(record, n), data[end:])
	eocd := len(out) - 22
	binary.LittleEndian.PutUint16(out[eocd+8:], uint16(n))
	binary.LittleEndian.PutUint16(out[eocd+10:], uint16(n))
	binary.LittleEndian.PutUint32(out[eocd+12:], uint32(n*len(record)))
	return out
}

// bomb returns a zip of a file that is larger than the zip says.
func bomb(t testing.TB, size int) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "zeros", Method: zip.Deflate})
	if err == nil {
		_, err = f.Write(make([]byte, size))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	return data
}

// lying returns a zip whose directory says that its file has another size.
func lying(t testing.TB, size, says int) []byte {
	data := bytes.Clone(bomb(t, size))
	binary.LittleEndian.PutUint32(data[central(data)+24:], uint32(says))
	return data
}

// sparse returns a tar with a sparse file of the old kind of GNU, all of it a hole.
func sparse(t testing.TB, size int64) []byte {
	t.Helper()
	h := make([]byte, 512)
	copy(h, "hole")
	copy(h[100:], "0000644\x00")
	copy(h[108:], "0000000\x00")
	copy(h[116:], "0000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", 0))
	copy(h[136:], fmt.Sprintf("%011o\x00", 0))
	h[156] = tar.TypeGNUSparse
	copy(h[257:], "ustar  \x00")
	copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", size, 0))
	copy(h[483:], fmt.Sprintf("%011o\x00", size))
	sum := 8 * int(' ')
	for i, c := range h {
		if i < 148 || i >= 156 {
			sum += int(c)
		}
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return slices.Concat(h, make([]byte, 1024))
}

func bagOf(change func(map[string]string)) []entry {
	text := map[string]string{
		"bagit.txt":           "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
		"manifest-sha512.txt": "abf58fb5a29fff5c4b6d6a8a2aed74c7c6f9b1c6b3c4a8c5f1d0e7d2f3a4b5c6" + strings.Repeat("0", 64) + " data/one\n",
		"data/one":            "one",
	}
	sums := map[manifest.Algorithm]string{}
	_ = digest(sums, []manifest.Algorithm{manifest.SHA512}, strings.NewReader("one"))
	text["manifest-sha512.txt"] = sums[manifest.SHA512] + " data/one\n"
	change(text)
	var all []entry
	for _, name := range slices.Sorted(maps.Keys(text)) {
		all = append(all, entry{name: name, text: text[name], method: zip.Deflate})
	}
	return all
}

// Every code is reached, in the formats that can reach it; the message names the member and
// says what to do, and nothing is handed out.
func TestRefused(t *testing.T) {
	t.Parallel()
	good := makeTar(t, files("a", strings.Repeat("text ", 300), "b", "x")...)
	zipped := makeZip(t, files("a", strings.Repeat("text ", 300), "b", "x")...)
	small := container.Limits{Files: 2, FileBytes: 100, Bytes: 150, Ratio: 100, Depth: 1}
	steep := container.Limits{Files: 2, FileBytes: 1 << 30, Bytes: 1 << 30, Ratio: 2, Depth: 1}
	link := []entry{{name: "l", text: "a", mode: fs.ModeSymlink | 0o777, kind: tar.TypeSymlink}}
	stored := makeZip(t, entry{name: "a", text: "text"})
	tests := []struct {
		name   string
		code   domain.Code
		member string
		limits container.Limits
		data   []byte
	}{
		{"nothing", container.CodeFormat, "", wide, nil},
		{"a text", container.CodeFormat, "", wide, []byte("just a text\n")},
		{"7z", container.CodeFormat, "", wide, []byte("7z\xbc\xaf\x27\x1c\x00\x04")},
		{"gzip of a text", container.CodeFormat, "", wide, gzipped(t, bytes.Repeat([]byte("a text\n"), 200))},
		{"gzip of nothing", container.CodeFormat, "", wide, gzipped(t, nil)},
		{"a tar in zstandard in gzip", container.CodeFormat, "", wide, gzipped(t, zstandard(t, good))},

		{"tar, cut in a header", container.CodeUnreadable, "a", wide, good[:len(good)-1024-512-100]},
		{"tar, cut in a file", container.CodeUnreadable, "a", wide, good[:1000]},
		{"tar, cut between files", container.CodeUnreadable, "a", wide, good[:512+1536]},
		{"tar, without its end", container.CodeUnreadable, "b", wide, good[:len(good)-1024]},
		{"tar, and more behind", container.CodeUnreadable, "", wide, append(bytes.Clone(good), "more"...)},
		{"tar, a damaged header", container.CodeUnreadable, "a", wide, patched(good, 512+1536, 'B')},
		{"gzip, cut", container.CodeUnreadable, "", wide, gzipped(t, good)[:60]},
		{"gzip, cut in its end", container.CodeUnreadable, "", wide, gzipped(t, good)[:len(gzipped(t, good))-3]},
		{"gzip, a damaged header", container.CodeUnreadable, "", wide, append([]byte("\x1f\x8b"), make([]byte, 600)...)},
		{"gzip, another checksum", container.CodeUnreadable, "", wide, patched(gzipped(t, good), len(gzipped(t, good))-8, 0, 0, 0, 0)},
		{"zstandard, cut", container.CodeUnreadable, "", wide, zstandard(t, good)[:20]},
		{"bzip2, cut", container.CodeUnreadable, "", wide, bzipped(t)[:60]},
		{"bzip2, damaged", container.CodeUnreadable, "", wide, patched(bzipped(t), 60, 0xff, 0xff)},
		{"zip, cut", container.CodeUnreadable, "", wide, zipped[:len(zipped)-10]},
		{"zip, without its beginning", container.CodeUnreadable, "", wide, append([]byte("PK\x03\x04"), zipped[central(zipped)+50:]...)},
		{"zip, a damaged header of a file", container.CodeUnreadable, "b", wide, patched(zipped, bytes.LastIndex(zipped, []byte("PK\x03\x04")), 'p')},
		{"zip, a damaged stream", container.CodeUnreadable, "a", wide, patched(zipped, 31, 0xff, 0xff, 0xff)},
		{"zip, more in the file than it says", container.CodeUnreadable, "zeros", wide, lying(t, 2000, 1000)},
		{"zip, less in the file than it says", container.CodeUnreadable, "zeros", wide, lying(t, 2000, 3000)},
		{"zip, a file behind the end", container.CodeUnreadable, "a", wide, patched(stored, central(stored)+20, 0xff, 0xff, 0xff, 0x7f)},

		{"zip, another checksum", container.CodeChecksum, "a", wide, patched(stored, bytes.Index(stored, []byte("text")), 'T')},
		{"zip, encrypted", container.CodeEncrypted, "a", wide, patched(stored, central(stored)+8, 1)},
		{"zip, encrypted by AES", container.CodeEncrypted, "a", wide, patched(stored, central(stored)+10, 99)},
		{"zip, LZMA", container.CodeMethod, "a", wide, patched(stored, central(stored)+10, 14)},
		{"zip, an unknown method", container.CodeMethod, "a", wide, patched(stored, central(stored)+10, 77)},
		{"zip, overlapping", container.CodeOverlap, "b", wide, overlapping(t)},

		{"empty zip", container.CodeEmpty, "", wide, makeZip(t)},
		{"empty tar", container.CodeEmpty, "", wide, makeTar(t)},
		{"folders only, zip", container.CodeEmpty, "", wide, makeZip(t, entry{name: "a/"})},
		{"folders only, tar", container.CodeEmpty, "", wide, makeTar(t, entry{name: "a/", kind: tar.TypeDir})},

		{"zip that leaves the object", container.CodeName, "../a", wide, makeZip(t, files("x", "", "../a", "")...)},
		{"tar that leaves the object", container.CodeName, "a/../../b", wide, makeTar(t, files("x", "", "a/../../b", "")...)},
		{"absolute", container.CodeName, "/etc/passwd", wide, makeTar(t, files("/etc/passwd", "")...)},
		{"backslash", container.CodeName, `a\b`, wide, makeZip(t, files(`a\b`, "")...)},
		{"NUL", container.CodeName, "a\x00b", wide, makeZip(t, files("a\x00b", "")...)},
		{"Latin-1", container.CodeName, "caf\xe9", wide, makeZip(t, files("caf\xe9", "")...)},
		{"a folder that leaves", container.CodeName, "../", wide, makeZip(t, entry{name: "../"})},

		{"symbolic link, zip", container.CodeLink, "l", wide, makeZip(t, link...)},
		{"symbolic link, tar", container.CodeLink, "l", wide, makeTar(t, link...)},
		{"hard link", container.CodeLink, "l", wide, makeTar(t, entry{name: "l", text: "a", kind: tar.TypeLink})},
		{"device", container.CodeSpecial, "d", wide, makeTar(t, entry{name: "d", kind: tar.TypeChar})},
		{"block device", container.CodeSpecial, "d", wide, makeTar(t, entry{name: "d", kind: tar.TypeBlock})},
		{"pipe", container.CodeSpecial, "p", wide, makeTar(t, entry{name: "p", kind: tar.TypeFifo})},
		{"device, zip", container.CodeSpecial, "d", wide, makeZip(t, entry{name: "d", mode: fs.ModeDevice | 0o600})},
		{"pipe, zip", container.CodeSpecial, "p", wide, makeZip(t, entry{name: "p", mode: fs.ModeNamedPipe | 0o600})},
		{"socket, zip", container.CodeSpecial, "s", wide, makeZip(t, entry{name: "s", mode: fs.ModeSocket | 0o600})},

		{"twice, zip", container.CodeDuplicate, "a", wide, makeZip(t, files("a", "1", "a", "2")...)},
		{"twice, tar", container.CodeDuplicate, "./a", wide, makeTar(t, files("a", "1", "./a", "2")...)},
		{"case", container.CodeDuplicate, "A.TXT", wide, makeZip(t, files("a.txt", "1", "A.TXT", "2")...)},
		{"Unicode form", container.CodeDuplicate, "e\u0301", wide, makeTar(t, files("\u00e9", "1", "e\u0301", "2")...)},
		{"its own name", container.CodeDuplicate, "box", wide, makeTar(t, files("box", "1")...)},
		{"file and folder", container.CodeConflict, "a/b", wide, makeZip(t, files("a/b", "1", "A", "2")...)},

		{"files", container.CodeFiles, "c", small, makeZip(t, files("a", "", "b", "", "c", "")...)},
		{"a hidden directory", container.CodeFiles, "", wide, manyEntries(t, 60_000)},
		{"a file", container.CodeFileBytes, "a", small, makeTar(t, files("a", strings.Repeat("x", 101))...)},
		{"a sparse file", container.CodeFileBytes, "hole", wide, sparse(t, 2<<30)},
		{"bytes", container.CodeBytes, "b", small, makeTar(t, files("a", strings.Repeat("x", 100), "b", strings.Repeat("x", 100))...)},
		{"bomb", container.CodeRatio, "zeros", steep, bomb(t, container.RatioFrom+1)},
		{"sparse bomb", container.CodeRatio, "hole", wide, sparse(t, 1<<30)},
		{"zeros behind a tar", container.CodeRatio, "", steep, gzipped(t, append(makeTar(t, files("a", "x")...), make([]byte, container.RatioFrom+rawSlack+4*perMember)...))},
		{"depth", container.CodeDepth, "a/b/c", small, makeZip(t, files("a/b/c", "")...)},

		{"citation", container.CodeERC, "mrt-erc.txt", wide, makeZip(t, files("mrt-erc.txt", "who: \xff")...)},
		{"citation, too long", container.CodeERC, "mrt-erc.txt", wide, makeZip(t, files("mrt-erc.txt", strings.Repeat("who: x\n", 20_000))...)},

		{"a bag with another digest", bag.CodeDigest, "data/one", wide, makeTar(t, bagOf(func(f map[string]string) { f["data/one"] = "two" })...)},
		{"a bag without a file", bag.CodeMissing, "data/one", wide, makeZip(t, bagOf(func(f map[string]string) { delete(f, "data/one") })...)},
		{"a bag with fetch.txt", bag.CodeFetch, "fetch.txt", wide, makeZip(t, bagOf(func(f map[string]string) { f["fetch.txt"] = "http://example.org/ 1 data/x\n" })...)},
		{"a bag with large texts", bag.CodeText, "manifest-sha256.txt", container.Limits{Files: 50, FileBytes: 1 << 30, Bytes: 1 << 30, Ratio: 1 << 20, Depth: 8},
			makeZip(t, bagOf(func(f map[string]string) { f["manifest-sha256.txt"] = strings.Repeat("\n", MaxTexts+1) })...)},
	}
	reached := map[domain.Code]bool{}
	for _, tt := range tests {
		list, err := Inspect(t.Context(), of(tt.data), tt.limits)
		var e *container.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Member != tt.member || !strings.Contains(e.Message, ": ") && !strings.Contains(e.Message, "; ") || tt.member != "" && !strings.Contains(e.Message, container.Quote(tt.member)) {
			t.Errorf("%s: %+v, %v, want %s about %q", tt.name, list.Files, err, tt.code, tt.member)
			continue
		}
		reached[tt.code] = true
	}
	for _, code := range []domain.Code{container.CodeFormat, container.CodeUnreadable, container.CodeChecksum, container.CodeEncrypted, container.CodeMethod,
		container.CodeOverlap, container.CodeEmpty, container.CodeName, container.CodeLink, container.CodeSpecial, container.CodeDuplicate, container.CodeConflict,
		container.CodeFiles, container.CodeFileBytes, container.CodeBytes, container.CodeRatio, container.CodeDepth, container.CodeERC, bag.CodeText} {
		if !reached[code] {
			t.Errorf("nothing is refused for %s", code)
		}
	}
}

// A container that cannot be read, or whose reading is to end, is not called bad.
func TestOwnTrouble(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, data := range map[string][]byte{"zip": makeZip(t, files("a", "x")...), "tar": makeTar(t, files("a", "x")...), "gzip": gzipped(t, makeTar(t, files("a", "x")...))} {
		if _, err := Inspect(ended, of(data), wide); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		c := of(data)
		c.Data = io.NewSectionReader(broken{c.Data, int64(len(data) / 3)}, 0, c.Size)
		_, err := Inspect(t.Context(), c, wide)
		var e *container.Error
		if !errors.Is(err, errDisk) || errors.As(err, &e) {
			t.Errorf("%s on a broken disk: %v", name, err)
		}
		list, err := Inspect(t.Context(), of(data), wide)
		if err != nil {
			t.Fatal(err)
		}
		own := errors.New("ours")
		if err := Extract(t.Context(), of(data), wide, list, func(int, io.Reader) error { return own }); !errors.Is(err, own) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errDisk = errors.New("the disk is broken")

// broken is a file whose end cannot be read.
type broken struct {
	io.ReaderAt
	from int64
}

func (b broken) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.from {
		return 0, errDisk
	}
	return b.ReaderAt.ReadAt(p, off)
}

// What was inspected and is another container now is not handed out as if it were the same.
func TestChangedContainer(t *testing.T) {
	t.Parallel()
	list, err := Inspect(t.Context(), of(makeZip(t, files("a", "one", "b", "x")...)), wide)
	if err != nil {
		t.Fatal(err)
	}
	for name, now := range map[string][]byte{
		"other content": makeZip(t, files("a", "two", "b", "x")...), "other name": makeZip(t, files("c", "one", "b", "x")...),
		"more": makeZip(t, files("a", "one", "b", "x", "c", "")...), "less": makeZip(t, files("a", "one")...),
	} {
		err := Extract(t.Context(), of(now), wide, list, func(_ int, r io.Reader) error { return second(io.Copy(io.Discard, r)) })
		if !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A bag by several algorithms, in each format, with the citation in its payload; and without
// a citation that is elsewhere.
func TestBags(t *testing.T) {
	t.Parallel()
	const cited = "who: Ibu\nwhere-local: b1; b2\n"
	all := bagOf(func(f map[string]string) {
		f["data/mrt-erc.txt"] = cited
		f["manifest-sha512.txt"], f["manifest-sha256.txt"] = "", ""
		for _, name := range []string{"data/mrt-erc.txt", "data/one"} {
			sums := map[manifest.Algorithm]string{}
			_ = digest(sums, []manifest.Algorithm{manifest.SHA512, manifest.SHA256}, strings.NewReader(f[name]))
			f["manifest-sha512.txt"] += sums[manifest.SHA512] + " " + name + "\n"
			f["manifest-sha256.txt"] += sums[manifest.SHA256] + " " + name + "\n"
		}
	})
	for i := range all {
		all[i].name = "maps/" + all[i].name
	}
	for name, data := range map[string][]byte{"zip": makeZip(t, all...), "tar.zst": zstandard(t, makeTar(t, all...))} {
		list, got, err := extracted(t.Context(), data, wide)
		if err != nil || len(got) != 5 || list.Bag == nil || list.Bag.Root != "maps/" || list.Bag.Version != "1.0" || !slices.Equal(list.Bag.Algorithms, []string{"sha256", "sha512"}) {
			t.Errorf("%s: %+v, %v", name, list, err)
			continue
		}
		if list.ERC == nil || list.ERC.Who != "Ibu" || !slices.Equal(list.ERC.LocalIDs, []string{"b1", "b2"}) {
			t.Errorf("%s: %+v", name, list.ERC)
		}
	}
	list, _, err := extracted(t.Context(), makeZip(t, files("in/mrt-erc.txt", cited, "x", "")...), wide)
	if err != nil || list.ERC != nil {
		t.Errorf("%+v, %v", list.ERC, err)
	}
	if list, _, err = extracted(t.Context(), makeZip(t, files("mrt-erc.txt", cited)...), wide); err != nil || list.ERC == nil {
		t.Errorf("%+v, %v", list.ERC, err)
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	sums := map[manifest.Algorithm]string{}
	if err := digest(sums, manifest.Algorithms(), strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for _, a := range manifest.Algorithms() {
		if _, err := a.CheckDigest(sums[a]); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
	if want := fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte("x"))); sums[manifest.CRC32] != want {
		t.Errorf("got %s, want %s", sums[manifest.CRC32], want)
	}
	if err := digest(sums, []manifest.Algorithm{"none"}, strings.NewReader("x")); err == nil {
		t.Error("an unknown algorithm is taken")
	}
}

// FuzzInspect: no bytes make it panic or read without end; what it takes has sound names, and
// is handed out as it was found.
func FuzzInspect(f *testing.F) {
	plain := makeTar(f, append([]entry{{name: "a/", kind: tar.TypeDir}, {name: "l", text: "a", kind: tar.TypeSymlink}}, files("a/b", "text", "c", "x")...)...)
	sound := makeTar(f, files("a/b", "text", "c", "x")...)
	for _, data := range [][]byte{
		plain, sound, gzipped(f, sound), zstandard(f, sound), bzipped(f), makeZip(f, files("a/b", "text", "c", "x")...), overlapping(f), lying(f, 2000, 1000),
		sparse(f, 1000), makeZip(f, bagOf(func(map[string]string) {})...), makeTar(f, bagOf(func(map[string]string) {})...), makeZip(f, files("mrt-erc.txt", "who: x")...),
	} {
		f.Add(data)
	}
	limits := container.Limits{Files: 20, FileBytes: 1 << 16, Bytes: 1 << 17, Ratio: 50, Depth: 4}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, got, err := extracted(context.Background(), data, limits)
		if err != nil {
			var e *container.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is not about the container", err)
			}
			return
		}
		if len(list.Files) == 0 || len(list.Files) > limits.Files || list.Bytes() > limits.Bytes || len(got) != len(list.Files) {
			t.Fatalf("%+v", list)
		}
		for _, file := range list.Files {
			if err := manifest.CheckName(file.Name); err != nil || int64(len(got[file.Name])) != file.Size {
				t.Fatalf("%+v, %v", file, err)
			}
		}
	})
}
