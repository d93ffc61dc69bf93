// Package webhook signs callbacks in the way of Standard Webhooks
// (https://www.standardwebhooks.com): HMAC-SHA256 of id, time and body, under a secret that
// the receiver has too.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Headers of a signed callback.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp" // seconds since 1970
	HeaderSignature = "Webhook-Signature" // of each secret, with spaces between them
)

// Secret is a key that a receiver of callbacks shares with the service.
type Secret []byte

// Bounds of a secret, in bytes.
const (
	minSecret = 24
	maxSecret = 64
)

// secretPrefix begins a secret as it is written.
const secretPrefix = "whsec_"

// parseSecret parses whsec_ and 24 to 64 bytes in base64. Its error does not show the secret.
func parseSecret(s string) (Secret, error) {
	text, ok := strings.CutPrefix(s, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return nil, fmt.Errorf("there is no secret: write %s and %d to %d random bytes in base64", secretPrefix, minSecret, maxSecret)
	}
	return key, nil
}

// maxSecrets is how many secrets a profile has: the new and the old one, while its receiver
// changes them.
const maxSecrets = 4

// ParseSecrets parses the secrets of profiles: on each line a name, a colon, and one secret or
// more, the new one first. Empty lines and those that begin with # are left out. The error names
// each line that is wrong, and shows no secret.
func ParseSecrets(text string) (map[string][]Secret, error) {
	all := map[string][]Secret{}
	var faults []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		words := strings.Fields(rest)
		switch {
		case !ok || name == "" || len(words) == 0 || len(words) > maxSecrets:
			faults = append(faults, fmt.Errorf("line %d: write the name of a profile, a colon, and 1 to %d secrets", n, maxSecrets))
			continue
		case all[name] != nil:
			faults = append(faults, fmt.Errorf("line %d: its profile has a line already", n))
		}
		for _, word := range words {
			secret, err := parseSecret(word)
			if err != nil {
				faults = append(faults, fmt.Errorf("line %d: %w", n, err))
			}
			all[name] = append(all[name], secret)
		}
	}
	return all, errors.Join(faults...)
}

// Sign returns the signature of a callback by each secret: id is its id, stamp the time in
// seconds.
func Sign(id, stamp string, body []byte, secrets []Secret) string {
	all := make([]string, len(secrets))
	for i, key := range secrets {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + stamp + "."))
		_, _ = mac.Write(body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
