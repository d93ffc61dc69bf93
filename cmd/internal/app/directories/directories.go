// Package directories has the use case of those who look at an open directory before anything
// is fetched from it.
package directories

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/discover"
	"github.com/accession-ingest/accession/cmd/internal/discover/listing"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
)

// Asked is what is looked for.
type Asked struct {
	URL     string // of the directory
	Profile string // says which addresses may be asked, and how long that may take
	Rules   discover.Rules
	Limit   int // files that are named
}

// File is a file that a directory lists.
type File struct {
	Path string `json:"path"` // below the directory
	URL  string `json:"url"`
	// Size is what the listing says, absent = nothing.
	Size *int64 `json:"size,omitempty"`
	// Rounded says that the listing rounds the size.
	Rounded bool `json:"size_rounded,omitempty"`
	// Modified is what the listing says, in UTC where it names no zone; absent = nothing.
	Modified *domain.Time `json:"modified,omitempty"`
}

// Link is a link of a listing that is no file of the directory.
type Link struct {
	Link string `json:"link"`
	Why  string `json:"why"`
}

// LeftOut counts files that a rule leaves out, and links that are no files.
type LeftOut struct {
	Pattern int `json:"pattern"`
	Age     int `json:"age"`
	Size    int `json:"size"`
	Links   int `json:"links"`
}

// Seen is what a directory has.
type Seen struct {
	URL         string `json:"url"`
	Directories int    `json:"directories"` // that were read, with the first
	// Count and Bytes are of all files that the rules leave; the bytes of sizes that the
	// listing says.
	Count   int     `json:"count"`
	Bytes   int64   `json:"bytes"`
	Files   []File  `json:"files"` // the first of them
	LeftOut LeftOut `json:"left_out"`
	Links   []Link  `json:"links"` // the first of those that are no files
}

// Look reads the listing of a directory, by the rules, and changes nothing.
func Look(ctx context.Context, a *app.App, asked Asked) (seen Seen, err error) {
	defer app.Explained(&err, "look at a directory")
	client, err := clientOf(ctx, a, asked.Profile)
	if err != nil {
		return seen, err
	}
	f, err := discover.Find(ctx, client, asked.URL, asked.Rules, discover.Most)
	if err != nil {
		return seen, refused(err)
	}
	seen = Seen{URL: fetch.Redact(asked.URL), Directories: f.Directories, Count: len(f.Files), Files: []File{}, Links: []Link{},
		LeftOut: LeftOut{Pattern: f.LeftOut[discover.ByPattern], Age: f.LeftOut[discover.ByAge], Size: f.LeftOut[discover.BySize], Links: f.LeftOut[discover.ByLink]}}
	for i, file := range f.Files {
		if seen.Bytes += max(file.Size, 0); i < asked.Limit {
			seen.Files = append(seen.Files, shown(file))
		}
	}
	for _, l := range f.Links {
		seen.Links = append(seen.Links, Link{fetch.Redact(l.Link), l.Why})
	}
	return seen, nil
}

func shown(f discover.File) File {
	s := File{Path: f.Path, URL: fetch.Redact(f.URL), Rounded: f.Rounded}
	if f.Size >= 0 {
		s.Size = &f.Size
	}
	if !f.Modified.IsZero() {
		at := domain.At(f.Modified)
		s.Modified = &at
	}
	return s
}

// clientOf returns the client for requests under a profile.
func clientOf(ctx context.Context, a *app.App, name string) (*fetch.Client, error) {
	set, err := a.ReadProfiles(ctx)
	if err != nil {
		return nil, err
	}
	p, err := set.Get(name)
	if err != nil {
		return nil, err
	}
	policy, err := fetch.PolicyOf(p.Fetch.Allow, time.Duration(p.Fetch.Timeout), int64(p.Fetch.MinRate))
	if err != nil {
		return nil, err
	}
	client, err := a.Open.Requests(ctx)
	if err != nil {
		return nil, err
	}
	return client.With(policy), nil
}

// refused returns the error of a directory that cannot be read.
func refused(err error) error {
	of, asked := errors.AsType[*fetch.Error](err)
	switch {
	case asked && of.Temporary:
		return &app.Error{Kind: app.Unavailable, Err: err, Hint: "try it again later", RetryAfter: of.After}
	case errors.Is(err, listing.ErrCutOff):
		return &app.Error{Kind: app.Unavailable, Err: err, Hint: "try it again; what was read is not used"}
	case errors.Is(err, discover.ErrBounds):
		return &app.Error{Kind: app.Invalid, Err: err, Hint: "name a directory below it, or leave out --recursive"}
	case errors.Is(err, listing.ErrPages):
		return &app.Error{Kind: app.Invalid, Err: err, Hint: "its server has to list all of it on one page; Accession follows pages of buckets alone"}
	case errors.Is(err, listing.ErrNoListing):
		return &app.Error{Kind: app.Invalid, Err: err, Hint: "its server has to list it: Apache, nginx, lighttpd, Caddy, or JSON as nginx and Caddy write it"}
	}
	return &app.Error{Kind: app.Invalid, Err: err}
}
