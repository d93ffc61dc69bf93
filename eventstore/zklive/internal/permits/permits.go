// Package permits takes and returns the permits for hosts and submitters, which all processes share.
package permits

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// Hosts takes permits for hosts and submitters. It implements eventstore.Hosts. A permit is
// one of the numbered nodes of its host or submitter, so that there are never more than
// there are numbers, whatever a process has read before. It is ephemeral and ends with its
// session.
type Hosts struct {
	session *session.Session
	root    layout.Root
	mu      sync.Mutex
	used    map[string]bool // nodes that this process holds, or may hold
}

// New returns the permits of a session.
func New(s *session.Session, root layout.Root) *Hosts {
	return &Hosts{session: s, root: root, used: map[string]bool{}}
}

// TakePermit implements eventstore.Hosts. The listing is as long as the permits that all
// processes hold; it only saves requests, the node decides.
func (h *Hosts) TakePermit(ctx context.Context, of eventstore.PermitOf, most int) (*eventstore.Permit, error) {
	failed := func(err error) error { return &eventstore.Error{Op: "take a permit for " + of.String(), Err: err} }
	w, err := h.session.Worker(ctx)
	if err != nil {
		return nil, failed(err)
	}
	names, err := h.session.List(ctx, h.root.Hosts())
	if err != nil {
		return nil, failed(err)
	}
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true
	}
	for n := range most {
		p := &eventstore.Permit{Of: of, Number: n, Worker: w.ID, Lost: w.Lost}
		if taken[path.Base(h.node(p))] || !h.use(p) {
			continue
		}
		_, err := h.session.TryMulti(ctx, "zklive/permit/take", h.root.TakePermit(of, n, w.ID))
		switch {
		case err == nil:
			return p, nil
		case session.Answered(err):
			h.free(p)
			if !errors.Is(err, zk.ErrNodeExists) {
				return nil, failed(eventstore.ErrFenced)
			}
		default:
			h.ReturnPermit(p) // it may have been taken
			return nil, failed(err)
		}
	}
	return nil, failed(eventstore.ErrLocked)
}

// ReturnPermit implements eventstore.Hosts. It tries until the node is gone; until then
// this process does not take the same number again.
func (h *Hosts) ReturnPermit(p *eventstore.Permit) {
	h.session.Spawn(func() {
		ctx := h.session.Context()
		_, err := session.Retry(ctx, func() (none struct{}, err error) {
			select {
			case <-p.Lost:
				return none, nil
			default:
			}
			ours, err := h.session.HeldBy(ctx, h.node(p), p.Worker)
			if err == nil && ours {
				_, err = h.session.TryMulti(ctx, "zklive/permit/return", h.root.ReturnPermit(p.Of, p.Number, p.Worker))
			}
			return none, err
		})
		if err == nil || session.Answered(err) {
			h.free(p)
		}
	})
}

// Permits implements eventstore.Hosts.
func (h *Hosts) Permits(ctx context.Context, named int) ([]eventstore.PermitsTaken, error) {
	names, err := h.session.List(ctx, h.root.Hosts())
	if err != nil {
		return nil, &eventstore.Error{Op: "list the permits", Err: err}
	}
	of := map[string][]string{} // by the digest of the host or submitter
	for _, name := range names {
		digest := name[:max(strings.LastIndexByte(name, '-'), 0)]
		of[digest] = append(of[digest], name)
	}
	digests := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(len(of[b])-len(of[a]), cmp.Compare(a, b)) })
	all := make([]eventstore.PermitsTaken, len(digests))
	for i, digest := range digests {
		all[i].Taken = len(of[digest])
		all[i].Of.Submitter = strings.HasPrefix(digest, layout.OfSubmitters)
		for _, name := range of[digest][:min(len(of[digest]), named)] {
			var data layout.Permit
			_, err := h.session.GetJSON(ctx, path.Join(h.root.Hosts(), name), &data)
			if errors.Is(err, zk.ErrNoNode) {
				continue // it has ended meanwhile
			}
			if err != nil {
				return nil, err
			}
			all[i].Of.Name = cmp.Or(data.Host, data.Submitter)
			named--
			break
		}
	}
	return all, nil
}

func (h *Hosts) node(p *eventstore.Permit) string { return h.root.Permit(p.Of, p.Number) }

// use notes that this process may hold a permit. It reports false if it may already.
func (h *Hosts) use(p *eventstore.Permit) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.used[h.node(p)] {
		return false
	}
	h.used[h.node(p)] = true
	return true
}

func (h *Hosts) free(p *eventstore.Permit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.used, h.node(p))
}
