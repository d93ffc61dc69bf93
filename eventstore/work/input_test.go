package work

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestInputsAreChecked: an input that is not what its SHA-256 says ends with an error that says
// so, and one that is not there is the fault of its server.
func TestInputsAreChecked(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent to another server")
		}
		if r.URL.Path != "/a" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "abc")
	}))
	t.Cleanup(server.Close)
	const sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for name, c := range map[string]struct {
		path, sha256, want, class string
	}{
		"the same":      {path: "/a", sha256: sum},
		"not known":     {path: "/a"},
		"another":       {"/a", strings.Repeat("0", 64), "a is not what its SHA-256 says", "content"},
		"not there":     {"/b", sum, "get a: Not Found", "system"},
		"not there too": {"/b", "", "get a: Not Found", "system"},
	} {
		content, err := Input{URL: server.URL + c.path, Name: "a", SHA256: c.sha256, of: &Worker{Server: "http://another.test", Key: "secret"}}.Open(t.Context())
		if err == nil {
			_, err = io.ReadAll(content)
			_ = content.Close()
		}
		var f *Failure
		switch errors.As(err, &f); {
		case c.want == "" && err == nil:
		case f == nil || f.Message != c.want || f.Class != c.class:
			t.Errorf("%s: %#v", name, err)
		}
	}
}
