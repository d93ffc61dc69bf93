// Package discover finds the files of open directories: it reads the listing that a web server
// makes of a directory, and those of the directories below it.
package discover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/discover/listing"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
)

// Rules say which files of a directory count.
type Rules struct {
	// Pattern is a glob of [path.Match], of the name, or where it has a slash of the path below
	// the directory; "" = all.
	Pattern string
	// Recursive includes the directories below.
	Recursive bool
	// NewerThan leaves out what was modified before; zero = nothing. A file whose listing names
	// no date counts.
	NewerThan time.Time
	// MaxSize leaves out what is larger, in bytes; 0 = nothing. A file whose listing names no
	// size counts, and so does one whose size is rounded and may be small enough.
	MaxSize int64
}

// Rule names what leaves a file out.
type Rule string

// The rules.
const (
	ByPattern Rule = "pattern"
	ByAge     Rule = "age"
	BySize    Rule = "size"
	ByLink    Rule = "link" // it leads elsewhere, or has a name that no file may have
)

// Bounds of what is read at once.
type Bounds struct {
	Files       int   // of all directories, with those that are left out
	Directories int   // with the first
	Depth       int   // of directories below the first
	Bytes       int64 // of a listing
}

// Most are bounds that are far above what directories have.
var Most = Bounds{Files: 1_000_000, Directories: 10_000, Depth: 32, Bytes: 256 << 20}

// File is a file of a directory.
type File struct {
	Path     string    // below the directory, decoded
	URL      string    // as the listing leads to it
	Size     int64     // bytes, -1 = not said
	Rounded  bool      // Size is rounded
	Modified time.Time // zero = not said
}

// Found is what a directory has.
type Found struct {
	Files       []File // by directory, in the order of its listing
	Directories int
	LeftOut     map[Rule]int
	Links       []listing.LeftOut // the first of those that are left out ByLink
	// Pages are the listings that were read and that can be asked for again by what their
	// servers say of them, and Unchanged those that are the same as known: their files are not
	// in Files.
	Pages, Unchanged []Page

	unchanged int // files of Unchanged
}

// Page is the listing of a directory that a web server makes.
type Page struct {
	Path     string // of the directory below the first, with a slash at its end; "" = the first
	URL      string
	ETag     string       // "" = none
	Modified time.Time    // zero = not said
	Files    int          // that count
	LeftOut  map[Rule]int // those that do not
	Below    []Below      // if they are read too
}

// Below is a directory in another one.
type Below struct {
	Name string `json:"name"` // decoded
	URL  string `json:"url"`
}

// maxETag is how many bytes of an ETag are worth keeping.
const maxETag = 256

// Getter gets listings; [fetch.Client] is one.
type Getter interface {
	Get(ctx context.Context, url string, o fetch.GetOptions) (io.ReadCloser, fetch.Info, error)
	List(ctx context.Context, directory string) iter.Seq2[fetch.Object, error]
}

// shownLinks is how many links Found names.
const shownLinks = 20

// ErrBounds is wrapped by errors of directories that have more than the bounds allow.
var ErrBounds = errors.New("the directory has too much")

// Check returns what is wrong with the rules.
func (r Rules) Check() error {
	if _, err := path.Match(r.Pattern, ""); err != nil {
		return fmt.Errorf("the pattern %q cannot be read: close its brackets, as in *.[ch]", r.Pattern)
	}
	if r.MaxSize < 0 {
		return errors.New("the largest size is negative: 0 means any")
	}
	return nil
}

// directory is one that is to be read.
type directory struct {
	at    *url.URL
	below string // path from the first, with a slash at its end; "" = the first
	depth int
}

// Find reads a directory as [FindChanged] does, whatever is known of it.
func Find(ctx context.Context, from Getter, at string, rules Rules, most Bounds) (*Found, error) {
	return FindChanged(ctx, from, at, rules, most, nil)
}

// FindChanged reads a directory, but for the listings of which their servers say that they are the
// same as known, by the paths of their directories: those are Unchanged, and the directories in
// them are those that are known. If all are the same the error is [fetch.ErrUnchanged]. Where one
// listing cannot be read whole, nothing was found: the error names it, and wraps an error of
// package listing, a [*fetch.Error] or ErrBounds.
func FindChanged(ctx context.Context, from Getter, at string, rules Rules, most Bounds, known map[string]Page) (*Found, error) {
	first, err := url.Parse(at)
	if err != nil || first.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a directory: write it as in https://data.example.org/night/", fetch.Redact(at))
	}
	if first.RawQuery != "" || first.Fragment != "" {
		return nil, fmt.Errorf("%s has a query or a fragment, which the URL of a directory does not have", fetch.Redact(at))
	}
	if err := rules.Check(); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(first.Path, "/") {
		first = first.JoinPath("/")
	}
	f := &Found{Files: []File{}, LeftOut: map[Rule]int{}}
	for waiting := []directory{{at: first}}; len(waiting) > 0; {
		d := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		below, err := f.read(ctx, from, d, rules, most, known)
		if _, named := errors.AsType[*fetch.Error](err); named {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fetch.Redact(d.at.String()), err)
		}
		if f.Directories++; f.Directories+len(waiting)+len(below) > most.Directories {
			return nil, fmt.Errorf("%s: %w: more than %d directories", fetch.Redact(d.at.String()), ErrBounds, most.Directories)
		}
		waiting = append(waiting, below...)
	}
	if len(f.Unchanged) == f.Directories {
		return nil, fetch.ErrUnchanged
	}
	return f, nil
}

