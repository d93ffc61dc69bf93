// Package listing reads listings of open directories, as web servers make them: Apache's
// (plain, with columns, as a table), nginx's, lighttpd's, Caddy's and that of Python's http.server,
// and the JSON of nginx and Caddy.
//
// A listing is read as a whole or not at all: what stops in the middle, has too many rows or
// is no listing is an error, never a directory with fewer files.
package listing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain/text"
)

// Errors of Parse; what it returns wraps one of them, or is an error of reading.
var (
	ErrNoListing = errors.New("this is no listing of a directory")
	ErrCutOff    = errors.New("the listing stops before its end")
	ErrTooMany   = errors.New("the listing has too many rows")
	ErrPages     = errors.New("the listing has several pages, of which this is one")
)

// Entry is a file or directory of a listing.
type Entry struct {
	Name      string // one segment of a path, decoded, without a slash
	URL       string
	Directory bool
	Size      int64     // bytes, -1 = not said
	Rounded   bool      // Size was rounded, as in "1.5M"
	Modified  time.Time // zero = not said; where the listing names no zone it is taken for UTC
}

// LeftOut is a link that is no entry.
type LeftOut struct {
	Link string // as it is written
	Why  string
}

// Listing is what a directory has.
type Listing struct {
	Entries []Entry
	// LeftOut are the first links that are no entries of the directory, and NLeftOut is how
	// many there were. Links to the directory itself and above it do not count.
	LeftOut  []LeftOut
	NLeftOut int

	directory *url.URL
	above     []string // segments of the directory's path, decoded
	names     map[string]bool
	most      int // entries and links left out
}

const (
	maxLink     = 4096 // bytes
	shownLefout = 20   // links of LeftOut
)

