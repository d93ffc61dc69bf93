package service

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/domain/anvl"
)

const ezidType = "text/plain; charset=UTF-8"

// ezidBody returns the body of the request that creates an identifier.
func ezidBody(r Request) string {
	elements := []anvl.Element{{Name: Marker, Value: r.For}, {Name: "_profile", Value: "erc"}}
	if r.Target == "" {
		elements = append(elements, anvl.Element{Name: "_status", Value: "reserved"})
	} else {
		elements = append(elements, anvl.Element{Name: "_target", Value: r.Target})
	}
	for _, e := range []anvl.Element{{Name: "erc.who", Value: r.Who}, {Name: "erc.what", Value: r.What}, {Name: "erc.when", Value: r.When}} {
		if e.Value != "" {
			elements = append(elements, e)
		}
	}
	return anvl.Encode(elements)
}

func (s Service) registerAtEZID(ctx context.Context, via Doer, r Request) error {
	a, err := s.ask(ctx, via, http.MethodPut, "/id/"+r.Identifier, ezidType, ezidBody(r))
	if err != nil {
		return err
	}
	says, err := anvl.DecodeAnswer(a.body)
	switch {
	case !a.ok() && err != nil:
		return s.refused(a.status, a.header, a.body)
	case !a.ok():
		return s.refused(a.status, a.header, says.Message)
	case err != nil:
		return s.strange(a.status, err.Error())
	case !says.Success:
		return s.refused(http.StatusBadRequest, a.header, says.Message)
	case says.Message != r.Identifier:
		return s.strange(a.status, "it has made "+says.Message+", and was asked for "+r.Identifier)
	}
	return nil
}

// lookAtEZID returns for whom an identifier was made, if there is one.
func (s Service) lookAtEZID(ctx context.Context, via Doer, identifier string) (found bool, madeFor string, err error) {
	a, err := s.ask(ctx, via, http.MethodGet, "/id/"+identifier, ezidType, "")
	if err != nil {
		return false, "", err
	}
	says, err := anvl.DecodeAnswer(a.body)
	switch {
	case a.ok() && err != nil:
		return false, "", s.strange(a.status, err.Error())
	case a.ok():
		return says.Success, says.Value(Marker), nil
	case a.status == http.StatusBadRequest || a.status == http.StatusNotFound: // no such identifier
		return false, "", nil
	case err == nil:
		return false, "", s.refused(a.status, a.header, says.Message)
	}
	return false, "", s.refused(a.status, a.header, a.body)
}
