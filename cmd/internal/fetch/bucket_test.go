package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// inBuckets returns a client for the buckets of a service of this machine.
func inBuckets(t *testing.T, b Buckets, allow ...string) *Client {
	t.Helper()
	c, err := NewClient(Config{Buckets: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p, err := ParsePolicy(append(allow, "127.0.0.0/8"))
	if err != nil {
		t.Fatal(err)
	}
	p.MinRate = -1
	return c.With(p)
}

// TestObjectsOfBuckets: objects are read and listed, signed or not, with any key, and over more
// than one page; what the policy does not open is not asked for.
func TestObjectsOfBuckets(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]Buckets{"signed": {AccessKey: bucket.AccessKey, SecretKey: bucket.SecretKey}, "open": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := bucket.Serve(t, name == "open", "sky", "other")
			b.Endpoint = server.URL
			c := inBuckets(t, b, "s3://sky/night/")
			want := []string{"directory deeper"}
			for i := range pageKeys + 20 {
				server.Put("sky", fmt.Sprintf("night/%04d.fits", i), []byte("abc"))
				want = append(want, fmt.Sprintf("%04d.fits 3", i))
			}
			for _, key := range []string{"ä ö+%&?#.txt", "a&b<c>.txt"} {
				server.Put("sky", "night/"+key, []byte("abcd"))
				want = append(want, key+" 4")
			}
			server.Put("sky", "night/deeper/a.fits", []byte("abc"))
			server.Put("sky", "night/", nil) // some programs make one for the directory
			server.Put("sky", "day/a.fits", []byte("abc"))
			got := []string{}
			for o, err := range c.List(t.Context(), "s3://sky/night/") {
				switch {
				case err != nil:
					t.Fatal(err)
				case o.Directory:
					got = append(got, "directory "+o.Name)
				default:
					got = append(got, fmt.Sprintf("%s %d", o.Name, o.Size))
				}
			}
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
			body, info, err := c.Get(t.Context(), "s3://sky/night/%C3%A4%20%C3%B6+%25&%3F%23.txt", GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(body)
			if _ = body.Close(); string(content) != "abcd" || err != nil || info.Size != 4 || strings.Contains(info.FinalURL, "Signature") {
				t.Errorf("%q %v %+v", content, err, info)
			}
			if info, err := c.Head(t.Context(), "s3://sky/night/0001.fits"); err != nil || info.Size != 3 {
				t.Errorf("%+v %v", info, err)
			}
			for at, code := range map[string]string{
				"s3://sky/night/none.fits": "http_status", "s3://sky/day/a.fits": "address_refused", "s3://other/night/a": "address_refused", "s3://skynight/": "address_refused",
				"s3://sky/night/0001.fits?versionId=1": "bad_url", "s3://ana:secret@sky/night/0001.fits": "bad_url", "s3://sky": "address_refused", "s3:///night/a": "bad_url",
			} {
				_, _, err := c.Get(t.Context(), at, GetOptions{})
				if e, ok := errors.AsType[*Error](err); !ok || string(e.Code) != code || strings.Contains(e.Error(), "secret") {
					t.Errorf("%s: %v, want %s", at, err, code)
				}
			}
		})
	}
}

// TestListsOfBrokenBuckets: what is no whole list is an error, never an empty directory.
func TestListsOfBrokenBuckets(t *testing.T) {
	t.Parallel()
	const begin = `<?xml version="1.0"?><ListBucketResult><Name>sky</Name><EncodingType>url</EncodingType>`
	answers := map[string]struct {
		status int
		body   string
		want   string
	}{
		"another page":       {200, "<html><body>Please sign in</body></html>", "no list of the bucket"},
		"nothing":            {200, "", "no list of the bucket"},
		"cut off":            {200, begin + `<IsTruncated>false</IsTruncated><Contents><Key>night/a</Key>`, "cannot be read"},
		"another bucket":     {200, `<ListBucketResult><Name>sea</Name><IsTruncated>false</IsTruncated></ListBucketResult>`, "no list of the bucket"},
		"no word of its end": {200, begin + `</ListBucketResult>`, "no list of the bucket"},
		"another directory":  {200, begin + `<IsTruncated>false</IsTruncated><Contents><Key>day/a</Key></Contents></ListBucketResult>`, "not below the prefix"},
		"a broken key":       {200, begin + `<IsTruncated>false</IsTruncated><Contents><Key>night/%zz</Key></Contents></ListBucketResult>`, "cannot be decoded"},
		"the same page":      {200, begin + `<IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>`, "where the list of the bucket goes on"},
		"no page":            {200, begin + `<IsTruncated>true</IsTruncated></ListBucketResult>`, "where the list of the bucket goes on"},
		"forbidden":          {403, "", "403 Forbidden; see whether s3_access_key"},
		"no bucket":          {404, "", "404 Not Found"},
		"busy":               {503, "", "503 Service Unavailable"},
	}
	for name, a := range answers {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked > 2 {
				panic(http.ErrAbortHandler) // it is asked for ever
			}
			w.Header().Set("Content-Type", "application/xml")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(a.status)
			_, _ = io.WriteString(w, a.body)
		}))
		var last error
		for _, err := range inBuckets(t, Buckets{Endpoint: server.URL}, "s3://sky/").List(t.Context(), "s3://sky/night/") {
			last = err
		}
		server.Close()
		e, ok := errors.AsType[*Error](last)
		if !ok || !strings.Contains(e.Error(), a.want) {
			t.Errorf("%s: %v, want %q", name, last, a.want)
			continue
		}
		if busy := a.status == 503; e.Temporary != (busy || a.want == "cannot be read") || busy != (e.After > 0) {
			t.Errorf("%s: temporary: %v, after %v", name, e.Temporary, e.After)
		}
	}
}
