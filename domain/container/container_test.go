package container

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

var wide = Limits{Files: 100, FileBytes: 1 << 40, Bytes: 1 << 40, Ratio: 1000, Depth: 8}

// check runs a checker over members of a container "box.zip" of 100 bytes.
func check(limits Limits, members ...Member) (names []string, err error) {
	c := NewChecker("box.zip", 100, limits)
	for _, m := range members {
		name, err := c.Member(m)
		if err != nil {
			return names, err
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names, c.End()
}

// refused checks the code, and that the message names the member and a remedy.
func refused(t *testing.T, err error, code domain.Code, member string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	if r := e.Reason(); r.Class != domain.ClassContent || r.Code != code || r.Message != e.Message {
		t.Errorf("its reason is %+v", r)
	}
	if e.Member != member || member != "" && !strings.HasPrefix(e.Message, Quote(member)) || !strings.Contains(e.Message, ": ") && !strings.Contains(e.Message, "; ") {
		t.Errorf("the message does not name %q with a remedy: %s", member, e.Message)
	}
}

func file(name string) Member { return Member{Name: name, Size: 1} }

func TestMembersThatAreTaken(t *testing.T) {
	t.Parallel()
	names, err := check(wide,
		Member{Name: "./", Kind: Folder}, Member{Name: ".", Kind: Folder}, Member{Name: "a/", Kind: Folder}, Member{Name: "a/b/", Kind: Folder},
		file("./a/b/c.txt"), file("././/d"), file("e\u0301"), file("A b"), file("a0"), file("x/box.zip"), file(".hidden"), file("..."), file("a/b0"))
	want := []string{"a/b/c.txt", "d", "\u00e9", "A b", "a0", "x/box.zip", ".hidden", "...", "a/b0"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v, want %q", names, err, want)
	}
}

// Every code that the rules alone decide is reached, with the name of the member and a remedy.
func TestMembersThatAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", manifest.MaxSegmentBytes+1)
	for _, name := range []string{"", "/", "/etc/passwd", "..", "../a", "a/../b", "a/..", "a//b", "a/./b", `a\b`, `..\a`, "a\x00b", "a\nb", "a\x1b[31m", "a\u202eb", "a\u200bb", "\xff\xfe", long, "./", "./../a", "a/"} {
		_, err := check(wide, file(name))
		refused(t, err, CodeName, name)
	}
	for _, name := range []string{"../", "/", "//", "a/../", "/abs/"} {
		_, err := check(wide, Member{Name: name, Kind: Folder}, file("x"))
		refused(t, err, CodeName, name)
	}
	deep := strings.Repeat("d/", 9) + "f"
	huge := Member{Name: "big", Size: 11}
	tests := []struct {
		code    domain.Code
		member  string
		limits  Limits
		members []Member
	}{
		{CodeLink, "l", wide, []Member{{Name: "l", Kind: Link, What: "a symbolic link"}}},
		{CodeLink, "l", wide, []Member{{Name: "l", Kind: Link}}},
		{CodeSpecial, "p", wide, []Member{{Name: "p", Kind: Special, What: "a pipe"}}},
		{CodeDuplicate, "a", wide, []Member{file("a"), file("a")}},
		{CodeDuplicate, "./a", wide, []Member{file("a"), file("./a")}},
		{CodeDuplicate, "A/B", wide, []Member{file("a/b"), file("A/B")}},
		{CodeDuplicate, "e\u0301", wide, []Member{file("\u00e9"), file("e\u0301")}},
		{CodeDuplicate, "E\u0301", wide, []Member{file("\u00e9"), file("E\u0301")}},
		{CodeDuplicate, "\u212a", wide, []Member{file("k"), file("\u212a")}}, // the sign of Kelvin
		{CodeDuplicate, "σ", wide, []Member{file("ς"), file("σ")}},
		{CodeDuplicate, "box.zip", wide, []Member{file("box.zip")}},
		{CodeConflict, "a/b", wide, []Member{file("a"), file("a/b")}},
		{CodeConflict, "a/b", wide, []Member{file("a/b"), file("A")}},
		{CodeConflict, "a/b/c", wide, []Member{file("a-"), file("a/b/c"), file("a"), file("a0")}},
		{CodeEmpty, "", wide, nil},
		{CodeEmpty, "", wide, []Member{{Name: "only/", Kind: Folder}}},
		{CodeDepth, deep, wide, []Member{file(deep)}},
		{CodeDepth, deep + "/", wide, []Member{{Name: deep + "/", Kind: Folder}}},
		{CodeFiles, "c", Limits{Files: 2, FileBytes: 9, Bytes: 9, Ratio: 1, Depth: 1}, []Member{file("a"), file("b"), file("c")}},
		{CodeFileBytes, "big", Limits{Files: 2, FileBytes: 10, Bytes: 99, Ratio: 1, Depth: 1}, []Member{huge}},
		{CodeBytes, "b", Limits{Files: 2, FileBytes: 10, Bytes: 10, Ratio: 1, Depth: 1}, []Member{{Name: "a", Size: 6}, {Name: "b", Size: 6}}},
		{CodeRatio, "b", Limits{Files: 2, FileBytes: 1 << 40, Bytes: 1 << 40, Ratio: 2, Depth: 1}, []Member{{Name: "a", Size: RatioFrom}, {Name: "b", Size: 1}}},
	}
	for _, tt := range tests {
		_, err := check(tt.limits, tt.members...)
		refused(t, err, tt.code, tt.member)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limits     Limits
		size, want int64
	}{
		{Limits{Bytes: 1 << 40, Ratio: 100}, 1 << 20, 100 << 20},
		{Limits{Bytes: 1 << 40, Ratio: 100}, 10, RatioFrom},
		{Limits{Bytes: 1 << 20, Ratio: 100}, 10, 1 << 20},
		{Limits{Bytes: 1 << 40, Ratio: 100}, 1 << 39, 1 << 40},
		{Limits{Bytes: 1 << 60, Ratio: 1 << 30}, 1 << 60, 1 << 60},
	} {
		if got := tt.limits.MaxBytes(tt.size); got != tt.want {
			t.Errorf("%+v, a container of %d: %d, want %d", tt.limits, tt.size, got, tt.want)
		}
	}
	c := NewChecker("", 1<<20, Limits{Bytes: 1 << 40, Ratio: 100})
	if err := c.Limit("a", 100<<20); err != nil {
		t.Error(err)
	}
	refused(t, c.Limit("a", 100<<20+1), CodeRatio, "a")
}

func TestDetect(t *testing.T) {
	t.Parallel()
	old := make([]byte, HeadBytes)
	copy(old, "name")
	copy(old[148:], fmt.Sprintf("%06o\x00 ", 'n'+'a'+'m'+'e'+8*' '))
	ustar := make([]byte, HeadBytes)
	copy(ustar[257:], "ustar\x0000")
	for head, want := range map[string]Format{
		"PK\x03\x04…": Zip, "PK\x05\x06": Zip, "\x1f\x8b\x08": TarGzip, "BZh9": TarBzip2, "\x28\xb5\x2f\xfd": TarZstd,
		string(old): Tar, string(ustar): Tar, string(make([]byte, HeadBytes)): Tar,
	} {
		if got, err := Detect([]byte(head)); err != nil || got != want {
			t.Errorf("%.10q: %s, %v, want %s", head, got, err, want)
		}
	}
	for _, head := range []string{"", "plain", "\xfd7zXZ\x00", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", strings.Repeat("x", HeadBytes), "PK"} {
		_, err := Detect([]byte(head))
		refused(t, err, CodeFormat, "")
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	if got := Quote(strings.Repeat("é", 200)); len(got) > maxQuoted+10 || !strings.HasSuffix(got, `…"`) {
		t.Errorf("got %s", got)
	}
	if got := Quote("a\x1b]"); got != `"a\x1b]"` {
		t.Errorf("got %s", got)
	}
}

func TestParseERC(t *testing.T) {
	t.Parallel()
	const name = "mrt-erc.txt"
	for text, want := range map[string]ERC{
		"": {},
		"erc:\nwho: Ibu\nwhat: Maps\nwhen: 1870\nwhere-primary: ark:/99999/fk4x\nwhere-local: a; b;a\n": {"Ibu", "Maps", "1870", "ark:/99999/fk4x", []string{"a", "b"}},
		"\ufefferc:\r\n# a remark\r\nWHO:  A long\r\n  name\r\nwho: another\r\nwhat: 100%25 \u00e9\r\n": {Who: "A long name", What: "100% \u00e9"},
		"where: ark:/99999/fk4x\nwhere: one\nwhere: http://example.org/two":                             {Primary: "ark:/99999/fk4x", LocalIDs: []string{"one", "http://example.org/two"}},
		"who: (:unas)\nwhere-primary: (:unas)\nwhere-local: (:unas)\nwhat: (:unav)":                     {},
		"who:\n what\nwhen : 1\n: x\nwhere-local: ;;\nhow: not known\n%41 b: c\n":                       {Who: "what", When: "1"},
		"what: 5% of it, %4\n": {What: "5% of it, %4"},
	} {
		got, err := ParseERC(name, []byte(text))
		if err != nil || got.Who != want.Who || got.What != want.What || got.When != want.When || got.Primary != want.Primary || !slices.Equal(got.LocalIDs, want.LocalIDs) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"who: \xff", "who: a\x00b", "who: a%0Ab", "who: %ff", "where-local: \u202ex", strings.Repeat("x", MaxCitation+1)} {
		_, err := ParseERC(name, []byte(text))
		refused(t, err, CodeERC, name)
	}
}

func FuzzParseERC(f *testing.F) {
	f.Add([]byte("erc:\nwho: a\n b\nwhere: ark:/1/2\nwhere-local: a;b%20\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseERC("mrt-erc.txt", data)
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || at.Code != CodeERC {
				t.Fatal(err)
			}
			return
		}
		for _, v := range append(e.LocalIDs, e.Who, e.What, e.When, e.Primary) {
			if strings.ContainsAny(v, "\n\r\x00") || strings.HasPrefix(v, "(:") {
				t.Fatalf("%q of %q", v, data)
			}
		}
	})
}

// FuzzChecker: whatever the names are, those that are taken can stand side by side in an
// object, on any file system.
func FuzzChecker(f *testing.F) {
	f.Add("a\nb/c\n./d\nA")
	f.Add("a/b\na")
	f.Add("e\u0301\n\u00e9")
	f.Fuzz(func(t *testing.T, list string) {
		var members []Member
		for _, name := range strings.Split(list, "\n") {
			members = append(members, file(name))
		}
		names, err := check(Limits{Files: 50, FileBytes: 10, Bytes: 40, Ratio: 10, Depth: 3}, members...)
		if err != nil {
			var at *Error
			if !errors.As(err, &at) || !slices.Contains(codes, at.Code) {
				t.Fatalf("%q: %v", list, err)
			}
			return
		}
		for i, name := range names {
			if err := manifest.CheckName(name); err != nil || manifest.NormalName(name) != name {
				t.Fatalf("%q: %v", name, err)
			}
			for _, other := range names[:i] {
				if strings.EqualFold(name, other) || strings.HasPrefix(strings.ToLower(name), strings.ToLower(other)+"/") || strings.HasPrefix(strings.ToLower(other), strings.ToLower(name)+"/") {
					t.Fatalf("%q beside %q", name, other)
				}
			}
		}
	})
}

// codes are all codes of what is wrong with members.
var codes = []domain.Code{CodeFormat, CodeUnreadable, CodeChecksum, CodeEncrypted, CodeMethod, CodeOverlap, CodeEmpty, CodeName, CodeLink, CodeSpecial,
	CodeDuplicate, CodeConflict, CodeFiles, CodeFileBytes, CodeBytes, CodeRatio, CodeDepth}
