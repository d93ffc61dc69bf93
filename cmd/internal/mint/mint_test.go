package mint_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/domain"
)

const alphabet = "0123456789bcdfghjkmnpqrstvwxz"

func code(err error) domain.Code {
	var e *mint.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func minters() *rapid.Generator[mint.Minter] {
	return rapid.Custom(func(t *rapid.T) mint.Minter {
		if rapid.Bool().Draw(t, "doi") {
			return mint.Minter{
				Scheme:    mint.DOI,
				Authority: rapid.StringMatching(`10\.[0-9]{4,6}`).Draw(t, "prefix"),
				Shoulder:  rapid.StringMatching(`[bcdfghjkmnpqrstvwxz]{1,8}[0-9]`).Draw(t, "shoulder"),
			}
		}
		return mint.Minter{
			Authority: rapid.StringMatching(`[0-9bcdfghjkmnpqrstvwxz]{5,9}`).Draw(t, "naan"),
			Shoulder:  rapid.StringMatching(`[bcdfghjkmnpqrstvwxz]{1,8}[0-9]`).Draw(t, "shoulder"),
		}
	})
}

func TestDerive(t *testing.T) {
	t.Parallel()
	m := mint.Minter{Authority: "99999", Shoulder: "fk4"}
	for _, c := range []struct {
		jid, want string
		code      domain.Code
	}{
		{jid: "jid0000000000", want: "ark:/99999/fk4000000q"},
		{jid: "jid0000000042", want: "ark:/99999/fk400001fx"},
		{jid: "jid42", code: mint.CodeJobIDInvalid},
		{jid: "bid0000000042", code: mint.CodeJobIDInvalid},
		{jid: "jid00000000042", code: mint.CodeJobIDInvalid},
		{jid: "jid-000000042", code: mint.CodeJobIDInvalid},
		{jid: "jid+000000042", code: mint.CodeJobIDInvalid},
		{jid: "jid99999999999999999999", code: mint.CodeJobIDInvalid},
		{jid: "", code: mint.CodeJobIDInvalid},
	} {
		got, err := m.Derive(c.jid)
		if code(err) != c.code {
			t.Errorf("Derive(%q): error %v, want code %q", c.jid, err, c.code)
		}
		if c.code == "" && got != c.want {
			t.Errorf("Derive(%q) = %q, want %q", c.jid, got, c.want)
		}
	}
	for name, want := range map[string]bool{
		"ark:/99999/fk400001fx": true, "ark:/99999/fk4given": false, "ark:/99999/fk4000000q": false, "ark:/99999/given": false, "": false,
	} {
		if mint.MadeFor(name, "jid0000000042") != want {
			t.Errorf("%s: made for the job: %v", name, !want)
		}
	}
	if _, err := (mint.Minter{}).Derive("jid0000000001"); code(err) != mint.CodeMinterInvalid {
		t.Errorf("an empty minter gave %v", err)
	}
}

// A depositor cannot name what a job has or may yet get: see Mintable.
func TestMintable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, n := minters().Draw(t, "minter"), rapid.Uint64Max(9_999_999_999).Draw(t, "n")
		a, err := mint.Parse(m.Name(n))
		if err != nil || !m.Mintable(a) || !m.Owns(a) {
			t.Fatalf("%v, %v: not mintable or not owned", a, err)
		}
		if other := minters().Draw(t, "other"); other != m && (other.Mintable(a) || other.Owns(a)) {
			t.Fatalf("%v is one of %v", a, other)
		}
	})
	m := mint.Minter{Authority: "99999", Shoulder: "fk4"}
	for name, want := range map[string]bool{
		"fk400001fx": true, "fk400001fx/c2": true, "fk400001fx.v1": true,
		"fk400001fz": false, "fk400001f": false, "fk4": false, "fk4given": false, "FK400001fx": false, "fk4000001fx": false, "fk400001fxx": false,
		m.Name(10_000_000_000)[len("ark:/99999/"):]: false, "fk4zzzzzzzzzzzzzzzzzzzzzzzzz": false,
	} {
		if got := m.Mintable(mint.ID{Scheme: mint.ARK, Authority: "99999", Name: name}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The published example of the check algorithm: 13030/xf93gt2 has q.
func TestCheckKnownVector(t *testing.T) {
	t.Parallel()
	if err := mint.Check("ark:/13030/xf93gt2q"); err != nil {
		t.Error(err)
	}
	for _, last := range strings.Replace(alphabet, "q", "", 1) {
		if mint.Check("ark:/13030/xf93gt2"+string(last)) == nil {
			t.Errorf("check character %q is accepted", last)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := minters().Draw(t, "a"), minters().Draw(t, "b")
		if rapid.Bool().Draw(t, "same minter") {
			b = a
		}
		n, m := rapid.Uint64().Draw(t, "n"), rapid.Uint64().Draw(t, "m")
		same := a == b && n == m
		if (a.Name(n) == b.Name(m)) != same {
			t.Fatalf("%v %d and %v %d: %s, %s", a, n, b, m, a.Name(n), b.Name(m))
		}
	})
	seen := map[string]bool{}
	m := mint.Minter{Authority: "99999", Shoulder: "z9"}
	const edge = 29 * 29 * 29 * 29 * 29 * 29 // where bodies grow
	for _, from := range []uint64{0, edge - 5000} {
		for n := from; n < from+10000; n++ {
			seen[m.Name(n)] = true
		}
	}
	if len(seen) != 20000 {
		t.Fatalf("20000 numbers gave %d names", len(seen))
	}
}

// Every substitution and every swap of neighbours is tried, in the authority
// number, the shoulder, the body and the check character.
func TestCheckFindsTypingErrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := minters().Draw(t, "minter").Name(rapid.Uint64Max(500_246_412_960).Draw(t, "n")) // bodies of up to 8
		slash := strings.LastIndexByte(name, '/')
		if err := mint.Check(name); err != nil {
			t.Fatalf("the name itself: %v", err)
		}
		for i := len("ark:/"); i < len(name); i++ {
			if i == slash {
				continue
			}
			for _, c := range alphabet + "lA~" {
				bad := name[:i] + string(c) + name[i+1:]
				if bad != name && mint.Check(bad) == nil {
					t.Fatalf("%s passes for %s", bad, name)
				}
			}
			if i+1 < len(name) && i+1 != slash {
				bad := name[:i] + string(name[i+1]) + string(name[i]) + name[i+2:]
				if bad != name && mint.Check(bad) == nil {
					t.Fatalf("%s passes for %s", bad, name)
				}
			}
		}
	})
}

