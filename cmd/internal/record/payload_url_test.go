package record_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/record"
)

const signed = "https://files.test/a%20b/tide.csv?token=SECRET&x=?"

// TestKeepURL: the public form shows no query, is always the same, and leads back.
func TestKeepURL(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), t.Context()
	want := regexp.MustCompile(`^https://files\.test/a%20b/tide\.csv\?redacted=[0-9a-f]{16}$`)
	var first string
	for range 2 {
		public, err := r.KeepURL(ctx, signed)
		if err != nil || !want.MatchString(public) || first != "" && public != first {
			t.Fatalf("%s, %v; before %s", public, err, first)
		}
		first = public
	}
	if full, err := r.FullURL(ctx, first); err != nil || full != signed {
		t.Errorf("the whole is %s, %v", full, err)
	}
	// Whoever submits a public form does not get at the query behind it.
	again, err := r.KeepURL(ctx, first)
	if err != nil || again == first {
		t.Errorf("the public form of the public form is %s, %v", again, err)
	}
	if full, err := r.FullURL(ctx, again); err != nil || full != first {
		t.Errorf("it leads to %s, %v", full, err)
	}
}

// TestKeepURLs: many at once, twice the same among them, more than go into one
// statement.
func TestKeepURLs(t *testing.T) {
	t.Parallel()
	r := open(t)
	full := []string{"https://files.test/plain", signed, "store:///uploads/x", signed}
	for i := range 1500 {
		full = append(full, "https://files.test/many?n="+strings.Repeat("1", i))
	}
	each(4, func(int) {
		if _, err := r.KeepURLs(t.Context(), full); err != nil {
			t.Error(err)
		}
	})
	public, err := r.KeepURLs(t.Context(), full)
	if err != nil || len(public) != len(full) {
		t.Fatalf("%d of %d: %v", len(public), len(full), err)
	}
	for i, p := range public {
		back, err := r.FullURL(t.Context(), p)
		if err != nil || back != full[i] || (p != full[i]) != record.Revealing(full[i]) {
			t.Fatalf("%s became %s, which leads to %s, %v", full[i], p, back, err)
		}
	}
}

// TestFullURL: what is no public form stays; what is not kept is an error; a digest
// counts only with the address that it belongs to.
func TestFullURL(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), t.Context()
	for _, url := range []string{"https://files.test/x", "https://files.test/x?a=b", "https://files.test/x?redacted=no", "store:///uploads/x"} {
		if full, err := r.FullURL(ctx, url); err != nil || full != url {
			t.Errorf("%s became %s, %v", url, full, err)
		}
	}
	public, err := r.KeepURL(ctx, signed)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://files.test/x?redacted=0123456789abcdef", strings.Replace(public, "files.test", "other.test", 1)} {
		if full, err := r.FullURL(ctx, url); code(err) != record.CodeNotFound || full != "" || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s became %s, %v", url, full, err)
		}
	}
}
