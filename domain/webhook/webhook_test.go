package webhook

import (
	"encoding/base64"
	"strings"
	"testing"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// opensslSignature is that of TestSign, by openssl dgst -sha256 -mac HMAC.
const opensslSignature = "v1,u+fHFisIXKELp5LoCbQo6LB9D/25/U8BNd0SUbK9oic="

// TestSign compares a signature with one that openssl has made, and those of several secrets
// with each of them.
func TestSign(t *testing.T) {
	t.Parallel()
	other := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	secrets, err := ParseSecrets("# of receivers\n\nmaps: " + testSecret + "\ncharts :" + testSecret + "  " + other + "\n")
	if err != nil || len(secrets["maps"]) != 1 || len(secrets["charts"]) != 2 {
		t.Fatal(secrets, err)
	}
	const id, stamp, body = "jid0000000042/9/notify", "1614265330", `{"test": 2432232314}`
	one := Sign(id, stamp, []byte(body), secrets["maps"])
	if one != opensslSignature {
		t.Errorf("%s, want %s", one, opensslSignature)
	}
	both := Sign(id, stamp, []byte(body), secrets["charts"])
	if first, second, _ := strings.Cut(both, " "); first != one || second != Sign(id, stamp, []byte(body), secrets["charts"][1:]) || second == one {
		t.Errorf("%s", both)
	}
	for _, changed := range []string{Sign(id+"x", stamp, []byte(body), secrets["maps"]), Sign(id, "1614265331", []byte(body), secrets["maps"]), Sign(id, stamp, []byte("{}"), secrets["maps"])} {
		if changed == one {
			t.Error("another callback has the same signature")
		}
	}
}

// TestWrongSecrets: every wrong line is named, and no secret is shown.
func TestWrongSecrets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"maps":                       "line 1: write the name of a profile",
		"maps:":                      "line 1: write the name of a profile",
		": " + testSecret:            "line 1: write the name of a profile",
		"maps: s3cret":               "line 1: there is no secret: write whsec_",
		"maps: whsec_czNjcmV0":       "line 1: there is no secret",
		"#\nmaps: " + testSecret[6:]: "line 2: there is no secret",
		"maps: " + testSecret + "\nmaps: " + testSecret: "line 2: its profile has a line already",
		"maps: " + strings.Repeat(testSecret+" ", 5):    "1 to 4 secrets",
	} {
		if _, err := ParseSecrets(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), testSecret[6:]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseSecrets(f *testing.F) {
	f.Add("maps: " + testSecret)
	f.Add("# a\n\nmaps:" + testSecret + " x\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseSecrets(text)
		for name, secrets := range all {
			if err == nil && (name == "" || len(secrets) == 0) {
				t.Errorf("%q has %d secrets", name, len(secrets))
			}
		}
	})
}
