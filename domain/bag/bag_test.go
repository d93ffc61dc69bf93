package bag

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

const declared = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"

// sound returns the files of a bag below a folder.
func sound(root string) map[string]string {
	return map[string]string{
		root + "bagit.txt":           declared,
		root + "bag-info.txt":        "Source-Organization: Example\n  library\nPayload-Oxum: 5.2\n",
		root + "manifest-sha256.txt": sha("one") + "  data/a.txt\n" + sha("2\n") + " data/b/50%25.txt\n",
		root + "tagmanifest-sha256.txt": sha(declared) + " bagit.txt\n" +
			sha("Source-Organization: Example\n  library\nPayload-Oxum: 5.2\n") + " bag-info.txt\n",
		root + "data/a.txt":     "one",
		root + "data/b/50%.txt": "2\n",
		root + "notes.txt":      "not in a tag manifest",
	}
}

// compare reads a bag as the unpacker does.
func compare(files map[string]string) (root string, is bool, err error) {
	var found []container.Found
	var all []File
	texts := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		found = append(found, container.Found{Name: name, Size: int64(len(text)), SHA256: sha(text)})
		digests := map[manifest.Algorithm]string{manifest.SHA256: sha(text)}
		if text == "one" {
			digests[manifest.MD5] = "f97c5d29941bfb1b2fdab0874906ab82"
		}
		all = append(all, File{name, int64(len(text)), digests})
		if Text(name) {
			texts[name] = []byte(text)
		}
	}
	root, is = Root(found)
	if !is {
		return root, is, nil
	}
	b, err := Read(root, texts)
	if err == nil {
		err = b.Check(all)
	}
	return root, is, err
}

func TestSoundBags(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"", "maps/"} {
		got, is, err := compare(sound(root))
		if err != nil || !is || got != root {
			t.Errorf("%q: %q, %t, %v", root, got, is, err)
		}
	}
	for name, change := range map[string]func(map[string]string){
		"older": func(f map[string]string) {
			f["bagit.txt"] = "BagIt-Version: 0.97\r\nTag-File-Character-Encoding: utf-8\r\n"
			f["manifest-sha256.txt"] = sha("one") + " *data/a.txt\r\n"
			f["manifest-md5.txt"] = ""
			f["manifest-sha-256.txt"] = strings.ToUpper(sha("2\n")) + "\t./data/b/50%.txt"
			delete(f, "tagmanifest-sha256.txt")
		},
		"two algorithms": func(f map[string]string) {
			delete(f, "data/b/50%.txt")
			f["manifest-sha256.txt"] = sha("one") + " data/a.txt"
			f["manifest-md5.txt"] = "F97C5D29941BFB1B2FDAB0874906AB82 data/a.txt"
			delete(f, "bag-info.txt")
			delete(f, "tagmanifest-sha256.txt")
		},
		"nothing to fetch": func(f map[string]string) { f["fetch.txt"] = " \n" },
		"composed otherwise": func(f map[string]string) {
			f["data/\u00e9"] = ""
			f["manifest-sha256.txt"] += sha("") + " data/e\u0301\n"
			f["bag-info.txt"] = "Payload-Oxum: 5.3"
			delete(f, "tagmanifest-sha256.txt")
		},
	} {
		files := sound("")
		change(files)
		if _, is, err := compare(files); err != nil || !is {
			t.Errorf("%s: %t, %v", name, is, err)
		}
	}
}

func TestWhatIsNoBag(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{}, {"a/bagit.txt", "b/c"}, {"a/b/bagit.txt"}, {"manifest-sha256.txt", "data/a"}, {"bagit.txt.old"}, {"a/x", "bagit"}} {
		var found []container.Found
		for _, n := range names {
			found = append(found, container.Found{Name: n})
		}
		if root, is := Root(found); is {
			t.Errorf("%q is a bag in %q", names, root)
		}
	}
}

