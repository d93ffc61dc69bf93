package fetch

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// TestBucketsOfRclone: a server of buckets that is a program of its own is read, listed, and asked for
// what is missing of an object; without the right key it is not.
func TestBucketsOfRclone(t *testing.T) {
	t.Parallel()
	server := bucket.Rclone(t, "sky", "other")
	is := bytes.Repeat([]byte("low and high water\n"), 10_000)
	server.Put("sky", "night/tide.txt", is)
	server.Put("sky", "night/ä ö+%&.txt", []byte("abcd"))
	server.Put("sky", "night/deeper/a.fits", []byte("abc"))
	server.Put("sky", "day/b.fits", []byte("abc"))
	b := Buckets{Endpoint: server.URL, AccessKey: bucket.AccessKey, SecretKey: bucket.SecretKey}
	c := inBuckets(t, b, "s3://sky/night/")
	var listed []string
	for o, err := range c.List(t.Context(), "s3://sky/night/") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o.Name)
	}
	slices.Sort(listed)
	if want := []string{"deeper", "tide.txt", "ä ö+%&.txt"}; !slices.Equal(listed, want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
	const url = "s3://sky/night/tide.txt"
	info, err := c.Head(t.Context(), url)
	if err != nil || info.Size != int64(len(is)) || info.Validator == "" {
		t.Fatalf("%+v, %v", info, err)
	}
	read := func(o GetOptions) ([]byte, Info) {
		t.Helper()
		body, info, err := c.Get(t.Context(), url, o)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(body)
		if err = errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		return data, info
	}
	if data, now := read(GetOptions{}); !bytes.Equal(data, is) || now.Validator != info.Validator {
		t.Errorf("%d bytes, %+v", len(data), now)
	}
	begun := &Beginning{Bytes: 100_000, Validator: info.Validator, Size: info.Size}
	if data, now := read(GetOptions{Beginning: begun}); !bytes.Equal(data, is[100_000:]) || now.From != 100_000 || now.Size != info.Size {
		t.Errorf("%d bytes of the rest, %+v", len(data), now)
	}
	is = bytes.Repeat([]byte("high and low water\n"), 10_000)
	server.Put("sky", "night/tide.txt", is)
	if data, now := read(GetOptions{Beginning: begun}); !bytes.Equal(data, is) || now.From != 0 {
		t.Errorf("%d bytes of another content, %+v", len(data), now)
	}
	_, err = c.Head(t.Context(), "s3://sky/day/b.fits")
	fails(t, err, CodeAddressRefused, domain.ClassContent)
	b.SecretKey = "another"
	_, err = inBuckets(t, b, "s3://sky/").Head(t.Context(), url)
	if e := fails(t, err, CodeHTTPStatus, domain.ClassContent); e.Status != 403 {
		t.Errorf("a wrong key: %v", e)
	}
}