// What is no identifier is refused, and is never read as another one.
// Shows: P15
func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"ark:/13030/xf93gt2q", "ark:/13030/xf93gt2q"},
		{"ark:13030/xf93gt2q", "ark:/13030/xf93gt2q"},
		{"ARK:/13030/xf93-gt2q", "ark:/13030/xf93gt2q"},
		{"ark:/1303-0/xf93\u2010gt2q", "ark:/13030/xf93gt2q"},
		{"ark:/B3030/xf93", "ark:/b3030/xf93"},
		{"ark:/13030/XF93", "ark:/13030/XF93"},
		{"ark:/13030/xf93/", "ark:/13030/xf93"},
		{"ark:/13030/xf93/c2.v1", "ark:/13030/xf93/c2.v1"},
		{"https://n2t.example/ark:/13030/xf93", "ark:/13030/xf93"},
		{"", ""},
		{"ark:", ""},
		{"ark:/99999/../../x", ""},
		{"ark:/99999/a/../x", ""},
		{"ark:/13030", ""},
		{"ark:/13030/", ""},
		{"ark:/1303/xf93", ""},
		{"ark:/1303000000/xf93", ""},
		{"ark:/13030/xf 93", ""},
		{"ark:/13030/xf93\n", ""},
		{"ark:/13030/xf93?info", ""},
		{"doi:10.5060/D2", "doi:10.5060/d2"},
		{"DOI:10.5060/d2", "doi:10.5060/d2"},
		{"https://doi.org/10.5060/D2/x-1", "doi:10.5060/d2/x-1"},
		{"http://dx.doi.org/10.5060/D2", "doi:10.5060/d2"},
		{"10.5060/D2", ""},
		{"doi:10.5060/", ""},
		{"doi:10.5060", ""},
		{"doi:11.5060/d2", ""},
		{"doi:10.5060/../x", ""},
		{"doi:10.5060/a//b", ""},
		{"doi:10.5060/a b", ""},
		{"doi:10.5060/a\n", ""},
		{"doi:10.5060/ä", ""},
		{"doi:ark:/13030/xf93", ""},
		{"doi:10.5060/" + strings.Repeat("b", 3000), ""},
		{"ark:/13030/" + strings.Repeat("b", 3000), ""},
	} {
		got, err := mint.Parse(c.in)
		if (err == nil) != (c.want != "") || err == nil && got.String() != c.want {
			t.Errorf("Parse(%.60q) = %v, %v; want %q", c.in, got, err, c.want)
		}
		if err != nil && code(err) != mint.CodeARKInvalid && code(err) != mint.CodeDOIInvalid {
			t.Errorf("Parse(%.60q): code %q", c.in, code(err))
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	t.Parallel()
	for _, bad := range []mint.Minter{
		{"", "99999", ""}, {"", "99999", "fk"}, {"", "99999", "4"}, {"", "99999", "f4k4"}, {"", "99999", "fk44"}, {"", "99999", "abc1"},
		{"", "99999", "bcdfghjkm1"}, {"", "99999", "Fk4"}, {"", "9999", "fk4"}, {"", "", "fk4"}, {"", "9999a", "fk4"}, {"", "9999999999", "fk4"}, {"", "99 99", "fk4"},
		{mint.DOI, "99999", "fk4"}, {mint.ARK, "10.5072", "fk4"}, {mint.DOI, "10.507", "fk4"}, {mint.DOI, "10.5072345", "fk4"}, {mint.DOI, "10.5072/x", "fk4"}, {"uuid", "99999", "fk4"},
	} {
		if code(bad.Validate()) != mint.CodeMinterInvalid {
			t.Errorf("%+v is accepted", bad)
		}
	}
	err := mint.Minter{Authority: "x", Shoulder: "y"}.Validate()
	if err == nil || !strings.Contains(err.Error(), "authority number") || !strings.Contains(err.Error(), "shoulder") {
		t.Errorf("not every fault is named: %v", err)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for code, want := range map[domain.Code]domain.Class{
		mint.CodeMinterInvalid: domain.ClassSystem, mint.CodeJobIDInvalid: domain.ClassSystem,
		mint.CodeARKInvalid: domain.ClassContent, mint.CodeDOIInvalid: domain.ClassContent,
	} {
		if r := (&mint.Error{Code: code, Message: "m"}).Reason(); r.Class != want || r.Code != code || r.Message != "m" {
			t.Errorf("%s: %+v", code, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"ark:/13030/xf93gt2q", "ARK:13030/xf-93", "https://n2t.example/ark:/99999/fk4", "ark:/", "://ark:", "doi:10.5060/D2", "https://doi.org/10.5072/fk4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := mint.Parse(s)
		if err != nil {
			return
		}
		again, err := mint.Parse(a.String())
		if err != nil || again != a {
			t.Fatalf("%q: normal form %q reads as %+v, %v", s, a, again, err)
		}
	})
}
