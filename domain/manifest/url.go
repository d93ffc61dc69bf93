package manifest

import (
	"errors"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain/text"
)

// StoreScheme is the scheme of URLs of uploads that are kept in the object
// store: store:///KEY.
const StoreScheme = "store"

// CheckURL reports whether raw may be a payload: an absolute http or https URL
// with a host, without user name, password or fragment; an object in a bucket,
// s3://BUCKET/KEY; a file of an SFTP server, sftp://HOST/DIRECTORY/NAME; one of the service's machine, file:///DIRECTORY/NAME; or, where allowStore
// says so, a store:///KEY URL. The error is an [Error] with code [RowBadURL] and never quotes the URL, which may hold a secret.
func CheckURL(raw string, allowStore bool) error {
	_, err := parseURL(raw, allowStore)
	return err
}

func parseURL(raw string, allowStore bool) (*url.URL, error) {
	bad := func(what string) (*url.URL, error) { return nil, fault(0, RowBadURL, "%s", what) }
	if raw == "" {
		return bad("the URL is missing; each row starts with one")
	}
	if strings.ContainsAny(raw, " \\") || !text.Valid(raw) {
		return bad("the URL holds a space, backslash, control or invisible character; write it percent-encoded (%20 for a space)")
	}
	u, err := url.Parse(raw)
	var escape url.EscapeError
	switch {
	case errors.As(err, &escape):
		return bad("the URL holds a % that starts no escape; write %25 for it")
	case err != nil:
		return bad("the URL cannot be read; write it as http://HOST/PATH")
	case u.User != nil:
		return bad("the URL holds a user name or password; remove it, and serve the file where it is not needed")
	case strings.Contains(raw, "#"):
		return bad("the URL holds a #, behind which nothing is sent; write %23 if it belongs to the path")
	}
	switch u.Scheme {
	case "http", "https", "sftp":
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return bad("the URL's port is not between 1 and 65535; correct it")
			}
		}
		if u.Hostname() == "" {
			return bad("the URL names no host; write it as " + u.Scheme + "://HOST/PATH")
		}
		if u.Scheme == "sftp" && (len(u.Path) < 2 || u.RawQuery != "" || u.ForceQuery) {
			return bad("the URL of a file of an SFTP server is not of the form sftp://HOST/DIRECTORY/NAME; write ? as %3F if it belongs to the name")
		}
		return u, nil
	case "s3":
		if u.Host == "" || len(u.Path) < 2 || u.RawQuery != "" || u.ForceQuery {
			return bad("the URL of an object in a bucket is not of the form s3://BUCKET/KEY; write ? as %3F if it belongs to the key")
		}
		return u, nil
	case "file":
		if u.Host != "" || len(u.Path) < 2 || u.RawQuery != "" || u.ForceQuery {
			return bad("the URL of a file is not of the form file:///DIRECTORY/NAME; write ? as %3F if it belongs to the name")
		}
		return u, nil
	case StoreScheme:
		switch {
		case !allowStore:
			return bad("the URL names an upload, which a deposited manifest may not; use http or https")
		case u.Host != "" || u.RawQuery != "" || u.ForceQuery || len(u.Path) < 2:
			return bad("the store URL is not of the form store:///KEY")
		}
		return u, nil
	}
	return bad("the URL is neither http nor https nor s3 nor sftp nor file; serve the file by one of them")
}

// PayloadName returns the name under which a file is kept that only its URL names:
// the last part of the URL's path in the form of [NormalName], or "payload" when
// that is no name.
func PayloadName(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		if name := NormalName(path.Base(u.Path)); CheckName(name) == nil {
			return name
		}
	}
	return "payload"
}

// nameFromURL returns the last part of the URL's path, percent-decoded, or ""
// when the path ends in a slash.
func nameFromURL(u *url.URL) string {
	escaped := u.EscapedPath()
	name, err := url.PathUnescape(escaped[strings.LastIndexByte(escaped, '/')+1:])
	if err != nil {
		return "" // EscapedPath is well formed, so this is not reached; no name is a row fault
	}
	return name
}
