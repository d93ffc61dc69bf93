package httpapi

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/forms"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/access"
)

// formHandler serves a form. Its caller may be known by a field of its body only, so it signs
// in by itself.
type formHandler struct{ http.HandlerFunc }

func (s *Server) form(f *forms.Form) formHandler {
	op := &operation.Operation{Name: f.Name, Method: f.Method, Path: f.Path, Write: f.Write}
	return formHandler{func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		e := &forms.Exchange{App: &app.App{Open: s.Open}, People: s.People, From: addressOf(ctx), Header: credential(r), W: w, R: r}
		err := f.Answer(e)
		if e.By.Name == "" {
			if err != nil {
				s.unknown(w, r, nil, err)
			}
			return
		}
		ctx = context.WithValue(ctx, keyCaller, &known{caller: access.Caller{Name: e.By.Name}, by: e.By})
		if err = s.ended(ctx, op, operation.Ending{On: e.On, Err: err}); err != nil {
			refuse(w, problem.ForCaller(err, requestID(ctx)))
		}
	}}
}