// Parse reads a listing that has at most that many rows. The URL is that of the directory and ends
// with a slash; contentType is what the server says the body is.
func Parse(body io.Reader, contentType string, directory *url.URL, most int) (*Listing, error) {
	l := &Listing{directory: directory, names: map[string]bool{}, most: most}
	if !strings.HasSuffix(directory.Path, "/") {
		return nil, fmt.Errorf("the address of a directory ends with a slash: %s", directory.Redacted())
	}
	above, err := segments(strings.TrimSuffix(directory.EscapedPath(), "/"))
	if err != nil {
		return nil, err
	}
	l.above = above
	in := bufio.NewReaderSize(body, 64<<10)
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil && contentType != "":
		return nil, fmt.Errorf("%w: its content type %q cannot be read", ErrNoListing, contentType)
	case kind == "application/json":
		err = l.readJSON(in)
	case kind == "text/html", kind == "application/xhtml+xml":
		err = l.readHTML(in, contentType)
	default:
		err = fmt.Errorf("%w: its content type is %q, not HTML or JSON", ErrNoListing, contentType)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Of returns the listing of a directory whose entries a store names one by one: their URLs are
// made of their names. most is as that of [Parse]. An error of entries is returned as it is.
func Of(entries iter.Seq2[Entry, error], directory *url.URL, most int) (*Listing, error) {
	above, err := segments(strings.TrimSuffix(directory.EscapedPath(), "/"))
	if err != nil {
		return nil, err
	}
	l := &Listing{directory: directory, above: above, names: map[string]bool{}, most: most}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if why := unusable(e.Name); why != "" && len(l.names)+l.NLeftOut < most {
			l.leave(e.Name, why)
			continue
		}
		if _, err := l.add(directory, "./"+url.PathEscape(e.Name), e); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// add adds what a link leads to, unless it leads elsewhere. The second result is nil when it
// is no entry.
func (l *Listing) add(base *url.URL, link string, e Entry) (*Entry, error) {
	if len(l.names)+l.NLeftOut >= l.most {
		return nil, fmt.Errorf("%w: more than %d", ErrTooMany, l.most)
	}
	if len(link) > maxLink {
		l.leave(link[:100]+"…", fmt.Sprintf("longer than %d bytes", maxLink))
		return nil, nil
	}
	to, err := url.Parse(strings.TrimSpace(link))
	if err != nil {
		l.leave(link, "no URL")
		return nil, nil //nolint:nilerr // it is left out
	}
	to = base.ResolveReference(to)
	if to.Scheme != l.directory.Scheme || to.Host != l.directory.Host || to.User != nil {
		l.leave(link, "leads to another server")
		return nil, nil
	}
	path, slash := strings.CutSuffix(to.EscapedPath(), "/")
	named, err := segments(path)
	switch {
	case err != nil:
		l.leave(link, err.Error())
		return nil, nil
	case len(named) == len(l.above) && under(named, l.above) && anotherPage(to.RawQuery):
		return nil, fmt.Errorf("%w: it has a link to ?%.100s", ErrPages, to.RawQuery)
	case len(named) <= len(l.above) && under(named, l.above): // itself, with another order, or above it
		return nil, nil
	case len(named) != len(l.above)+1 || !under(l.above, named):
		l.leave(link, "leads out of the directory")
		return nil, nil
	case to.RawQuery != "" || to.ForceQuery || to.Fragment != "":
		l.leave(link, "has a query or a fragment")
		return nil, nil
	}
	e.Name, e.Directory = named[len(named)-1], e.Directory || slash
	if why := unusable(e.Name); why != "" {
		l.leave(link, why)
		return nil, nil
	}
	if l.names[e.Name] {
		l.leave(link, "is there twice")
		return nil, nil
	}
	if e.Directory && !slash {
		to = to.JoinPath("/")
	}
	l.names[e.Name] = true
	e.URL = to.String()
	l.Entries = append(l.Entries, e)
	return &l.Entries[len(l.Entries)-1], nil
}

// orders are the parameters with which Apache and Caddy list a directory in another order or
// look, and pagings those that say where a page begins, besides all that are numbers.
var (
	orders  = regexp.MustCompile(`^(?i:c|o|f|v|p|n|d|m|s|sort|order|layout)$`)
	pagings = regexp.MustCompile(`^(?i:page|next|start|from|after|offset|skip|marker|cursor|token|continuation-token)$`)
	number  = regexp.MustCompile(`^[0-9]+$`)
)

// anotherPage reports whether a query of the directory's own address asks for more of it.
func anotherPage(query string) bool {
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		if !orders.MatchString(name) && (pagings.MatchString(name) || number.MatchString(value) || number.MatchString(name)) {
			return true
		}
	}
	return false
}

func (l *Listing) leave(link, why string) {
	if l.NLeftOut++; len(l.LeftOut) < shownLefout {
		l.LeftOut = append(l.LeftOut, LeftOut{strings.ToValidUTF8(link, "\ufffd"), why})
	}
}

// segments returns the decoded segments of an escaped path, without the empty one before it.
func segments(path string) ([]string, error) {
	all := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(all) == 1 && all[0] == "" {
		return nil, nil
	}
	for i, s := range all {
		name, err := url.PathUnescape(s)
		if err != nil {
			return nil, errors.New("has a percent sign that encodes nothing")
		}
		all[i] = name
	}
	return all, nil
}

// under reports whether a path is above another, or the same.
func under(above, path []string) bool {
	if len(above) > len(path) {
		return false
	}
	for i := range above {
		if above[i] != path[i] {
			return false
		}
	}
	return true
}

// unusable says why a name cannot be that of a file, "" = it can.
func unusable(name string) string {
	switch {
	case name == "" || name == "." || name == "..":
		return "names a directory above"
	case strings.ContainsAny(name, `/\`):
		return "has a slash in a name"
	case strings.Contains(name, "\ufffd"): // no such name is at the server
		return "is in another charset than its page says"
	}
	if err := text.Check(name); err != nil {
		what, _, _ := strings.Cut(err.Error(), ";") // the remedy is not the reader's
		return "its name " + what
	}
	return ""
}
