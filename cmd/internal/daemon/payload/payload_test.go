package payload

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

func codeOf(err error) domain.Code {
	var why *reason.Problem
	if errors.As(err, &why) {
		return why.Code
	}
	return ""
}

func TestFile(t *testing.T) {
	t.Parallel()
	const md5 = "900150983cd24fb0d6963f7d28e17f72"
	for name, c := range map[string]struct {
		p    Payload
		want File
		code domain.Code
	}{
		"all that a deposit says":        {Payload{URL: "http://h/x", Name: "a.txt", Algorithm: "MD-5", Digest: strings.ToUpper(md5), Size: 3}, File{Name: "a.txt", URL: "http://h/x", Algorithm: manifest.MD5, Digest: md5, Size: 3}, ""},
		"the URL alone":                  {Payload{URL: "http://h/d/tide.csv"}, File{Name: "tide.csv", URL: "http://h/d/tide.csv", Size: -1}, ""},
		"a digest without its algorithm": {Payload{URL: "http://h/f", Digest: md5}, File{Name: "f", URL: "http://h/f", Size: -1}, ""},
		"a name that leaves the object":  {Payload{URL: "http://h/f", Name: "../f"}, File{}, domain.CodeRowFault},
		"an unknown algorithm":           {Payload{URL: "http://h/f", Algorithm: "rot13", Digest: md5}, File{}, domain.CodeRowFault},
		"half a digest":                  {Payload{URL: "http://h/f", Algorithm: "md5", Digest: md5[:16]}, File{}, domain.CodeRowFault},
	} {
		got, err := c.p.file()
		if got != c.want || codeOf(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// A profile whose addresses cannot be read opens no client.
func TestClientOfABrokenProfile(t *testing.T) {
	t.Parallel()
	p := profile.Defaults()
	p.Name, p.Fetch.Allow = "maps", []string{"somewhere"}
	if _, err := (&Source{}).ClientOf(p); codeOf(err) != reason.CodeProfileBroken || !strings.Contains(err.Error(), "profile maps: ") {
		t.Errorf("%v", err)
	}
}

// TestSizes: what a server states of a file is taken, and its date also where it does not say the
// size, whatever it then answers to a request for the first byte.
func TestSizes(t *testing.T) {
	t.Parallel()
	const date = "Mon, 02 Jan 2023 15:04:05 GMT"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" || r.Method != http.MethodHead {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Last-Modified", date)
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "7")
			return
		}
		w.(http.Flusher).Flush() // without a length
	}))
	defer s.Close()
	client, err := fetch.NewClient(fetch.Config{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p := profile.Defaults()
	p.Name, p.Fetch.Allow = "maps", []string{"127.0.0.1/32"}
	files := []File{{URL: s.URL + "/sized", Size: -1}, {URL: s.URL + "/dated", Size: -1}, {URL: s.URL + "/none", Size: -1}}
	(&Source{Client: client, StepTimeout: time.Minute}).Sizes(t.Context(), slog.New(slog.DiscardHandler), p, files)
	for i, want := range []struct {
		size  int64
		dated bool
	}{{7, true}, {-1, true}, {-1, false}} {
		if f := files[i]; f.Size != want.size || !f.Modified.IsZero() != want.dated || want.dated && f.Modified.Format(http.TimeFormat) != date {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
}

// TestSizesInParallel: as many files are asked for at once as the profile says. Each answer waits
// until so many are asked for; what is asked for alone has none until the step's time is over.
func TestSizesInParallel(t *testing.T) {
	t.Parallel()
	const atOnce, rounds = 3, 2
	var mu sync.Mutex
	waiting := 0
	together := make(chan struct{})
	arrive := func() <-chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		round := together
		if waiting++; waiting == atOnce {
			waiting, together = 0, make(chan struct{})
			close(round)
		}
		return round
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-arrive():
			w.Header().Set("Content-Length", "7")
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	client, err := fetch.NewClient(fetch.Config{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p := profile.Defaults()
	p.Name, p.Fetch.Allow, p.Fetch.Parallel = "maps", []string{"127.0.0.1/32"}, atOnce
	files := make([]File, atOnce*rounds)
	for i := range files {
		files[i] = File{URL: fmt.Sprint(s.URL, "/", i), Size: -1}
	}
	(&Source{Client: client, StepTimeout: 20 * time.Second}).Sizes(t.Context(), slog.New(slog.DiscardHandler), p, files)
	for _, f := range files {
		if f.Size != 7 {
			t.Errorf("%s has the size %d: its server was not asked for %d files at once", f.URL, f.Size, atOnce)
		}
	}
}

func TestMeasured(t *testing.T) {
	t.Parallel()
	const md5 = "900150983cd24fb0d6963f7d28e17f72" // of abc
	for name, c := range map[string]struct {
		f    File
		code domain.Code
	}{
		"nothing is said": {File{Size: -1}, ""},
		"as said":         {File{Size: 3, Algorithm: manifest.MD5, Digest: md5}, ""},
		"another size":    {File{Size: 4, Algorithm: manifest.MD5, Digest: md5}, reason.CodeSizeMismatch},
		"another digest":  {File{Size: 3, Algorithm: manifest.SHA1, Digest: md5}, domain.CodeDigestMismatch},
	} {
		m, err := Measured(strings.NewReader("abc"), c.f)
		if codeOf(err) != c.code || (err == nil) != (c.code == "") || m.Bytes() != 3 || len(m.SHA256()) != 64 {
			t.Errorf("%s: %d bytes, %v", name, m.Bytes(), err)
		}
	}
}
