package listing

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// page reads a listing in HTML, token by token.
type page struct {
	*Listing
	base     *url.URL
	begun    bool     // <html> was there
	ended    bool     // </html> was there
	said     bool     // a heading or a column says that it is a listing
	entry    *Entry   // the row that is being read, nil = none
	fields   []string // of its text
	inLink   bool
	pre      bool     // a row is a line
	heading  bool     // in <title>, <h1> or <th>
	headings []string // of the present one; of all columns
	columns  map[string]bool
}

func (l *Listing) readHTML(body io.Reader, contentType string) error {
	decoded, err := charset.NewReader(body, contentType)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is empty", ErrNoListing)
	} else if err != nil {
		return err
	}
	p := &page{Listing: l, base: l.directory, columns: map[string]bool{}}
	tokens := html.NewTokenizer(decoded)
	tokens.SetMaxBuf(1 << 20)
	for {
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			return p.end(tokens.Err())
		case html.TextToken:
			p.text(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			if err := p.start(tokens.Token()); err != nil {
				return err
			}
		case html.EndTagToken:
			p.close(tokens.Token().DataAtom)
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// end says what is wrong with a page that was read up to its end.
func (p *page) end(err error) error {
	p.row()
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case !p.begun:
		return fmt.Errorf("%w: it has no <html>", ErrNoListing)
	case !p.ended:
		return fmt.Errorf("%w: it has no </html>", ErrCutOff)
	case !p.said && !p.columns["name"]:
		return fmt.Errorf("%w: neither its title nor its columns are those of one", ErrNoListing)
	}
	return nil
}

func (p *page) start(t html.Token) error {
	switch t.DataAtom {
	case atom.Html:
		p.begun = true
	case atom.Title, atom.H1, atom.Th:
		p.heading, p.headings = true, nil
	case atom.Base:
		if to, err := url.Parse(attribute(t, "href")); err == nil {
			p.base = p.directory.ResolveReference(to)
		}
	case atom.Pre:
		p.pre = true
	case atom.Tr, atom.Li, atom.Hr:
		p.row()
	case atom.Td:
		if n, err := strconv.ParseInt(attribute(t, "data-order"), 10, 64); err == nil && n >= 0 && p.entry != nil {
			p.entry.Size = n
		}
	case atom.Time:
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(attribute(t, "datetime"))); err == nil && p.entry != nil {
			p.entry.Modified = at.UTC()
		}
	case atom.Link:
		if next(t) {
			return fmt.Errorf("%w: it names a next one", ErrPages)
		}
	case atom.A:
		p.row()
		p.inLink = true
		if next(t) {
			return fmt.Errorf("%w: it names a next one", ErrPages)
		}
		if link := attribute(t, "href"); link != "" {
			e, err := p.add(p.base, link, Entry{Size: -1})
			p.entry = e
			return err
		}
	}
	return nil
}

// next reports whether a link says that it leads to the next page.
func next(t html.Token) bool {
	return slices.Contains(strings.Fields(strings.ToLower(attribute(t, "rel"))), "next")
}

func (p *page) close(a atom.Atom) {
	switch a {
	case atom.Html:
		p.ended = true
	case atom.A:
		p.inLink = false
	case atom.Title, atom.H1, atom.Th:
		p.heading = false
		p.headed(a, strings.Join(p.headings, " "))
	case atom.Pre:
		p.pre = false
		p.row()
	case atom.Tr, atom.Li:
		p.row()
	}
}

// headed takes what a title, a heading or the head of a column says.
func (p *page) headed(a atom.Atom, text string) {
	text = strings.Join(strings.Fields(text), " ")
	if a == atom.Th {
		p.columns[strings.ToLower(strings.TrimRight(text, ":"))] = true
		return
	}
	for _, begin := range []string{"Index of ", "Directory listing for "} {
		p.said = p.said || strings.HasPrefix(text, begin)
	}
}

func (p *page) text(s string) {
	if p.heading {
		p.headings = append(p.headings, s)
	}
	if p.inLink || p.entry == nil {
		return
	}
	ends := false
	if p.pre {
		s, _, ends = strings.Cut(s, "\n")
	}
	if p.fields = append(p.fields, strings.Fields(s)...); ends {
		p.row()
	}
}

// row takes what the text after a link says, and ends its row.
func (p *page) row() {
	if p.entry != nil && len(p.fields) > 0 {
		at, rest := modified(p.fields)
		if rest != nil && p.entry.Modified.IsZero() {
			p.entry.Modified = at
		}
		if len(rest) > 0 && p.entry.Size < 0 && !p.entry.Directory {
			p.entry.Size, p.entry.Rounded = size(rest[0])
		}
	}
	p.entry, p.fields = nil, nil
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
