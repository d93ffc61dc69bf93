package standing

import "github.com/accession-ingest/accession/eventstore"

// MaxNamed is how many servers of depositors a status names, and how many submitters.
const MaxNamed = 20

// HostStatus says how many steps of all processes use a server of depositors, or hold the
// permit for it a moment longer, and how many may.
type HostStatus struct {
	Host    string `json:"host"`
	Permits int    `json:"permits"`
	Limit   int    `json:"limit"`
}

// SubmitterStatus says how many steps of all processes work for a submitter, or hold the
// permit for it a moment longer, and how many may.
type SubmitterStatus struct {
	Submitter string `json:"submitter"`
	Permits   int    `json:"permits"`
	Limit     int    `json:"limit"`
}

// PermitLimits are how many permits there are for one server, and for one submitter.
type PermitLimits struct{ Host, Submitter int }

// Permits returns the servers that are used, up to [MaxNamed] of them, how many there are
// in all, and the submitters for whom as many steps work as may, up to [MaxNamed] too. What
// has no name is only counted.
func Permits(taken []eventstore.PermitsTaken, limits PermitLimits) (hosts []HostStatus, in int, full []SubmitterStatus) {
	hosts, full = []HostStatus{}, []SubmitterStatus{}
	for _, t := range taken {
		if !t.Of.Submitter {
			in++
		}
		switch {
		case t.Of.Name == "":
		case t.Of.Submitter && t.Taken >= limits.Submitter && len(full) < MaxNamed:
			full = append(full, SubmitterStatus{t.Of.Name, t.Taken, limits.Submitter})
		case !t.Of.Submitter && len(hosts) < MaxNamed:
			hosts = append(hosts, HostStatus{t.Of.Name, t.Taken, limits.Host})
		}
	}
	return hosts, in, full
}