// read reads one listing and returns the directories that are to be read next.
func (f *Found) read(ctx context.Context, from Getter, d directory, rules Rules, most Bounds, known map[string]Page) (below []directory, err error) {
	if d.depth > most.Depth {
		return nil, fmt.Errorf("%w: it is more than %d directories deep", ErrBounds, most.Depth)
	}
	var l *listing.Listing
	now := Page{Path: d.below, URL: d.at.String(), LeftOut: map[Rule]int{}}
	if d.at.Scheme == "s3" {
		l, err = f.bucket(ctx, from, d, most)
	} else {
		l, err = f.page(ctx, from, d, most, known, &now)
	}
	if was, there := known[d.below]; there && errors.Is(err, fetch.ErrUnchanged) {
		return f.keep(d, was, most)
	}
	if errors.Is(err, listing.ErrTooMany) {
		return nil, fmt.Errorf("%w: more than %d files and links", ErrBounds, most.Files)
	}
	if err != nil {
		return nil, err
	}
	if l.NLeftOut > 0 {
		now.LeftOut[ByLink] = l.NLeftOut
		f.Links = append(f.Links, l.LeftOut[:min(len(l.LeftOut), shownLinks-len(f.Links))]...)
	}
	for _, e := range l.Entries {
		if !e.Directory {
			f.file(File{Path: d.below + e.Name, URL: e.URL, Size: e.Size, Rounded: e.Rounded, Modified: e.Modified}, rules, &now)
		} else if rules.Recursive {
			now.Below = append(now.Below, Below{e.Name, e.URL})
		}
	}
	f.count(now.LeftOut)
	if now.ETag != "" || !now.Modified.IsZero() {
		f.Pages = append(f.Pages, now)
	}
	return d.directories(now), nil
}

// keep takes a listing that is the same as known.
func (f *Found) keep(d directory, was Page, most Bounds) ([]directory, error) {
	f.Unchanged = append(f.Unchanged, was)
	f.unchanged += was.Files
	f.count(was.LeftOut)
	if f.left(most) < 0 {
		return nil, fmt.Errorf("%w: more than %d files and links", ErrBounds, most.Files)
	}
	return d.directories(was), nil
}

// directories returns the directories that are in one.
func (d directory) directories(p Page) (below []directory) {
	for _, b := range p.Below {
		if at, err := url.Parse(b.URL); err == nil {
			below = append(below, directory{at, d.below + b.Name + "/", d.depth + 1})
		}
	}
	return below
}

// page reads the listing that a web server makes, and notes what it says of it. One that is known
// from another address is not known.
func (f *Found) page(ctx context.Context, from Getter, d directory, most Bounds, known map[string]Page, now *Page) (*listing.Listing, error) {
	o := fetch.GetOptions{MaxBytes: most.Bytes}
	if was, there := known[d.below]; there && was.URL == now.URL {
		o.Known = &fetch.Info{ETag: was.ETag, Modified: was.Modified}
	}
	body, info, err := from.Get(ctx, d.at.String(), o)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if info.FinalURL != fetch.Redact(d.at.String()) {
		return nil, fmt.Errorf("%w: the server redirects to %s; name that instead", listing.ErrNoListing, info.FinalURL)
	}
	if len(info.ETag) <= maxETag {
		now.ETag, now.Modified = info.ETag, info.Modified
	}
	return listing.Parse(body, info.ContentType, d.at, f.left(most))
}

// bucket reads what a bucket has below a prefix. Whether that has changed is not known before.
func (f *Found) bucket(ctx context.Context, from Getter, d directory, most Bounds) (*listing.Listing, error) {
	return listing.Of(func(yield func(listing.Entry, error) bool) {
		for o, err := range from.List(ctx, d.at.String()) {
			if !yield(listing.Entry{Name: o.Name, Directory: o.Directory, Size: o.Size, Modified: o.Modified}, err) {
				return
			}
		}
	}, d.at, f.left(most))
}

// left returns how many files and links there may be yet.
func (f *Found) left(most Bounds) int { return most.Files - len(f.Files) - f.unchanged - f.leftOut() }

// file adds a file of a page, or counts there why it is left out.
func (f *Found) file(file File, rules Rules, of *Page) {
	if why := rules.leaveOut(file); why != "" {
		of.LeftOut[why]++
		return
	}
	of.Files++
	f.Files = append(f.Files, file)
}

// count counts what is left out of a page.
func (f *Found) count(out map[Rule]int) {
	for why, n := range out {
		f.LeftOut[why] += n
	}
}

func (f *Found) leftOut() (n int) {
	for _, of := range f.LeftOut {
		n += of
	}
	return n
}

// leaveOut returns the rule that leaves a file out, "" = it counts.
func (r Rules) leaveOut(f File) Rule {
	name := f.Path
	if !strings.Contains(r.Pattern, "/") {
		name = path.Base(name)
	}
	smallest := f.Size
	switch {
	case f.Rounded && f.Size <= 1<<10: // lighttpd writes 0.1K for one byte
		smallest = 0
	case f.Rounded:
		smallest = f.Size / 2 // 2K may be 1025 bytes
	}
	switch matches, _ := path.Match(r.Pattern, name); {
	case r.Pattern != "" && !matches:
		return ByPattern
	case !f.Modified.IsZero() && f.Modified.Before(r.NewerThan):
		return ByAge
	case r.MaxSize > 0 && smallest > r.MaxSize:
		return BySize
	}
	return ""
}