// Every code is reached, with the name of the file and a remedy.
func TestBadBags(t *testing.T) {
	t.Parallel()
	reached := map[domain.Code]bool{CodeText: true} // of the unpacker
	for i, tt := range []struct {
		code   domain.Code
		file   string
		says   string
		change func(map[string]string)
	}{
		{CodeDeclaration, "bagit.txt", "two lines", func(f map[string]string) { f["bagit.txt"] = "" }},
		{CodeDeclaration, "bagit.txt", "two lines", func(f map[string]string) { f["bagit.txt"] = "BagIt-Version: 1.0\n" }},
		{CodeDeclaration, "bagit.txt", "two lines", func(f map[string]string) { f["bagit.txt"] = "\n" + declared }},
		{CodeDeclaration, "bagit.txt", "other lines", func(f map[string]string) { f["bagit.txt"] = declared + "More: x\n" }},
		{CodeDeclaration, "bagit.txt", "line 1", func(f map[string]string) { f["bagit.txt"] = "\ufeff" + declared }},
		{CodeDeclaration, "bagit.txt", "UTF-8", func(f map[string]string) { f["bagit.txt"] = declared + "\xff" }},
		{CodeDeclaration, "bagit.txt", `"2.0"`, func(f map[string]string) { f["bagit.txt"] = strings.Replace(declared, "1.0", "2.0", 1) }},
		{CodeDeclaration, "bagit.txt", `"0.9"`, func(f map[string]string) { f["bagit.txt"] = strings.Replace(declared, "1.0", "0.9", 1) }},
		{CodeDeclaration, "bagit.txt", `"one"`, func(f map[string]string) { f["bagit.txt"] = strings.Replace(declared, "1.0", "one", 1) }},
		{CodeEncoding, "bagit.txt", "ISO-8859-1", func(f map[string]string) { f["bagit.txt"] = strings.Replace(declared, "UTF-8", "ISO-8859-1", 1) }},
		{CodeEncoding, "bag-info.txt", "not UTF-8", func(f map[string]string) { f["bag-info.txt"] = "X: \xe9" }},
		{CodeEncoding, "manifest-sha256.txt", "not UTF-8", func(f map[string]string) { f["manifest-sha256.txt"] += sha("") + " data/\xe9" }},
		{CodeManifest, "bagit.txt", "no manifest", func(f map[string]string) { delete(f, "manifest-sha256.txt") }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += "x\n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += "zz data/a\n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += "abcd data/a\n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += sha("") + " \n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += sha("") + " data/../../x\n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += sha("") + " /data/x\n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += sha("") + " data/a%0Ab\n" }},
		{CodeManifest, "manifest-sha256.txt", "below data/ only", func(f map[string]string) { f["manifest-sha256.txt"] += sha("") + " notes.txt\n" }},
		{CodeManifest, "tagmanifest-sha256.txt", "none below data/", func(f map[string]string) { f["tagmanifest-sha256.txt"] += sha("one") + " data/a.txt\n" }},
		{CodeManifest, "manifest-sha256.txt", "lines 1 and 3", func(f map[string]string) { f["manifest-sha256.txt"] += sha("one") + " data/a.txt\n" }},
		{CodeManifest, "manifest-sha256.txt", "line 3", func(f map[string]string) { f["manifest-sha256.txt"] += sha("one") + " *data/a.txt\n" }},
		{CodeAlgorithm, "manifest-whirlpool.txt", "whirlpool", func(f map[string]string) { f["manifest-whirlpool.txt"] = "" }},
		{CodeAlgorithm, "tagmanifest-.txt", "cannot be checked", func(f map[string]string) { f["tagmanifest-.txt"] = "" }},
		{CodeMissing, "data/a.txt", "line 1 of manifest-sha256.txt", func(f map[string]string) { delete(f, "data/a.txt") }},
		{CodeMissing, "bag-info.txt", "line 2 of tagmanifest-sha256.txt", func(f map[string]string) { delete(f, "bag-info.txt") }},
		{CodeUnlisted, "data/more", "in no manifest", func(f map[string]string) { f["data/more"] = "" }},
		{CodeUnlisted, "data/b/50%.txt", "1 of the 2", func(f map[string]string) { f["manifest-md5.txt"] = "f97c5d29941bfb1b2fdab0874906ab82 data/a.txt" }},
		{CodeDigest, "data/a.txt", sha("One"), func(f map[string]string) { f["data/a.txt"] = "One" }},
		{CodeDigest, "data/b/50%.txt", "(none)", func(f map[string]string) { f["manifest-md5.txt"] = strings.Repeat("0", 32) + " data/b/50%25.txt" }},
		{CodeDigest, "bagit.txt", "tagmanifest-sha256.txt", func(f map[string]string) { f["bagit.txt"] += "\n" }},
		{CodeOxum, "bag-info.txt", "5.2", func(f map[string]string) {
			f["bag-info.txt"] = "Payload-Oxum: 5.3"
			delete(f, "tagmanifest-sha256.txt")
		}},
		{CodeOxum, "bag-info.txt", "line 2", func(f map[string]string) { f["bag-info.txt"] = "A: b\nPayload-Oxum: 5\n" }},
		{CodeOxum, "bag-info.txt", "line 1", func(f map[string]string) { f["bag-info.txt"] = "Payload-Oxum: -5.2\n" }},
		{CodeOxum, "bag-info.txt", "two", func(f map[string]string) { f["bag-info.txt"] = "Payload-Oxum: 5.2\npayload-oxum: 6.2\n" }},
		{CodeFetch, "fetch.txt", "1 in all", func(f map[string]string) { f["fetch.txt"] = "http://example.org/x 5 data/x\n" }},
	} {
		for _, root := range []string{"", "in/"} {
			files := sound("")
			tt.change(files)
			below := map[string]string{}
			for name, text := range files {
				below[root+name] = text
			}
			_, is, err := compare(below)
			var e *container.Error
			name := root + tt.file
			if !is || !errors.As(err, &e) || e.Code != tt.code || e.Member != name || !strings.Contains(strings.ReplaceAll(e.Message, root, ""), tt.says) || !strings.Contains(e.Message, ": ") {
				t.Errorf("%d: got %v, want %s about %s that says %q", i, err, tt.code, name, tt.says)
			}
		}
		reached[tt.code] = true
	}
	for _, code := range codes {
		if !reached[code] {
			t.Errorf("no bag is refused for %s", code)
		}
	}
}

