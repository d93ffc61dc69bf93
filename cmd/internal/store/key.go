package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// urlPrefix starts the URL of everything in the store. Keys hold only characters
// that a URL path may hold as they are, so a key is its own URL path.
const urlPrefix = "store:///"

// Lengths in bytes: of a key (the limit of S3), of an encoded part of it (a file
// system allows 255, temporary suffixes included), of an encoded name.
const (
	maxKey     = 1024
	maxSegment = 200
	maxEncoded = 700
)

// URL gives the URL of a key, such as store:///uploads/ab/…/tide.csv.
func URL(key string) string { return urlPrefix + key }

// KeyOf is the inverse of [URL]; false when the URL is not one of this store.
func KeyOf(url string) (string, bool) {
	key, ok := strings.CutPrefix(url, urlPrefix)
	if !ok || checkKey(key) != nil {
		return "", false
	}
	return key, true
}

// checkKey refuses what encodePath and encodeID never make: keys that a bucket
// would have to escape, or that could leave a directory.
func checkKey(key string) error {
	bad := func(hint string) error {
		return &Error{Code: CodeBadKey, Op: "check key", Key: key, Hint: hint}
	}
	if key == "" || len(key) > maxKey {
		return bad("a key has 1 to 1024 bytes")
	}
	for i := range len(key) {
		if c := key[i]; !plain(c) && !strings.ContainsRune("/%~=+,", rune(c)) {
			return bad(fmt.Sprintf("character %q is not allowed in a key", c))
		}
	}
	if strings.Contains(key, "__0x") {
		return bad("__0x is how directories escape; it is not allowed in a key")
	}
	for seg := range strings.SplitSeq(key, "/") {
		if seg == "" || len(seg) > maxSegmentBytes || strings.HasSuffix(seg, ".") || strings.HasSuffix(seg, ".attrs") {
			return bad("the parts of a key have 1 to 255 bytes and do not end in . or .attrs")
		}
	}
	return nil
}

// plain says which bytes stand for themselves in encoded names.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

// encodePath gives the key part of a checked file name: percent-encoded, one to
// one. What gets too long is cut and ends in ~ and its SHA-256; the storage
// manifest has the name in full.
func encodePath(name string) string {
	segs := strings.Split(name, "/")
	for i, seg := range segs {
		segs[i] = encodeSegment(seg)
	}
	if p := strings.Join(segs, "/"); len(p) <= maxEncoded {
		return p
	}
	return "~" + hexSum(name)
}

func encodeSegment(seg string) string {
	var b strings.Builder
	for i := range len(seg) {
		c, rest := seg[i], seg[i:]
		// These would be read as escapes, as side files or as . and .. by a directory.
		special := rest == "." || rest == ".attrs" || strings.HasPrefix(rest, "__0x")
		if plain(c) && !special {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	e := b.String()
	if len(e) <= maxSegment {
		return e
	}
	head := e[:100]
	if i := strings.LastIndexByte(head, '%'); i > len(head)-3 {
		head = head[:i]
	}
	return head + "~" + hexSum(seg)
}

// encodeID gives the key part of an identifier, one to one, in [a-z0-9=+,-]:
// / : . become = + , as in pairtrees; any other byte becomes - and two hex digits.
func encodeID(id string) string {
	var b strings.Builder
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b.WriteByte(c)
		case c == '/':
			b.WriteByte('=')
		case c == ':':
			b.WriteByte('+')
		case c == '.':
			b.WriteByte(',')
		default:
			fmt.Fprintf(&b, "-%02x", c)
		}
	}
	if e := b.String(); len(e) <= maxSegment {
		return e
	}
	return "--" + hexSum(id)
}

// VersionPrefix gives where a version of an object is kept, without a slash at
// the end. Two levels of directories spread objects evenly.
func VersionPrefix(object string, version int) string {
	sum := hexSum(object)
	return fmt.Sprintf("objects/%s/%s/%s/v%d", sum[:2], sum[2:4], encodeID(object), version)
}

// ManifestKey gives where the storage manifest of a version is kept.
func ManifestKey(object string, version int) string {
	return VersionPrefix(object, version) + "/manifest.json"
}

func hexSum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
