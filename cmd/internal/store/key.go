package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/accession-ingest/accession/domain/manifest"
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

// URL returns the URL of a key, such as store:///uploads/ab/…/tide.csv.
func URL(key string) string { return urlPrefix + key }

// KeyOf is the inverse of [URL]; false when the URL is not one of this store.
func KeyOf(url string) (string, bool) {
	key, ok := strings.CutPrefix(url, urlPrefix)
	if !ok || checkKey(key) != nil {
		return "", false
	}
	return key, true
}

// checkKey returns CodeBadKey for what encodePath and encodeID never make: keys that a bucket
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

// plain reports whether a byte stands for itself in encoded names.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

// encodePath returns the key part of a checked file name: percent-encoded, one to
// one. A name that gets too long becomes ~ and its SHA-256; the storage
// manifest has it in full.
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

// encodeID returns the key part of an identifier, one to one, in [a-z0-9=+,-]:
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

// VersionPrefix returns where a version of an object is kept, without a slash at
// the end. Two levels of directories spread objects evenly.
func VersionPrefix(object string, version int) string {
	sum := hexSum(object)
	return fmt.Sprintf("objects/%s/%s/%s/v%d", sum[:2], sum[2:4], encodeID(object), version)
}

// ManifestKey returns where the storage manifest of a version is kept.
func ManifestKey(object string, version int) string {
	return VersionPrefix(object, version) + "/manifest.json"
}

func hexSum[T string | []byte](data T) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// maxSegmentBytes is how long a directory lets a part of a name be.
const maxSegmentBytes = manifest.MaxSegmentBytes

// CheckName returns an error unless a file name can be stored: what the name rule of
// manifests allows, in Unicode normal form C. The error is an *Error with
// CodeBadName.
func CheckName(name string) error {
	if err := manifest.CheckName(name); err != nil {
		return &Error{Code: CodeBadName, Op: "check name", Key: name, Err: err}
	}
	if manifest.NormalName(name) != name {
		return &Error{Code: CodeBadName, Op: "check name", Key: name, Hint: "write the name in Unicode normal form C"}
	}
	return nil
}

// checkNames returns an error for names that cannot stand side by side: twice the same, or
// one that is the directory of another.
func checkNames(names []string) error {
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if err := CheckName(n); err != nil {
			return err
		}
		if seen[n] {
			return &Error{Code: CodeBadName, Op: "check name", Key: n, Hint: "the name occurs twice in the object"}
		}
		seen[n] = true
	}
	for _, n := range names {
		for d := path.Dir(n); d != "."; d = path.Dir(d) {
			if seen[d] {
				return &Error{Code: CodeBadName, Op: "check name", Key: n, Hint: "its directory " + d + " is also the name of a file"}
			}
		}
	}
	return nil
}
