package manifest

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	t.Parallel()
	longSegment := strings.Repeat("s", MaxSegmentBytes)
	longName := strings.Repeat("abcdefg/", MaxNameBytes/8-1) + "abcdefgh"
	good := []string{"a", "a/b.c", "...", ".hidden", "a b", " a ", "é", "a|b%20", "~", "-rf", "C:", longSegment, longName}
	bad := []string{"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/../b", "../a", `a\b`, "a\x00b", "a\nb", "a\tb",
		"a\x7f", "a\u0085b", "a\u2028b", "\xff", longSegment + "s", longName + "i",
		strings.Repeat("\U0001D160", 25)} // composed form: 300 bytes instead of 100
	for _, name := range good {
		if err := CheckName(name); err != nil {
			t.Errorf("CheckName(%.20q) = %v", name, err)
		}
	}
	for _, name := range bad {
		var e *Error
		if err := CheckName(name); !errors.As(err, &e) || e.Code != RowBadName {
			t.Errorf("CheckName(%.20q) = %v, want %s", name, err, RowBadName)
		}
	}
}

func TestNormalName(t *testing.T) {
	t.Parallel()
	if got := NormalName("e\u0301"); got != "\u00e9" {
		t.Errorf("got %q", got)
	}
}

func TestParseAlgorithm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Algorithm{
		"adler32": Adler32, "Adler-32": Adler32, "crc32": CRC32, "CRC-32": CRC32, "md5": MD5, "MD-5": MD5, "SHA1": SHA1, "sha-1": SHA1,
		"sha256": SHA256, "Sha-256": SHA256, "sha384": SHA384, "SHA-384": SHA384, "sha512": SHA512, "SHA-512": SHA512,
	} {
		if got, err := ParseAlgorithm(in); err != nil || got != want {
			t.Errorf("ParseAlgorithm(%q) = %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "-", "sha", "sha--256", "sha224", "sha 256", "whirlpool"} {
		var e *Error
		if _, err := ParseAlgorithm(in); !errors.As(err, &e) || e.Code != RowUnknownAlgorithm {
			t.Errorf("ParseAlgorithm(%q) = %v", in, err)
		}
	}
}

func TestCheckDigest(t *testing.T) {
	t.Parallel()
	for _, a := range Algorithms() {
		n := a.HexLength()
		if got, err := a.CheckDigest(strings.Repeat("A", n)); err != nil || got != strings.Repeat("a", n) {
			t.Errorf("%s of %d digits: %q, %v", a, n, got, err)
		}
		for value, code := range map[string]string{
			strings.Repeat("0", n-1): RowDigestLength, strings.Repeat("0", n+1): RowDigestLength, "": RowDigestLength,
		} {
			var e *Error
			if _, err := a.CheckDigest(value); !errors.As(err, &e) || e.Code != code {
				t.Errorf("%s of %d digits: %v, want %s", a, len(value), err, code)
			}
		}
	}
	for c := range 256 {
		_, err := CRC32.CheckDigest("0000000" + string([]byte{byte(c)}))
		if want := strings.IndexByte("0123456789abcdefABCDEF", byte(c)) >= 0; (err == nil) != want {
			t.Errorf("digit %q: %v", byte(c), err)
		}
	}
	if Algorithm("sha3").HexLength() != 0 {
		t.Error("an unknown algorithm has a length")
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		p                   Profile
		batch               bool
		submission, payload string
	}{
		{MrtIngest, false, "object_manifest", "object_manifest"},
		{MrtBatch, true, "batch_manifest", "object_manifest"},
		{MrtContainerBatch, true, "container_batch_manifest", "container"},
		{MrtSingleFileBatch, true, "file_batch_manifest", "file"},
	}
	for _, tt := range tests {
		got, err := ProfileOf(tt.p.URL())
		if err != nil || got != tt.p || got.Batch() != tt.batch || got.SubmissionType() != tt.submission || got.PayloadType() != tt.payload {
			t.Errorf("%s: %q, %v, %t, %s, %s", tt.p, got, err, got.Batch(), got.SubmissionType(), got.PayloadType())
		}
	}
	for _, url := range []string{"", "http://x/", "http://x/mrt-ingest-manifest/", "mrt-ingest"} {
		var e *Error
		if _, err := ProfileOf(url); !errors.As(err, &e) || e.Code != UnknownProfile {
			t.Errorf("ProfileOf(%q) = %v", url, err)
		}
	}
}

func TestPayloadName(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.org/a/tide%20table.csv?x=y/z.txt": "tide table.csv",
		"https://example.org/cafe%CC%81.txt":               "café.txt", // normal form C
		"https://example.org/a/b/":                         "b",
		"store:///uploads/aa/bb/chart.tif":                 "chart.tif",
		"https://example.org":                              "payload",
		"https://example.org/":                             "payload",
		"https://example.org/a%0Ab":                        "payload",
		"https://example.org/..":                           "payload",
		"%zz":                                              "payload",
	} {
		if got := PayloadName(url); got != want {
			t.Errorf("%s is kept as %q, want %q", url, got, want)
		}
	}
}