// FuzzRead: no text of a bag makes it panic, and what is taken has all its files, with the
// digests that its manifests say.
func FuzzRead(f *testing.F) {
	s := sound("")
	f.Add(s["bagit.txt"], s["manifest-sha256.txt"], s["tagmanifest-sha256.txt"], s["bag-info.txt"], "")
	f.Add("BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8", sha("one")+" *data/a.txt", "", "Payload-Oxum: 3.1", "")
	f.Fuzz(func(t *testing.T, bagit, payload, tags, info, fetch string) {
		files := map[string]string{"bagit.txt": bagit, "manifest-sha256.txt": payload, "tagmanifest-sha256.txt": tags, "bag-info.txt": info, "fetch.txt": fetch, "data/a.txt": "one"}
		_, _, err := compare(files)
		if err != nil {
			var e *container.Error
			if !errors.As(err, &e) || !slices.Contains(codes, e.Code) || e.Member == "" {
				t.Fatal(err)
			}
			return
		}
		if !strings.Contains(strings.ToLower(payload), sha("one")) || strings.TrimSpace(fetch) != "" {
			t.Fatalf("taken: %q, %q", payload, fetch)
		}
	})
}

func ExampleText() {
	for _, name := range []string{"bagit.txt", "a/manifest-md5.txt", "a/b/manifest-md5.txt", "data/a.txt"} {
		fmt.Println(name, Text(name))
	}
	// Output:
	// bagit.txt true
	// a/manifest-md5.txt true
	// a/b/manifest-md5.txt false
	// data/a.txt false
}

// codes are all codes of this package.
var codes = []domain.Code{CodeDeclaration, CodeEncoding, CodeManifest, CodeAlgorithm, CodeMissing, CodeUnlisted, CodeDigest, CodeOxum, CodeFetch, CodeText}
