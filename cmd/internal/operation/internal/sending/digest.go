package sending

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// ReprDigest returns the SHA-256, in hex, of a Repr-Digest; "" = none is given.
func ReprDigest(header string) (string, error) {
	if header == "" {
		return "", nil
	}
	for word := range strings.SplitSeq(header, ",") {
		text, ok := strings.CutPrefix(strings.TrimSpace(word), "sha-256=:")
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text, ":")); ok && err == nil && len(sum) == sha256.Size {
			return hex.EncodeToString(sum), nil
		}
	}
	return "", &app.Error{Kind: app.Invalid, What: "upload", Err: fmt.Errorf("Repr-Digest: %s has no SHA-256", header),
		Hint: "write sha-256=:BASE64: (RFC 9530), or leave it out"}
}
