package unpack

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// TestPacked: a container is found by its first bytes, whatever its name is; what is packed in the
// same way and is no container is not.
func TestPacked(t *testing.T) {
	t.Parallel()
	box, tarred := makeZip(t, files("a", "a\n", "b", "b\n")...), makeTar(t, files("a", "a\n", "b", "b\n")...)
	text := bytes.Repeat([]byte("no tar\n"), 200)
	within := func(name string) []byte { return makeZip(t, entry{name: name, text: "x"}, entry{name: "a", text: "a"}) }
	for name, c := range map[string]struct {
		file string
		data []byte
		want bool
	}{
		"zip": {"box.bin", box, true}, "zip without an ending": {"box", box, true}, "tar": {"box.bin", tarred, true}, "tar.gz": {"box", gzipped(t, tarred), true},
		"tar.bz2": {"box", bzipped(t), true}, "tar.zst": {"box", zstandard(t, tarred), true},
		"gzip of a text": {"letter.gz", gzipped(t, text), false}, "zstandard of a text": {"letter.zst", zstandard(t, text), false}, "gzip of little": {"letter", gzipped(t, []byte("a")), false},
		"gzip that is cut off": {"box", gzipped(t, tarred)[:14], false}, "gzip in name only": {"box", []byte("\x1f\x8b\x00\x00"), false}, "bzip2 in name only": {"box", []byte("BZhello"), false},
		"text": {"letter", text, false}, "nothing": {"letter", nil, false}, "zeros": {"disk", make([]byte, 2048), false}, "zip that is cut off": {"box", box[:20], true},
		"word processor": {"a.DOCX", box, false}, "its first member": {"a", within("[Content_Types].xml"), false}, "book": {"a", within("mimetype"), false},
		"program": {"a", within("META-INF/MANIFEST.MF"), false}, "7z": {"a.7z", []byte("7z\xbc\xaf\x27\x1c"), false},
	} {
		if got := Packed(c.file, bufio.NewReader(bytes.NewReader(c.data))); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzPacked: no file stops the look at its beginning.
func FuzzPacked(f *testing.F) {
	f.Add("box", makeZip(f, files("a", "a\n")...))
	f.Add("box", gzipped(f, makeTar(f, files("a", "a\n")...)))
	f.Add("box", zstandard(f, []byte(strings.Repeat("a", 600))))
	f.Add("box", bzipped(f))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if Packed(name, bufio.NewReader(bytes.NewReader(data))) && len(data) < 4 {
			t.Errorf("%q is a container", data)
		}
	})
}
