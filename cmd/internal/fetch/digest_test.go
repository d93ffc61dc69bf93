package fetch

import (
	"testing"

	"github.com/accession-ingest/accession/domain/manifest"
)

// Published digests of "abc", and of nothing.
func TestHasher(t *testing.T) {
	t.Parallel()
	want := map[manifest.Algorithm][2]string{
		manifest.Adler32: {"024d0127", "00000001"},
		manifest.CRC32:   {"352441c2", "00000000"},
		manifest.MD5:     {"900150983cd24fb0d6963f7d28e17f72", "d41d8cd98f00b204e9800998ecf8427e"},
		manifest.SHA1:    {"a9993e364706816aba3e25717850c26c9cd0d89d", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
		manifest.SHA256: {"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
			"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		manifest.SHA384: {"cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
			"38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"},
		manifest.SHA512: {"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
			"cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"},
	}
	for _, a := range manifest.Algorithms() {
		for i, text := range []string{"abc", ""} {
			h, err := NewHasher(a)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range []byte(text) {
				_, _ = h.Write([]byte{b})
			}
			got := h.Digests()
			if got[a] != want[a][i] || got[manifest.SHA256] != want[manifest.SHA256][i] || h.Bytes() != int64(len(text)) {
				t.Errorf("%s of %q: %v", a, text, got)
			}
			if len(got[a]) != a.HexLength() {
				t.Errorf("%s has %d digits", a, len(got[a]))
			}
		}
	}
	if _, err := NewHasher("sha-256"); err == nil {
		t.Error("another spelling is accepted here")
	}
}
