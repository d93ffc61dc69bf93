package standing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/eventstore"
)

// A status names servers that are used, and of submitters only those that have all.
func TestPermits(t *testing.T) {
	t.Parallel()
	taken := []eventstore.PermitsTaken{
		{Of: eventstore.PermitOf{Name: "mallory", Submitter: true}, Taken: 4},
		{Of: eventstore.PermitOf{Name: "ana", Submitter: true}, Taken: 3},
		{Of: eventstore.PermitOf{Submitter: true}, Taken: 4},
		{Taken: 1},
	}
	for n := range MaxNamed + 2 {
		taken = append(taken, eventstore.PermitsTaken{Of: eventstore.PermitOf{Name: fmt.Sprint("server", n)}, Taken: 2})
	}
	hosts, in, full := Permits(taken, PermitLimits{Host: 2, Submitter: 4})
	if in != MaxNamed+3 || len(hosts) != MaxNamed || hosts[1] != (HostStatus{"server1", 2, 2}) {
		t.Errorf("%d servers are used: %v", in, hosts)
	}
	if !slices.Equal(full, []SubmitterStatus{{"mallory", 4, 4}}) {
		t.Errorf("the submitters are %v", full)
	}
}
