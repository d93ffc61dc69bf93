package limits

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/domain"
)

// MaxServers is how many servers of its files a step uses at once, and so for how many it
// holds permits.
const MaxServers = 32

// Groups are the servers of a job's files, those with most files first, in groups of
// [MaxServers] that a step uses one after the other.
type Groups struct {
	Servers [][]string // of each group; there is at least one
	of      map[string]int
}

// GroupServers returns the groups of the servers of some files, given the server of each
// file; "" = the installation's own object store, which is in no group.
func GroupServers(ofFiles []string) Groups {
	uses := map[string]int{}
	for _, server := range ofFiles {
		if server != "" {
			uses[server]++
		}
	}
	servers := slices.SortedFunc(maps.Keys(uses), func(a, b string) int { return cmp.Or(uses[b]-uses[a], cmp.Compare(a, b)) })
	g := Groups{of: make(map[string]int, len(uses)), Servers: slices.Collect(slices.Chunk(servers, MaxServers))}
	for n, group := range g.Servers {
		for _, server := range group {
			g.of[server] = n
		}
	}
	if len(g.Servers) == 0 {
		g.Servers = [][]string{nil}
	}
	return g
}

// Has reports whether the files of a server are those of a group, counted from 0. Those of
// the installation's own object store are of the first.
func (g Groups) Has(n int, server string) bool { return g.of[server] == n }

// maxAwaited bounds what a process remembers of jobs that other processes may have taken.
const maxAwaited = 10_000

// Awaited remembers which server, named by its manifest only, a job waits for: at its next
// claim its gate asks for that server too, so that the job waits in the line of the server,
// in which the submitters take turns. It is kept in memory: without it the job asks again.
// The zero value remembers nothing yet.
type Awaited struct {
	mu sync.Mutex
	at map[domain.JobID]string
}

// Set notes the server that a job waits for, "" = none.
func (a *Awaited) Set(id domain.JobID, server string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case server == "":
		delete(a.at, id)
		return
	case a.at == nil, len(a.at) >= maxAwaited:
		a.at = map[domain.JobID]string{}
	}
	a.at[id] = server
}

// Of returns the server that a job waits for, "" = none.
func (a *Awaited) Of(id domain.JobID) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at[id]
}
