package text_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/text"
)

func TestEncodeUser(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{
		"ana":             "ana",
		"Ana_2-b@library": "Ana_2-b@library",
		"ana@example.org": "ana@example%2Eorg",
		"":                "%",
		".":               "%2E",
		"..":              "%2E%2E",
		"%":               "%25",
		"%2E":             "%252E",
		"a b/c:d*>":       "a%20b%2Fc%3Ad%2A%3E",
		"Zoë":             "Zo%C3%AB",
		"\x00\n\xff":      "%00%0A%FF",
		"zookeeper":       "zookeeper",
	} {
		if got := text.EncodeUser(user); got != want {
			t.Errorf("%q is encoded as %q, want %q", user, got, want)
		}
	}
	for _, name := range []string{"", "a.b", "a%2e", "%61", "%4", "%zz", "a b", "a/b", "+%", "%%", "ë"} {
		if user, err := text.DecodeUser(name); err == nil {
			t.Errorf("%q is decoded as %q", name, user)
		}
	}
}

// checkUser checks that a user comes back from its encoded name, which stands in the
// name of a node and in one token of a subject.
func checkUser(t rapid.TB, user string) {
	t.Helper()
	name := text.EncodeUser(user)
	if back, err := text.DecodeUser(name); err != nil || back != user {
		t.Errorf("%q is encoded as %q, which is decoded as %q: %v", user, name, back, err)
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(".*>/:", r) }) {
		t.Errorf("%q is encoded as %q", user, name)
	}
}

func TestUserComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { checkUser(rt, string(rapid.SliceOf(rapid.Byte()).Draw(rt, "user"))) })
}

func FuzzDecodeUser(f *testing.F) {
	for _, seed := range []string{"", "%", "ana", "a%2Eb", "%25", "a.b", "%c3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		checkUser(t, name)
		if user, err := text.DecodeUser(name); err == nil && text.EncodeUser(user) != name {
			t.Errorf("%q is decoded as %q, which is encoded as %q", name, user, text.EncodeUser(user))
		}
	})
}
