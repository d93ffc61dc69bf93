package text

import (
	"fmt"
	"net/url"
	"strings"
)

// emptyUser is the encoded form of a user without a name, which no other user has.
const emptyUser = "%"

// EncodeUser returns the name of a user as it stands in the names of nodes, of settings
// and of subjects: ASCII letters, digits, "-", "_" and "@" are kept, every other byte is
// percent-encoded. Two users never have the same encoded name.
func EncodeUser(user string) string {
	if user == "" {
		return emptyUser
	}
	var b strings.Builder
	b.Grow(len(user))
	for _, c := range []byte(user) {
		if PlainInUser(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// DecodeUser is the inverse of [EncodeUser]. It refuses what that does not return.
func DecodeUser(name string) (string, error) {
	if name == emptyUser {
		return "", nil
	}
	user, err := url.PathUnescape(name)
	if err != nil || user == "" || EncodeUser(user) != name {
		return "", fmt.Errorf("%q is not the encoded name of a user", name)
	}
	return user, nil
}

// PlainInUser reports whether a byte stands for itself in the encoded name of a user.
func PlainInUser(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '@'
}
