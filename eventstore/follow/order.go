package follow

import "fmt"

// remembered bounds how many subjects' numbers are kept: twice this many.
const remembered = 50_000

// order checks that the events of a subject come by their numbers. It remembers
// the subjects that were heard of last; of another one it believes the first
// event, unless all that ever came is remembered.
type order struct {
	whole       bool // from the first event of the log on
	recent, old map[string]int64
}

func newOrder(whole bool) *order { return &order{whole: whole, recent: map[string]int64{}} }

// next says what is wrong about an event, "" = nothing.
func (o *order) next(e Event) string {
	last, seen := o.recent[e.Subject]
	if !seen {
		last, seen = o.old[e.Subject]
	}
	if due := last + 1; e.Version != due && (seen || o.whole) {
		return fmt.Sprintf("number %d of %s came where %d was due", e.Version, e.Subject, due)
	}
	if len(o.recent) >= remembered {
		o.old, o.recent, o.whole = o.recent, map[string]int64{}, o.whole && o.old == nil
	}
	o.recent[e.Subject] = e.Version
	return ""
}
