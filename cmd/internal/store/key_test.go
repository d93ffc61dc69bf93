package store

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/manifest"
)

func TestEncodeTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, want string }{
		{"data/tide.csv", "data/tide.csv"},
		{"a b.txt", "a%20b.txt"},
		{"é.txt", "%C3%A9.txt"},
		{"100%.txt", "100%25.txt"},
		{"a~b", "a%7Eb"},
		{"odd.", "odd%2E"},
		{"...", "..%2E"},
		{"notes.attrs", "notes%2Eattrs"},
		{"x__0x41__", "x%5F_0x41__"},
		{"__0x__0x", "%5F_0x%5F_0x"},
		{strings.Repeat("a", 200), strings.Repeat("a", 200)},
		{strings.Repeat("a", 201), strings.Repeat("a", 100) + "~" + hexSum(strings.Repeat("a", 201))},
	} {
		if got := encodePath(c.name); got != c.want {
			t.Errorf("%q gives %q, want %q", c.name, got, c.want)
		}
		if err := checkKey("x/" + encodePath(c.name)); err != nil {
			t.Error(err)
		}
	}
	if got, want := VersionPrefix("ark:/99999/fk4.x-Y", 12), "/ark+=99999=fk4,x-2d-59/v12"; !strings.HasSuffix(got, want) {
		t.Errorf("%q does not end in %q", got, want)
	}
}

// Every name that the rule lets through has a key of its own, which a bucket
// takes as it is, and which is its own URL path.
func TestEncodedNamesAreKeysOneToOne(t *testing.T) {
	t.Parallel()
	segment := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9 ._~%:|éß漢-]{1,12}`),
		rapid.StringMatching(`(__0x|\.attrs|%2E|~|\.){1,5}`),
		rapid.StringMatching(`[aé%]{60,120}`),
	)
	name := rapid.Custom(func(t *rapid.T) string {
		return manifest.NormalName(strings.Join(rapid.SliceOfN(segment, 1, 8).Draw(t, "segments"), "/"))
	}).Filter(func(n string) bool { return CheckName(n) == nil })
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		key := "objects/" + encodePath(a)
		if err := checkKey(key); err != nil {
			t.Fatal(err)
		}
		if (a == b) != (encodePath(a) == encodePath(b)) {
			t.Fatalf("%q and %q both give %q", a, b, encodePath(a))
		}
		u, err := url.Parse(URL(key))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(key, "~") && u.Path != "/objects/"+a {
			t.Fatalf("the URL's path reads %q, the name is %q", u.Path, a)
		}
		if back, ok := KeyOf(URL(key)); !ok || back != key {
			t.Fatalf("%q comes back as %q, %v", key, back, ok)
		}
	})
}

func TestEncodedIdentifiersOneToOne(t *testing.T) {
	t.Parallel()
	id := rapid.OneOf(rapid.StringN(1, 300, 300), rapid.StringMatching(`[a-z/:.=+,^-]{1,8}`), rapid.StringMatching(`ark:/[0-9]{5}/[a-z0-9]{1,9}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		if (a == b) != (encodeID(a) == encodeID(b)) {
			t.Fatalf("%q and %q both give %q", a, b, encodeID(a))
		}
		if rest := strings.Trim(encodeID(a), "abcdefghijklmnopqrstuvwxyz0123456789=+,-"); rest != "" {
			t.Fatalf("%q holds %q", encodeID(a), rest)
		}
		if err := checkKey(ManifestKey(a, 1)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestHostileKeysAndURLs(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", "/etc/passwd", "..", "a/../../b", "a/./b", "a//b", "a/", `a\b`, "a\x00b", "a\nb", "é", "a b",
		"a.attrs", "a__0x2f__b", "a?b", "a#b", "a../b", strings.Repeat("a/", 600) + "a", strings.Repeat("a", 256),
	} {
		mustCode(t, checkKey(key), CodeBadKey)
		if got, ok := KeyOf("store:///" + key); ok {
			t.Errorf("%q was taken as the URL of %q", key, got)
		}
	}
	for _, u := range []string{"store://host/a", "http://x/a", "store:/a", "a", "store:///a?x=1", "file:///a"} {
		if got, ok := KeyOf(u); ok {
			t.Errorf("%q was taken as the URL of %q", u, got)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, n := range []string{"a", "a/b.txt", "..a", "a..", "é", "漢字/x", strings.Repeat("a", 255), ".hidden"} {
		if err := CheckName(n); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []string{
		"", ".", "..", "../evil", "a/../../evil", "/abs", "a//b", "a/", "./a", `..\evil`, "a\x00", "a\nb", "a\x7f",
		"\xff", "e\u0301", "a\u2028b", strings.Repeat("a", 256), strings.Repeat("ab/", 1400) + "a",
	} {
		mustCode(t, CheckName(n), CodeBadName)
	}
	mustCode(t, checkNames([]string{"a", "b", "a"}), CodeBadName)
	mustCode(t, checkNames([]string{"a/b/c", "a"}), CodeBadName)
	mustCode(t, checkNames([]string{"é", "e\u0301"}), CodeBadName)
	if err := checkNames([]string{"a/b", "a/c", "ab"}); err != nil {
		t.Error(err)
	}
}
