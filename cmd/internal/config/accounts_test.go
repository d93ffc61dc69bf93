package config

import (
	"maps"
	"strings"
	"testing"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	const lines = "# at EZID\nmaps: apitest:with: colon \r\n\n charts :EXAMPLE.REPO: # s\n"
	got, err := Load(Sources{Flags: map[string]string{"minter_credentials": lines, "service_credentials": lines + "deeds: a: b\n"}})
	want := map[string]Account{"maps": {"apitest", "with: colon "}, "charts": {"EXAMPLE.REPO", " # s"}}
	if err != nil || !maps.Equal(got.AccountsOfMinters(), want) {
		t.Errorf("%+v, %v", got.AccountsOfMinters(), err)
	}
	want["deeds"] = Account{"a", " b"}
	if !maps.Equal(got.AccountsOfServices(), want) {
		t.Errorf("%+v", got.AccountsOfServices())
	}
}

// FuzzAccounts: no fault shows anything of its line.
func FuzzAccounts(f *testing.F) {
	for _, s := range []string{"maps: user:s3cret", "maps", ":::", "maps:u:\nmaps:u:p", "#\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, err := parseAccounts("before:user:s3cret:wörd\n" + s)
		if len(all) == 0 {
			t.Fatal("the first line is gone")
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Fatal(err)
		}
		for name, a := range all {
			if err == nil && (name == "" || a.User == "" || a.Password == "" || strings.Contains(a.User, ":")) {
				t.Fatalf("%q: %+v", name, a)
			}
		}
	})
}
