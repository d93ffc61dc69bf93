package service

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

const dataciteType = "application/vnd.api+json"

// document is a document of JSON:API about a DOI.
type document struct {
	Data struct {
		ID         string     `json:"id,omitempty"`
		Type       string     `json:"type"`
		Attributes attributes `json:"attributes"`
	} `json:"data"`
}

// attributes are what DataCite knows of a DOI, as far as it matters here.
type attributes struct {
	DOI             string      `json:"doi"`
	Event           string      `json:"event,omitempty"`
	URL             string      `json:"url,omitempty"`
	Creators        []creator   `json:"creators,omitempty"`
	Titles          []title     `json:"titles,omitempty"`
	Publisher       any         `json:"publisher,omitempty"` // in answers, it may be an object
	PublicationYear int         `json:"publicationYear,omitempty"`
	Types           *types      `json:"types,omitempty"`
	Alternate       []alternate `json:"alternateIdentifiers,omitempty"`
	// Identifiers has in answers the same as Alternate, under other names.
	Identifiers []struct {
		Identifier string `json:"identifier"`
		Type       string `json:"identifierType"`
	} `json:"identifiers,omitempty"`
}

type (
	creator struct {
		Name string `json:"name"`
	}
	title struct {
		Title string `json:"title"`
	}
	types struct {
		General string `json:"resourceTypeGeneral"`
	}
	alternate struct {
		Type       string `json:"alternateIdentifierType"`
		Identifier string `json:"alternateIdentifier"`
	}
)

// unavailable is what the schema of DataCite has for a value that is not known.
const unavailable = ":unav"

// dataciteBody returns the body of the request that creates a DOI: a draft, or one that is
// findable if it leads somewhere.
func dataciteBody(r Request) string {
	var d document
	d.Data.Type = "dois"
	a := &d.Data.Attributes
	a.DOI = doiOf(r.Identifier)
	a.Alternate = []alternate{{Marker, r.For}}
	a.Creators, a.Titles = []creator{{cmp.Or(r.Who, unavailable)}}, []title{{cmp.Or(r.What, unavailable)}}
	a.Publisher, a.PublicationYear = cmp.Or(r.Publisher, unavailable), yearOf(r.When, r.Year)
	a.Types = &types{"Other"}
	if r.Target != "" {
		a.Event, a.URL = "publish", r.Target
	}
	text, _ := json.Marshal(d) // texts and numbers alone
	return string(text)
}

func doiOf(identifier string) string { return strings.TrimPrefix(identifier, "doi:") }

func (s Service) registerAtDataCite(ctx context.Context, via Doer, r Request) error {
	a, err := s.ask(ctx, via, http.MethodPost, "/dois", dataciteType, dataciteBody(r))
	switch {
	case err != nil:
		return err
	case !a.ok():
		return s.refused(a.status, a.header, saidByDataCite(a.body))
	}
	var d document
	if err := json.Unmarshal([]byte(a.body), &d); err != nil {
		return s.strange(a.status, "it is not JSON of a DOI")
	}
	if !strings.EqualFold(d.Data.ID, doiOf(r.Identifier)) {
		return s.strange(a.status, "it has made "+d.Data.ID+", and was asked for "+doiOf(r.Identifier))
	}
	return nil
}

// lookAtDataCite returns for whom a DOI was made, if there is one.
func (s Service) lookAtDataCite(ctx context.Context, via Doer, identifier string) (found bool, madeFor string, err error) {
	a, err := s.ask(ctx, via, http.MethodGet, "/dois/"+doiOf(identifier), dataciteType, "")
	switch {
	case err != nil:
		return false, "", err
	case a.status == http.StatusNotFound:
		return false, "", nil
	case !a.ok():
		return false, "", s.refused(a.status, a.header, saidByDataCite(a.body))
	}
	var d document
	if err := json.Unmarshal([]byte(a.body), &d); err != nil || !strings.EqualFold(d.Data.ID, doiOf(identifier)) {
		return false, "", s.strange(a.status, "it is not JSON of this DOI")
	}
	for _, is := range d.Data.Attributes.Alternate {
		if is.Type == Marker {
			return true, is.Identifier, nil
		}
	}
	for _, is := range d.Data.Attributes.Identifiers {
		if is.Type == Marker {
			return true, is.Identifier, nil
		}
	}
	return true, "", nil
}

// saidByDataCite returns what the errors of an answer say.
func saidByDataCite(body string) string {
	var d struct {
		Errors []struct {
			Source string `json:"source"`
			Title  any    `json:"title"`
			Detail string `json:"detail"`
		} `json:"errors"`
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil || len(d.Errors) == 0 {
		return ""
	}
	var all []string
	for _, e := range d.Errors {
		said, _ := e.Title.(string)
		if said = cmp.Or(said, e.Detail); e.Source != "" {
			said = e.Source + ": " + said
		}
		all = append(all, said)
	}
	return strings.Join(all, "; ")
}
