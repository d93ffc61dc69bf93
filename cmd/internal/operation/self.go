package operation

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
)

// None is no parameters.
type None struct{}

func self() []*Operation {
	return []*Operation{
		get("self.show", "/v1/self", "Show who you are, and what you may do", OnSelf, false, func(_ context.Context, c *Call, _ *None) (people.Self, error) {
			return people.SelfOf(c.Caller), nil
		}),
	}
}
