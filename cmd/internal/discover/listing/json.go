package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// item is an element of nginx's or Caddy's JSON.
type item struct {
	Name     *string `json:"name"`
	Type     string  `json:"type"`     // nginx
	Mtime    string  `json:"mtime"`    // nginx: a date as in HTTP
	Size     *int64  `json:"size"`     // both
	Dir      *bool   `json:"is_dir"`   // Caddy
	URL      string  `json:"url"`      // Caddy
	Modified string  `json:"mod_time"` // Caddy
}

func (l *Listing) readJSON(body io.Reader) error {
	in := json.NewDecoder(body)
	if t, err := in.Token(); err != nil {
		return jsonError(err)
	} else if t != json.Delim('[') {
		return fmt.Errorf("%w: it is no JSON array", ErrNoListing)
	}
	for in.More() {
		var i item
		if err := in.Decode(&i); err != nil {
			return jsonError(err)
		}
		if err := l.item(i); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return jsonError(err)
	}
	if _, err := in.Token(); err != io.EOF {
		return fmt.Errorf("%w: there is more behind the JSON array", ErrNoListing)
	}
	return nil
}

func (l *Listing) item(i item) error {
	if i.Name == nil || i.Type == "" && i.Dir == nil {
		return fmt.Errorf("%w: an element has no name, or says not whether it is a directory", ErrNoListing)
	}
	e := Entry{Size: -1, Directory: i.Type == "directory" || i.Dir != nil && *i.Dir}
	if i.Size != nil && *i.Size >= 0 && !e.Directory {
		e.Size = *i.Size
	}
	if at, err := time.Parse(time.RFC1123, i.Mtime); err == nil {
		e.Modified = at.UTC()
	} else if at, err := time.Parse(time.RFC3339, i.Modified); err == nil {
		e.Modified = at.UTC()
	}
	link := i.URL
	if link == "" {
		link = "./" + url.PathEscape(*i.Name)
	}
	_, err := l.add(l.directory, link, e)
	return err
}

func jsonError(err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w: its JSON is not whole", ErrCutOff)
	case syntax, kind:
		return fmt.Errorf("%w: %w", ErrNoListing, err)
	}
	return err
}
