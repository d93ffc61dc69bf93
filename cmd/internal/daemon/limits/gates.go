package limits

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// Gates bound how many workers of each daemon one submitter, and one server, may hold,
// as [fair.Share] says, and how many steps of all processes use one server, or work for
// one submitter.
type Gates struct {
	mu      sync.Mutex
	of      map[string]*usage // by daemon
	changed chan struct{}     // closed when an admission has ended
	permits *permits
}

// usage is how many workers of a daemon are busy, and for whom; apart is that of as many of
// their own.
type usage struct {
	share fair.Share
	busy  int
	by    map[holder]int
	apart *usage
}

func newUsage(workers int, apart *usage) *usage {
	return &usage{share: fair.Share{Workers: workers}, by: map[holder]int{}, apart: apart}
}

// holder is a submitter or a server.
type holder struct {
	server bool
	name   string
}

// NewGates returns the gates of some numbers of workers, by their daemons. The steps of all
// processes are bounded by most; none begins at servers that are to be left alone.
func NewGates(workers map[string]int, hosts eventstore.Hosts, most Most, rests Rests) *Gates {
	g := &Gates{of: map[string]*usage{}, changed: make(chan struct{})}
	g.permits = newPermits(hosts, most, rests, g.signal)
	for daemon, n := range workers {
		g.of[daemon] = newUsage(n, newUsage(n, nil))
	}
	return g
}

// signal wakes those who wait to be admitted.
func (g *Gates) signal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wake()
}

// wake is signal, with the mutex held.
func (g *Gates) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Admission returns what admits the work of one worker of a daemon; nothing is admitted yet.
func (g *Gates) Admission(daemon string) *Admission { return &Admission{gates: g, at: g.of[daemon]} }

// Admission lets one worker work, and counts what it works on. It is used by one goroutine
// at a time.
type Admission struct {
	gates   *Gates
	at      *usage
	holders []holder
	permits []*eventstore.Permit
	// taken is how many of both were admitted by Take; the others by Also.
	taken struct{ holders, permits int }
}

// Apart returns the admission, nil = none, of one of the workers apart if it is of them: they
// begin also while all others are busy.
func (a *Admission) Apart(is bool) *Admission {
	if a != nil && is {
		a.at = a.at.apart
	}
	return a
}

// Open reports whether a submitter may hold another worker.
func (a *Admission) Open(submitter string) bool {
	return a.may(holder{name: submitter}) && !a.gates.permits.missing(ofSubmitter(submitter))
}

// Free reports whether what Take or Also returned, a server or a submitter, may hold
// another worker.
func (a *Admission) Free(full string) bool {
	if submitter, is := strings.CutPrefix(full, ofSubmitter("").String()); is { // no server has a blank in its name
		return a.Open(submitter)
	}
	return a.may(holder{true, full}) && !a.gates.permits.missing(eventstore.PermitOf{Name: full})
}

func ofSubmitter(name string) eventstore.PermitOf {
	return eventstore.PermitOf{Name: name, Submitter: true}
}

func (a *Admission) may(h holder) bool {
	a.gates.mu.Lock()
	defer a.gates.mu.Unlock()
	return a.at.share.May(a.at.by[h], a.at.busy)
}

// Take admits work of a submitter that waits for servers, instead of what was admitted
// before. If one of the servers may not hold another worker, or as many steps as may work
// with it, or for the submitter, it is returned, and nothing is admitted. The submitter was
// asked about by Open.
func (a *Admission) Take(ctx context.Context, submitter string, servers ...string) (full string) {
	a.Leave()
	full = a.hold(func() string {
		for _, s := range servers {
			if !a.at.share.May(a.at.by[holder{true, s}], a.at.busy) {
				return s
			}
		}
		a.at.busy++
		a.note(holder{name: submitter})
		return ""
	}, servers)
	if full == "" {
		if full = a.permit(ctx, ofSubmitter(submitter)); full == "" {
			full = a.permitAll(ctx, servers)
		}
		if full != "" {
			a.Leave()
		}
	}
	a.taken.holders, a.taken.permits = len(a.holders), len(a.permits)
	return full
}

// Also admits that the work waits for other servers too, instead of those of the Also
// before: those of a group, see [GroupServers]. If one of the servers may not hold another
// worker, or be used by another step, it is returned; then the caller must call Leave, or
// Also for others.
func (a *Admission) Also(ctx context.Context, servers ...string) (full string) {
	a.back()
	servers = slices.DeleteFunc(slices.Clone(servers), func(s string) bool { return slices.Contains(a.holders, holder{true, s}) })
	full = a.hold(func() string {
		for _, s := range servers {
			if a.at.by[holder{true, s}] > 0 && !a.at.share.May(1, a.at.busy-1) {
				return s
			}
		}
		return ""
	}, servers)
	if full != "" {
		return full
	}
	return a.permitAll(ctx, servers)
}

// back ends what was admitted by Also.
func (a *Admission) back() {
	for _, permit := range a.permits[a.taken.permits:] {
		a.gates.permits.put(permit)
	}
	a.permits = a.permits[:a.taken.permits]
	a.gates.mu.Lock()
	defer a.gates.mu.Unlock()
	a.forget(a.taken.holders)
	a.gates.wake()
}

// forget ends the holders of the worker but the first n. The mutex is held.
func (a *Admission) forget(n int) {
	for _, h := range a.holders[n:] {
		a.at.by[h]--
	}
	maps.DeleteFunc(a.at.by, func(_ holder, n int) bool { return n <= 0 })
	a.holders = a.holders[:n]
}

// Lost reports whether a permit that the work needs has ended with its session.
func (a *Admission) Lost() bool { return a != nil && slices.ContainsFunc(a.permits, lost) }

// permitAll takes permits for servers, up to the first for which there is none.
func (a *Admission) permitAll(ctx context.Context, servers []string) (full string) {
	for _, s := range servers {
		if full := a.permit(ctx, eventstore.PermitOf{Name: s}); full != "" {
			return full
		}
	}
	return ""
}

// permit takes a permit; if there is none it returns of what.
func (a *Admission) permit(ctx context.Context, of eventstore.PermitOf) (full string) {
	taken := a.gates.permits.take(ctx, of)
	if taken == nil {
		return of.String()
	}
	a.permits = append(a.permits, taken)
	return ""
}

// hold notes servers as holders of the worker, unless one of them may not be.
func (a *Admission) hold(full func() string, servers []string) string {
	a.gates.mu.Lock()
	defer a.gates.mu.Unlock()
	if s := full(); s != "" {
		return s
	}
	for _, s := range servers {
		a.note(holder{true, s})
	}
	return ""
}

// note notes a holder of the worker. The mutex is held.
func (a *Admission) note(h holder) {
	a.at.by[h]++
	a.holders = append(a.holders, h)
}

// Leave ends the admission, if work was admitted.
func (a *Admission) Leave() {
	if a == nil || a.holders == nil {
		return
	}
	for _, permit := range a.permits {
		a.gates.permits.put(permit)
	}
	a.permits = nil
	a.gates.mu.Lock()
	defer a.gates.mu.Unlock()
	a.forget(0)
	a.at.busy--
	a.holders, a.taken.holders, a.taken.permits = nil, 0, 0
	a.gates.wake()
}

// Changed returns a channel that is closed when an admission has ended.
func (a *Admission) Changed() <-chan struct{} {
	a.gates.mu.Lock()
	defer a.gates.mu.Unlock()
	return a.gates.changed
}
