package httpapi

import (
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
)

// inputsRoute is the route of inputs of work whose addresses are signed: who has one needs no key.
const inputsRoute = http.MethodGet + " " + leases.InputsPath + "{ticket}"

// input sends an input of work to who has its address.
func (s *Server) input(w http.ResponseWriter, r *http.Request) {
	send, err := leases.Signed(r.Context(), &app.App{Open: s.Open}, r.PathValue("ticket"))
	if err != nil {
		p := problem.ForCaller(err, requestID(r.Context()))
		if p.Status >= http.StatusInternalServerError {
			s.Log.Error("an input cannot be sent", "request", p.Request, "error", err)
		}
		refuse(w, p)
		return
	}
	if err := send(w, r); err != nil {
		s.Log.Error("an input was cut off", "request", requestID(r.Context()), "error", err)
		panic(http.ErrAbortHandler)
	}
}
