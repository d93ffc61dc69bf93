package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	inventory "github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/domain"
)

// get asks for a file as it arrives: short is whether the answer was cut off.
func (d *door) get(caller, path string, headers ...string) (status int, h http.Header, body []byte, short bool) {
	d.in.t.Helper()
	r, err := http.NewRequestWithContext(d.in.ctx(), http.MethodGet, d.url+path, http.NoBody)
	d.in.must(err)
	r.Header.Set("Authorization", "Bearer "+caller)
	for _, one := range headers {
		if name, value, ok := strings.Cut(one, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil { // it was cut off before its head
		return 0, nil, nil, true
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, body, err != nil
}

// TestContentOfObjects: what is stored is found by its names and read by those who may,
// whole and in ranges, and never as good when it is not.
// Shows: P13
func TestContentOfObjects(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.profileOfRocks("")
	stop := in.serveInProcess().stop
	large := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(large)
	server := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch here := "http://" + r.Host; r.URL.Path {
		case "/object.checkm":
			_, _ = w.Write(checkm("mrt-ingest-manifest", "", here+"/small | | | | | größe \"1\".html", here+"/large | | | | | maps/north.bin"))
		case "/large":
			_, _ = w.Write(large)
		default:
			_, _ = fmt.Fprint(w, "<script>alert(1)</script>")
		}
	}))
	in.rest(in.depositFor("test", "ana", server+"/object.checkm", domain.TypeObjectManifest))
	id := in.object()
	in.rest(in.depositFor("rocks", "bob", server+"/small", domain.TypeFile))
	rock := in.object()
	stop()
	d := in.door()
	at := "/v1/objects/" + url.PathEscape(id)
	for query, want := range map[string]string{
		"":                                     id + " " + rock,
		"?file=north.bin":                      id,
		"?file=maps%2Fnorth.bin":               id,
		"?file=aps%2Fnorth.bin":                "",
		"?identifier=" + url.QueryEscape(rock): rock,
		"?submitter=bob":                       rock,
		"?collection=test":                     id,
		"?collection=test&file=small":          "",
		"?local_id=nobody":                     "",
		"?title=no+such+word":                  "",
	} {
		a := d.ask("cy reader/*", "GET", "/v1/objects"+query, "")
		if got := idsIn(a.body); a.status != 200 || !slices.Equal(got, slices.Sorted(slices.Values(strings.Fields(want)))) {
			t.Errorf("%s: %d %s, want %s", query, a.status, a.body, want)
		}
	}
	var v inventory.View
	d.ask("ana depositor/test", "GET", at, "").into(d, &v)
	if len(v.Versions) != 1 || v.Versions[0].Submitter != "ana" || v.Collection != "test" {
		t.Errorf("%+v", v)
	}
	for _, path := range []string{"", "/versions/1/files", "/versions/1/files/maps%2Fnorth.bin", "/versions/0/files/maps%2Fnorth.bin"} {
		d.ask("bob depositor/rocks", "GET", at+path, "").is(d, 404, "not_found")
		d.ask("cy reader/rocks", "GET", at+path, "").is(d, 404, "not_found")
		if a := d.ask("ana depositor/rocks", "GET", at+path, ""); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/versions/2/files", "/versions/1/files/north.bin", "/versions/1/files/..%2F..%2Fmanifest.json", "/versions/1/files/maps%2Fnorth.bin?kind=system"} {
		d.ask("cy reader/*", "GET", at+path, "").is(d, 404, "not_found")
	}
	north := at + "/versions/1/files/maps%2Fnorth.bin"
	status, h, body, short := d.get("cy reader/*", at+"/versions/1/files/"+url.PathEscape(`größe "1".html`))
	if status != 200 || string(body) != "<script>alert(1)</script>" || short || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Content-Disposition") != `attachment; filename*=utf-8''gr%C3%B6%C3%9Fe%20%221%22.html` || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v %q", status, h, body)
	}
	etag := ""
	for _, c := range []struct {
		headers  string
		status   int
		from, to int
	}{
		{"", 200, 0, len(large)},
		{"Range: bytes=0-0", 206, 0, 1},
		{"Range: bytes=1000000-2999999", 206, 1000000, 3000000},
		{"Range: bytes=-7", 206, len(large) - 7, len(large)},
		{"Range: bytes=3145727-", 206, len(large) - 1, len(large)},
		{"Range: bytes=0-1,5-9", 200, 0, len(large)}, // several: the whole
		{"Range: bytes=0-9\nIf-Range: \"sha256-00\"", 200, 0, len(large)},
		{"Range: bytes=9999999-", 416, 0, 0},
		{"If-None-Match: ETAG", 304, 0, 0},
		{"Range: bytes=5-9\nIf-Range: ETAG", 206, 5, 10},
	} {
		status, h, body, short := d.get("cy reader/*", north, strings.Split(strings.ReplaceAll(c.headers, "ETAG", etag), "\n")...)
		if status != c.status || short || c.status < 300 && !bytes.Equal(body, large[c.from:c.to]) || c.status < 300 && h.Get("Repr-Digest") == "" ||
			(c.status == 416) != (h.Get("Content-Type") == "application/problem+json") {
			t.Errorf("%q: %d, %d bytes, %v, cut off: %v", c.headers, status, len(body), h, short)
		}
		if etag == "" {
			etag = h.Get("ETag")
		}
	}
	head, err := http.NewRequestWithContext(t.Context(), http.MethodHead, d.url+north, http.NoBody)
	in.must(err)
	head.Header.Set("Authorization", "Bearer cy reader/*")
	res, err := http.DefaultClient.Do(head)
	in.must(err)
	in.must(res.Body.Close())
	if res.StatusCode != http.StatusOK || res.ContentLength != int64(len(large)) {
		t.Errorf("HEAD: %d %v", res.StatusCode, res.Header)
	}
	in.exportsWhole(id, large)
	in.damaged(d, id, north)
}

