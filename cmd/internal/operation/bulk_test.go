package operation

import (
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// The reasons why a command of operators is given to one thing at a time only.
const (
	namedOne = "it is about a setting, of which there are a few with names"
	isNew    = "it makes an entry, of which there is none yet that a filter could select"
	isMade   = "it makes what no filter could select yet"
	isLease  = "it is of the worker that has the lease, or asks for one"
	isBulk   = "it is a bulk action itself"
	isPlace  = "it is for the one batch whose work has gone: freed too early, more of a user's deposits run than may"
)

// oneByOne are the commands of operators that are no bulk action, with the reason; a noun
// stands for all of its commands.
var oneByOne = map[string]string{
	"collection": namedOne, "processor": namedOne, "timeouts": namedOne, "dataset": namedOne, "slot.add": isMade, "discover.add": isMade,
	"queue.suspend": namedOne, "queue.pause": namedOne, "queue.resume": namedOne, "queue.prohibit": namedOne, "queue.allow": namedOne,
	"queue.defaults": namedOne, "queue.limit": namedOne, "queue.unlimit": namedOne, "queue.park": "it selects by users and times itself", "queue.unpark": "it selects by users and times itself",
	"drop.start": namedOne, "drop.stop": namedOne,
	"object":         "two users look at each object before its content goes for ever",
	"compute.submit": isNew, "compute.claim": isLease, "compute.heartbeat": isLease, "compute.complete": isLease, "compute.fail": isLease, "compute.put": isLease, "task": isLease,
	"queue.free": isPlace, "bulk": isBulk, "poison": "it applies all that is held, or what is held of one thing",
}

// TestCommandsAreBulkActions: a command of operators may be given to all that a filter selects,
// or has a reason why not.
func TestCommandsAreBulkActions(t *testing.T) {
	t.Parallel()
	all, unused := map[string]bool{}, map[string]bool{}
	for name := range oneByOne {
		unused[name] = true
	}
	for _, op := range Table() {
		if !op.Write || op.Need != access.Act {
			continue
		}
		all[op.Name] = true
		noun, _, _ := strings.Cut(op.Name, ".")
		many := slices.ContainsFunc(bulk.Verbs, func(v bulk.Verb) bool { return operationOf(v) == op.Name })
		name := op.Name
		if oneByOne[name] == "" {
			name = noun
		}
		delete(unused, name)
		if why := oneByOne[name]; many == (why != "") {
			t.Errorf("%s: a bulk action %v, the reason why not is %q", op.Name, many, why)
		}
	}
	for name := range unused {
		t.Errorf("%s is no command", name)
	}
	for _, v := range bulk.Verbs {
		if name := operationOf(v); !all[name] {
			t.Errorf("%s is no operation", name)
		}
	}
}

// operationOf returns the operation that gives the command to one thing.
func operationOf(v bulk.Verb) string {
	if v.Kind == domain.KindEntry {
		return "compute." + v.Name
	}
	return string(v.Kind) + "." + v.Name
}
