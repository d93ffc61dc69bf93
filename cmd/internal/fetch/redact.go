package fetch

import (
	"net/url"
	"strconv"
	"strings"
)

// maxShown is how many bytes of a URL an error shows.
const maxShown = 300

// Redact returns a URL as it may be shown: without user name, password, fragment
// and query, and without control characters. That there was a query
// is shown as "?...". It never fails; of what is no URL it keeps the plain part.
func Redact(raw string) string {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return shown(plain(raw))
	}
	query := u.RawQuery != "" || u.ForceQuery
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	s := u.String()
	if query {
		s += "?..."
	}
	return shown(s)
}

// Host returns the server of a URL as HOST or HOST:PORT, and the bucket of an object; "" = it
// names none.
func Host(raw string) string {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != schemeBucket && u.Scheme != schemeSFTP {
		return ""
	}
	return shown(strings.ToLower(u.Host))
}

// plain returns what is neither query nor password of a text that cannot be parsed.
// Where an @ may end a password, nothing can be told apart.
func plain(s string) string {
	if strings.Contains(s, "@") {
		return "(a URL that cannot be shown)"
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		return s[:i] + "?..."
	}
	return s
}

func shown(s string) string {
	q := strconv.QuoteToASCII(s)
	s = q[1 : len(q)-1]
	if len(s) > maxShown {
		s = s[:maxShown] + "..."
	}
	return s
}

// checkURL parses a URL that a request may go to, first or by a redirect.
func checkURL(raw string) (*url.URL, *Error) {
	if len(raw) > 8<<10 {
		return nil, badURL(raw, "the URL is longer than 8 KiB")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, badURL(raw, "this is not a URL")
	}
	return u, vet(u)
}

func badURL(raw, why string) *Error {
	return content(CodeBadURL, Redact(raw), "give an address of the form https://host/path", "%s", why)
}

// vet returns what speaks against a parsed URL, nil for nothing.
func vet(u *url.URL) *Error {
	bad := func(why string) *Error { return badURL(u.String(), why) }
	switch why := vetHost(u); {
	case u.Scheme != "http" && u.Scheme != "https":
		return bad("only http and https can be fetched")
	case u.User != nil:
		return bad("a URL with user name or password is refused, since it would be kept and shown")
	case why != "":
		return bad(why)
	}
	return nil
}

// vetHost returns what speaks against the host and port of a URL, "" for nothing.
func vetHost(u *url.URL) string {
	port, portErr := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return "the URL has no host"
	case strings.HasSuffix(u.Host, ":"), u.Port() != "" && (portErr != nil || port == 0):
		return "the port is not a number from 1 to 65535"
	case strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r <= ' ' || r == 0x7f || r == '@' || r == '\\' }):
		return "the host holds characters that no host has"
	}
	return ""
}
