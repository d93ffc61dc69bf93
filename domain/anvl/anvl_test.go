package anvl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/anvl"
)

// The forms that https://ezid.cdlib.org/doc/apidoc.html shows in its sections "Request & response
// bodies", "Operation: get identifier metadata" and "Metadata profiles".
func TestPublishedForms(t *testing.T) {
	t.Parallel()
	who := []anvl.Element{{"who", "creator, A"}, {"what", "Tides of the bay"}, {"when", "1922"}}
	const text = "who: creator, A\nwhat: Tides of the bay\nwhen: 1922\n"
	if got := anvl.Encode(who); got != text {
		t.Errorf("%q", got)
	}
	if got, err := anvl.Decode(text); err != nil || !slices.Equal(got, who) {
		t.Errorf("%v %v", got, err)
	}
	got, err := anvl.Decode("erc: who: creator, A%0Awhat: Tides of the bay")
	if err != nil || len(got) != 1 || got[0] != (anvl.Element{Name: "erc", Value: "who: creator, A\nwhat: Tides of the bay"}) {
		t.Errorf("%v %v", got, err)
	}
	a, err := anvl.DecodeAnswer("success: ark:/99999/fk4000000q\n_created: 1700000000\n_updated: 1700000001\n" +
		"_target: https://files.test/tides\n_profile: erc\nerc.who: creator, A\n")
	if err != nil || !a.Success || a.Message != "ark:/99999/fk4000000q" || a.Value("_target") != "https://files.test/tides" || a.Value("erc.what") != "" {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = anvl.DecodeAnswer("error: bad request - no such identifier"); err != nil || a.Success || a.Message != "bad request - no such identifier" {
		t.Errorf("%+v %v", a, err)
	}
}

// TestNothingLeavesItsElement: no name and no value begins a line of its own.
func TestNothingLeavesItsElement(t *testing.T) {
	t.Parallel()
	got := anvl.Encode([]anvl.Element{{"a:b%", "one\n_owner: evil\r_status: public\u0085x\u2028y%0A"}})
	if want := "a%3Ab%25: one%0A_owner: evil%0D_status: public%85x y%250A\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for text, want := range map[string]string{"no colon": "line 1", "a: b\n\n: no name": "line 3", "%20: no name": "line 1"} {
		if _, err := anvl.Decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "<html>", "Success: x", "ok", "error"} {
		if a, err := anvl.DecodeAnswer(text); err == nil {
			t.Errorf("%q is an answer: %+v", text, a)
		}
	}
	if got, err := anvl.Decode("a: 100% %zz %4 %+1"); err != nil || got[0].Value != "100% %zz %4 %+1" {
		t.Errorf("%v %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a: b", "erc: who: x%0Awhat: y", "success: ark:/1\n_target: %", "\r\n: x", "%3A%20: %85", "a: \xff%ff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = anvl.DecodeAnswer(s)
		is, err := anvl.Decode(s)
		if err != nil {
			return
		}
		again, err := anvl.Decode(anvl.Encode(is))
		for i := range is { // these have no escape
			is[i].Name, is[i].Value = spaces.Replace(is[i].Name), spaces.Replace(is[i].Value)
		}
		if err != nil || !slices.Equal(is, again) {
			t.Fatalf("%q: %q becomes %q, %v", s, is, again, err)
		}
	})
}

var spaces = strings.NewReplacer("\u2028", " ", "\u2029", " ")
