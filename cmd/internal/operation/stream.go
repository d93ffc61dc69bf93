package operation

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
)

// send sends an answer that is no JSON. After an error the answer is cut off, so that the
// client sees that it is not whole.
type send func(w http.ResponseWriter, r *http.Request) error

// answerOutside sends the problem of a range that is not in the file.
func answerOutside(o *sending.Outside, api huma.API, to huma.Context, h http.Header) error {
	for name := range h {
		if name == "Content-Disposition" || name == "Content-Type" || name == "Repr-Digest" || name == "Etag" {
			delete(h, name)
		}
	}
	h.Set("Cache-Control", "no-store")
	return huma.WriteErr(api, to, http.StatusRequestedRangeNotSatisfiable, o.Error())
}

// stream returns the row of an operation that answers with what the function sends that do
// returns, once the caller has the right to it.
func stream[I any](op Operation, do func(ctx context.Context, c *Call, in *I) (send, error)) *Operation {
	op.Input, op.Output = reflect.TypeFor[I](), reflect.TypeFor[string]()
	self := &op
	op.register = func(api huma.API, o huma.Operation, call Server) {
		huma.Register(api, o, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
			c := call.Begin(ctx, self)
			e := self.allow(ctx, c, in)
			var answer send
			if e.Err == nil {
				answer, e.Err = do(ctx, c, in)
			}
			if err := call.Ended(ctx, self, e); err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(h huma.Context) {
				r, w := humago.Unwrap(h)
				err := answer(w, r)
				if o, ok := errors.AsType[*sending.Outside](err); ok {
					err = answerOutside(o, api, h, w.Header())
				}
				if err != nil {
					if r.Context().Err() == nil {
						e.Err = err
						_ = call.Ended(ctx, self, e) // it is logged there
					}
					panic(http.ErrAbortHandler)
				}
			}}, nil
		})
	}
	return self
}
