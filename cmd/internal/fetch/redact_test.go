package fetch

import (
	"net/url"
	"strings"
	"testing"
)

// A URL is shown without its password, query and fragment.
// Shows: P14
func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://h/p":                           "http://h/p",
		"https://u:s3cret@h:8/p?a=s3cret#s3":   "https://h:8/p?...",
		"https://h/p?":                         "https://h/p?...",
		"https://h/p?s3cret":                   "https://h/p?...",
		"//u:s3cret@h/p":                       "//h/p",
		"http:u:s3cret@h":                      "(a URL that cannot be shown)",
		"http://u:s3cret?x@h/":                 "(a URL that cannot be shown)",
		"http://h:port/p?k=s3cret":             "http://h:port/p?...",
		"http://h/\x1b[31mred":                 `http://h/\x1b[31mred`,
		"http://h/%1b%5b31m":                   "http://h/%1b%5b31m",
		"http://h/\u202egpj.exe":               "http://h/%E2%80%AEgpj.exe",
		"":                                     "",
		"http://h/" + strings.Repeat("a", 999): "http://h/" + strings.Repeat("a", 291) + "...",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"http://h/p", "http://u:p@h/p?q#f", "http:u:p@h", "//u@h?x", "a@b?c@d", "%zz@", "http://[::1%25a]/", "x:?#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Redact(s)
		for _, r := range got {
			if r < ' ' || r > '~' {
				t.Fatalf("Redact(%q) = %q holds %q", s, got, r)
			}
		}
		if i := strings.IndexByte(got, '?'); i >= 0 && got[i:] != "?..." && !strings.HasSuffix(got, "...") {
			t.Fatalf("Redact(%q) = %q shows a query", s, got)
		}
		if u, err := url.Parse(got); err == nil && u.User != nil {
			t.Fatalf("Redact(%q) = %q shows a user", s, got)
		}
		// What is put where secrets stand is not shown.
		const secret = "S3CRETcanary"
		for _, form := range []string{"http://u:" + secret + "@h/" + s, "http://h/?" + secret + s, "http://h/?" + s + secret, "http://h/#" + s + secret} {
			if strings.Contains(Redact(form), secret) {
				t.Fatalf("Redact(%q) = %q", form, Redact(form))
			}
			if host := (&Error{URL: Redact(form)}).Reason().Host; strings.Contains(host, secret) {
				t.Fatalf("the reason about %q names the host %q", form, host)
			}
		}
	})
}
