package remote

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

const secret = "acc_abcdefgh_canary"

func keptBelow(t *testing.T) Kept {
	t.Helper()
	home := t.TempDir()
	k, err := KeptIn(func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestKeep: a key is kept for its server only, in a file that no one else may read, and
// what a killed program has left of it is removed.
func TestKeep(t *testing.T) {
	t.Parallel()
	k := keptBelow(t)
	if token, err := k.Token("https://a.example"); token != "" || err != nil {
		t.Fatalf("%q, %v", token, err)
	}
	dir := filepath.Dir(k.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	draft := filepath.Join(dir, draftPrefix+"4711")
	if err := os.WriteFile(draft, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.Keep("https://A.example/", secret); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(draft); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the draft is still there: %v", err)
	}
	for server, want := range map[string]string{"https://a.example": secret, "https://a.example:8443": "", "https://b.example": "", "http://a.example": ""} {
		if token, err := k.Token(server); token != want || err != nil {
			t.Errorf("%s: %q, %v", server, token, err)
		}
	}
	if info, err := os.Stat(k.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := k.Keep("https://a.example", ""); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(k.Path); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestKeepAtOnce: programs that keep keys at the same time lose none.
func TestKeepAtOnce(t *testing.T) {
	t.Parallel()
	k := keptBelow(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := k.Keep(fmt.Sprintf("https://s%d.example", i), secret); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		if token, err := k.Token(fmt.Sprintf("https://s%d.example", i)); token != secret || err != nil {
			t.Errorf("server %d: %q, %v", i, token, err)
		}
	}
}

// TestCredentialsThatCannotBeUsed: each fault is named with its file and remedy, without what
// is in the file, and nothing is overwritten.
func TestCredentialsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"damaged":         {`{"servers": {"https://a.example": "` + secret, 0o600, "it is damaged"},
		"of another kind": {`["` + secret + `"]`, 0o600, "it is damaged"},
		"empty":           {"", 0o600, "it is damaged"},
		"seen by others":  {`{"servers": {"https://a.example": "` + secret + `"}}`, 0o644, "others may read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := keptBelow(t)
			if err := os.MkdirAll(filepath.Dir(k.Path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(k.Path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(k.Path, c.mode); err != nil {
				t.Fatal(err)
			}
			_, asked := k.Token("https://a.example")
			for _, err := range []error{asked, k.Keep("https://b.example", "other")} {
				known, ok := errors.AsType[*app.Error](err)
				if !ok || known.Kind != app.Invalid || known.Hint == "" || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), k.Path) || strings.Contains(err.Error(), secret) {
					t.Errorf("%v", err)
				}
			}
			if text, err := os.ReadFile(k.Path); err != nil || string(text) != c.text {
				t.Errorf("the file has changed: %q, %v", text, err)
			}
		})
	}
	if _, err := KeptIn(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("without a home: %v", err)
	}
}
