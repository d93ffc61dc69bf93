package follow

import (
	"fmt"

	"github.com/accession-ingest/accession/eventstore/internal/recent"
)

// remembered bounds how many subjects' numbers are kept: twice this many.
const remembered = 50_000

// order checks that the events of a subject are numbered without gaps. It remembers the
// most recent subjects; for another one it accepts any first number, unless no subject
// was ever forgotten.
type order struct {
	whole bool // from the first event of the log on
	last  *recent.Map[string, int64]
}

func newOrder(whole bool) *order { return &order{whole, recent.New[string, int64](remembered)} }

// next returns what is wrong about an event, "" = nothing.
func (o *order) next(e Event) string {
	last, seen := o.last.Get(e.Subject)
	if due := last + 1; e.Version != due && (seen || o.whole && !o.last.Forgot()) {
		return fmt.Sprintf("number %d of %s came where %d was due", e.Version, e.Subject, due)
	}
	o.last.Set(e.Subject, e.Version)
	return ""
}
