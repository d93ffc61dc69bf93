// Package ratelimit tells callers of their limits, in the headers RateLimit-Policy and RateLimit.
package ratelimit

import (
	"net/http"
	"strconv"
	"time"

	"github.com/accession-ingest/accession/domain/access"
)

// Values returns the values of the headers about a limit, as
// the draft of the IETF has them (draft-ietf-httpapi-ratelimit-headers-10); both are "" if
// there is no limit.
func Values(l access.Limit) (policy, state string) {
	if l.Name == "" {
		return "", ""
	}
	name := strconv.Quote(l.Name)
	policy, state = name+";q="+strconv.Itoa(l.Quota), name+";r="+strconv.Itoa(l.Left)
	if l.Window > 0 {
		policy += ";w=" + seconds(l.Window)
	}
	if l.Reset > 0 {
		state += ";t=" + seconds(l.Reset)
	}
	return policy, state
}

// Set sets the headers.
func Set(h http.Header, l access.Limit) {
	if policy, state := Values(l); policy != "" {
		h.Set("RateLimit-Policy", policy)
		h.Set("RateLimit", state)
	}
}

// seconds rounds up: who waits for so long has waited long enough.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
