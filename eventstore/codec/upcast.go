package codec

import (
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// Upcaster turns the data of an event type from version From, as JSON, into that
// of version From+1. Up is pure. Upcasters stay for ever, like the events.
type Upcaster struct {
	Type domain.EventType
	From int
	Up   func(data []byte) ([]byte, error)
}

// Versions of event types that are past v1, and the way there from each older
// one. A new version gets its line in both, and a golden event.
var (
	newest    = map[domain.EventType]int{}
	upcasters = []Upcaster{}
)

// CheckUpcasters reports whether every version of every event type can be
// brought up to the newest. A program calls it at its start, before it reads.
func CheckUpcasters() error { return errUpcasts }

var registered, errUpcasts = newUpcasts(newest, upcasters)

func newestVersion(t domain.EventType) int { return registered.version(t) }

// upcasts is a checked set of upcasters.
type upcasts struct {
	newest map[domain.EventType]int
	steps  map[step]func([]byte) ([]byte, error)
}

type step struct {
	t    domain.EventType
	from int
}

// newUpcasts refuses a graph with a step that is missing, duplicate or leads
// nowhere.
func newUpcasts(newest map[domain.EventType]int, list []Upcaster) (upcasts, error) {
	u := upcasts{newest: newest, steps: make(map[step]func([]byte) ([]byte, error), len(list))}
	for t := range newest {
		if _, known := domain.Lookup(t); !known {
			return u, fmt.Errorf("upcasters: event type %q is not in the registry: %w", t, ErrBroken)
		}
	}
	for _, c := range list {
		s := step{c.Type, c.From}
		if _, duplicate := u.steps[s]; duplicate || c.From < 1 || c.From >= u.version(c.Type) || c.Up == nil {
			return u, fmt.Errorf("upcasters: the step of %s from v%d is duplicate, empty or leads past v%d: %w", c.Type, c.From, u.version(c.Type), ErrBroken)
		}
		u.steps[s] = c.Up
	}
	for t, n := range newest {
		for from := 1; from < n; from++ {
			if u.steps[step{t, from}] == nil {
				return u, fmt.Errorf("upcasters: %s has no step from v%d, so v%d cannot be reached: %w", t, from, n, ErrBroken)
			}
		}
	}
	return u, nil
}

func (u upcasts) version(t domain.EventType) int { return max(u.newest[t], 1) }

// upcast brings the data of version v up to the newest.
func (u upcasts) upcast(t domain.EventType, v int, data []byte) ([]byte, error) {
	if v > u.version(t) || v < 1 {
		return nil, fmt.Errorf("%s.v%d is not known here, the newest is v%d: upgrade this program", t, v, u.version(t))
	}
	for ; v < u.version(t); v++ {
		var err error
		if data, err = u.steps[step{t, v}](data); err != nil {
			return nil, fmt.Errorf("from %s.v%d to v%d: %w", t, v, v+1, err)
		}
	}
	return data, nil
}