// exportsWhole compares an export with what was deposited, and continues one that lacks files.
func (in *installation) exportsWhole(id string, large []byte) {
	in.t.Helper()
	dir := filepath.Join(in.t.TempDir(), "out")
	in.says(0, []string{"object", "export", id, "--dir", dir}, "0 files were there already")
	in.must(os.Remove(filepath.Join(dir, "producer", "maps", "north.bin")))
	in.must(os.WriteFile(filepath.Join(dir, ".accession-export.part"), []byte("left"), 0o600))
	in.says(0, []string{"object", "export", id, "--dir", dir}, "version 1")
	all := in.content(dir)
	if all["producer/maps/north.bin"] != string(large) || all["manifest.json"] == "" || all[`producer/größe "1".html`] == "" || all[".accession-export.part"] != "" {
		in.t.Errorf("%d files: %.300v", len(all), all)
	}
	in.must(os.WriteFile(filepath.Join(dir, "producer", "maps", "north.bin"), []byte("mine"), 0o600))
	in.says(3, []string{"object", "export", id, "--dir", dir}, "another file is there")
	out := filepath.Join(in.t.TempDir(), "north.bin")
	in.says(0, []string{"object", "get", id, "maps/north.bin", "--out", out})
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, large) {
		in.t.Errorf("%d bytes (%v)", len(got), err)
	}
	in.says(4, []string{"object", "get", id, "nothing"}, "there is no file")
	in.says(0, []string{"object", "ls", "--file", "north.bin"}, id)
	in.says(0, []string{"object", "show", id}, "ana")
	in.says(0, []string{"object", "files", id}, "maps/north.bin")
}

// damaged changes one byte of each stored file: none is given away as good, in whole or in
// part.
func (in *installation) damaged(d *door, id, north string) {
	in.t.Helper()
	for _, name := range []string{"producer/maps/north.bin", `producer/größe "1".html`} {
		path := in.storedAt(id, name)
		data, err := os.ReadFile(path)
		in.must(err)
		data[len(data)/2] ^= 1
		in.must(os.WriteFile(path, data, 0o600))
	}
	for _, headers := range []string{"", "Range: bytes=0-99", "Range: bytes=-5", "Range: bytes=2000000-2999999"} {
		if status, _, body, short := d.get("cy reader/*", north, headers); !short {
			in.t.Errorf("%q: %d with %d bytes of a damaged file", headers, status, len(body))
		}
	}
	d.ask("cy reader/*", "GET", strings.ReplaceAll(north, "maps%2Fnorth.bin", url.PathEscape(`größe "1".html`)), "").is(d, 503, "lost")
	if log := d.log.String(); !strings.Contains(log, "object.get") || strings.Contains(log, "made the service panic") {
		in.t.Error(log)
	}
	out := filepath.Join(in.t.TempDir(), "north.bin")
	in.says(8, []string{"object", "get", id, "maps/north.bin", "--out", out}, "restore it from a copy")
	in.says(8, []string{"object", "export", id, "--dir", filepath.Dir(out)}, "restore it from a copy")
	if left := in.content(filepath.Dir(out)); len(left) > 0 {
		for name := range left {
			if !strings.HasPrefix(name, "system/") {
				in.t.Errorf("a damaged file left %s", name)
			}
		}
	}
	in.must(os.Remove(in.storedAt(id, "producer/maps/north.bin")))
	d.ask("cy reader/*", "GET", north, "").is(d, 503, "lost")
}
