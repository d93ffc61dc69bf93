package poll

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/discover"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// What is known of a listing that has not changed: of a directory that is polled alone what its
// server said, with its last poll; of one that is polled with those below it also how many files
// each listing has, and which directories. The files are those that are kept as listed. What is
// known is forgotten before the files of a listing change, and kept when all is listed, so that
// a poll that is cut off has the next one read them anew.

// known returns what is known of the listings of a directory, as far as they need not be read
// again. Who asks for a poll has all read.
func (p *Poller) known(ctx context.Context, d directory, before record.Poll, asked bool) (map[string]discover.Page, error) {
	known := map[string]discover.Page{}
	switch {
	case asked, before.Version != d.version, before.Complete.IsZero():
	case d.Recursive:
		pages, err := p.Records.Pages(ctx, d.name, d.version)
		if err != nil {
			return nil, err
		}
		for _, of := range pages {
			known[of.Path] = pageOf(of)
		}
	case before.ETag != "" || !before.Modified.IsZero():
		if at, err := url.Parse(d.URL); err == nil {
			known[""] = discover.Page{URL: at.String(), ETag: before.ETag, Modified: before.Modified}
		}
	}
	return known, nil
}

func pageOf(of record.Page) discover.Page {
	p := discover.Page{Path: of.Path, URL: of.URL, ETag: of.ETag, Files: int(of.Files), LeftOut: map[discover.Rule]int{}}
	if of.Modified != nil {
		p.Modified = *of.Modified
	}
	for rule, n := range of.LeftOut {
		p.LeftOut[discover.Rule(rule)] = n
	}
	for _, b := range of.Below {
		p.Below = append(p.Below, discover.Below(b))
	}
	return p
}

// errForgotten is the error of a poll that found that the files of listings are not known.
var errForgotten = errors.New("the files of directories that have not changed are not all known: the directories are read anew")

// unchanged keeps the files of listings that have not changed as listed, and forgets what is known
// of the others.
func (p *Poller) unchanged(ctx context.Context, d directory, found *discover.Found, now *record.Poll) error {
	if !d.Recursive {
		return nil
	}
	var paths []string
	want := int64(0)
	for _, of := range found.Unchanged {
		paths, want = append(paths, of.Path), want+int64(of.Files)
	}
	if err := p.Records.DropPages(ctx, d.name, paths); err != nil || len(paths) == 0 {
		return err
	}
	n, err := p.Records.KeepUnchanged(ctx, d.name, now.Begun, paths)
	if err == nil && n != want {
		err = errors.Join(errForgotten, p.Records.DropPages(ctx, d.name, nil))
	}
	now.Files, now.Known = n, n
	return err
}

// keepPages keeps what is known of the listings that were read.
func (p *Poller) keepPages(ctx context.Context, d directory, pages []discover.Page, now *record.Poll) error {
	if !d.Recursive {
		for _, of := range pages {
			now.ETag, now.Modified = of.ETag, of.Modified
		}
		return nil
	}
	for some := range slices.Chunk(pages, chunk) {
		var rows []record.Page
		for _, of := range some {
			row := record.Page{Discovery: d.name, Version: d.version, Path: of.Path, URL: of.URL, ETag: of.ETag, Files: int64(of.Files),
				LeftOut: map[string]int{}, Below: []record.Below{}}
			if !of.Modified.IsZero() {
				row.Modified = &of.Modified
			}
			for rule, n := range of.LeftOut {
				row.LeftOut[string(rule)] = n
			}
			for _, b := range of.Below {
				row.Below = append(row.Below, record.Below(b))
			}
			rows = append(rows, row)
		}
		if err := p.Records.KeepPages(ctx, d.name, rows); err != nil {
			return err
		}
	}
	return nil
}

// byPath returns pages by the paths of their directories.
func byPath(pages []discover.Page) map[string]*discover.Page {
	by := make(map[string]*discover.Page, len(pages))
	for i := range pages {
		by[pages[i].Path] = &pages[i]
	}
	return by
}

// leaveOut counts in its page a file that has a name that no file may have.
func leaveOut(pages map[string]*discover.Page, f discover.File) {
	if of := pages[f.Path[:strings.LastIndexByte(f.Path, '/')+1]]; of != nil {
		of.Files--
		of.LeftOut[discover.ByLink]++
	}
}
