package fetch

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/accession-ingest/accession/domain"
)

// schemeFile begins the URL of a file of this machine, file:///DIRECTORY/NAME. The policy must
// have an exception for its directory: what the service may read is not for all who deposit.
const schemeFile = "file"

// ofMachine reports whether a URL is that of a file of this machine.
func ofMachine(raw string) bool { return strings.HasPrefix(raw, schemeFile+"://") }

// fileURL returns the URL of a file of this machine, if the policy opens it.
func (c *Client) fileURL(raw string) (*url.URL, *Error) {
	u, err := url.Parse(raw)
	bad := err != nil || len(raw) > 8<<10 || u.Host != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.ContainsRune(u.Path, 0)
	if bad || !path.IsAbs(u.Path) || path.Clean(u.Path) != u.Path {
		return nil, content(CodeBadURL, Redact(raw), "give an address of the form file:///DIRECTORY/NAME, with ? and # percent-encoded", "this is no URL of a file")
	}
	if directory, _ := c.policy.opensFile(u.Path); directory == "" {
		return nil, content(CodeAddressRefused, Redact(raw), "the operator can open it by file:///DIRECTORY/ in fetch.allow of the profile", "the directory is closed to this collection")
	}
	return u, nil
}

// files answers requests for files of this machine as a server does that knows no ranges, below
// the directories that a policy opens. No link leads out of one.
type files struct{ policy Policy }

// RoundTrip implements http.RoundTripper.
func (t files) RoundTrip(r *http.Request) (*http.Response, error) {
	shown := Redact(r.URL.String())
	f, info, err := t.open(r.URL.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e := content(CodeHTTPStatus, shown, "correct the URL, or put the file there", "there is no such file")
		e.Status = http.StatusNotFound
		return nil, e
	case errors.Is(err, fs.ErrPermission):
		e := content(CodeHTTPStatus, shown, "let the service read it; links may not lead out of its directory", "this is no file that may be read")
		e.Status = http.StatusForbidden
		return nil, e
	case err != nil:
		return nil, &Error{Code: CodeUnreachable, Class: domain.ClassSystem, URL: shown, Temporary: true, Ours: true, cause: err,
			Message: "the file cannot be read", Hint: "see whether its disk is there"}
	}
	answer := &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: f, ContentLength: info.Size(), Request: r,
		Header: http.Header{"Last-Modified": {info.ModTime().UTC().Format(http.TimeFormat)}}}
	if r.Method == http.MethodHead {
		answer.Body = http.NoBody
		return answer, f.Close()
	}
	return answer, nil
}

// open opens a file, which must be a regular one: what has no end or waits for a writer is none.
func (t files) open(name string) (*os.File, fs.FileInfo, error) {
	directory, below := t.policy.opensFile(name)
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if _, lost := root.Lstat(below); lost == nil { // it is there, and may be a link out of the directory
			err = fs.ErrPermission
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrPermission
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
