package httpapi

import (
	"fmt"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/httpapi/internal/tus"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// resumable adds the routes of uploads that come in pieces.
func (s *Server) resumable(mux routes) {
	t := &tus.Server{Most: s.Open.UploadLimit, Server: operation.Server{Begin: s.begin, Ended: s.ended},
		Refuse: func(w http.ResponseWriter, r *http.Request, err error) {
			refuse(w, problem.ForCaller(err, requestID(r.Context())))
		},
		Reject: func(w http.ResponseWriter, r *http.Request, status int, why string) {
			code := kindOf(status)
			refuse(w, &Problem{Title: http.StatusText(status), Status: status, Code: string(code), Detail: why, Exit: app.ExitCodes[code],
				Hint: "HEAD says how many bytes have come; OPTIONS what is served", Request: requestID(r.Context())})
		}}
	handlers, err := t.Handlers()
	if err != nil {
		panic(fmt.Sprintf("routes of resumable uploads: %v", err)) // a fault of the configuration above
	}
	for pattern, h := range handlers {
		mux.Handle(pattern, h)
	}
}
