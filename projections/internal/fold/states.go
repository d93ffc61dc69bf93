package fold

import "slices"

// rowState is what a fold knows of the row of a state.
type rowState struct {
	stored bool // the table has it
	dirty  bool // it must be written
	round  int  // in which an event last touched it
}

// remembered is a state that is stored as a row.
type remembered interface {
	state() *rowState
	// ended reports whether no event follows, as far as is known.
	ended() bool
}

// row is a state, with the row that columns returns.
type row[R any] interface {
	remembered
	columns() R
}

// states are those of one read model, by key. What a round costs depends on the states that
// its events touch, not on how many are remembered.
type states[S remembered] struct {
	byKey map[string]S
	// touched are the keys of states that events touched in this round, and in those before
	// it, the latest first. A key may be there twice.
	touched [inFlight + 1][]string
}

// inFlight is how many rounds a rebuild may have written and not committed yet. Their states
// are kept.
const inFlight = 2

func newStates[S remembered]() *states[S] { return &states[S]{byKey: map[string]S{}} }

// touch makes a state that an event may change one of the round.
func (s *states[S]) touch(key string, one S, round int) {
	if known, ok := s.byKey[key]; !ok || known.state().round != round {
		s.touched[0] = append(s.touched[0], key)
	}
	one.state().round = round
	s.byKey[key] = one
}

// ensure adds an empty state for a key that is not known, and the key to toLoad, unless this
// is the first event of the aggregate, which has no row yet.
func (s *states[S]) ensure(key string, round int, begin func() S, toLoad keySet, first bool) {
	one, known := s.byKey[key]
	if !known {
		one = begin()
		if !first {
			toLoad[key] = true
		}
	}
	s.touch(key, one, round)
}

// load replaces the empty state of a key by that of its row.
func (s *states[S]) load(key string, one S, round int) {
	one.state().stored = true
	s.touch(key, one, round)
}

// written marks the changed states of a round as stored, and drops states that no event of
// the last rounds has touched: those that have ended, and any while there are more than most.
func (s *states[S]) written(round, most int) {
	for _, key := range s.touched[0] {
		if k := s.byKey[key].state(); k.dirty {
			k.stored, k.dirty = true, false
		}
	}
	for _, key := range s.touched[inFlight] {
		if one, known := s.byKey[key]; known && one.state().round+inFlight <= round && one.ended() {
			delete(s.byKey, key)
		}
	}
	if len(s.byKey) > most {
		s.dropOld(round, most)
	}
	oldest := s.touched[inFlight][:0]
	copy(s.touched[1:], s.touched[:])
	s.touched[0] = oldest
}

// dropOld drops states that no event of the last rounds has touched, until most are left.
func (s *states[S]) dropOld(round, most int) {
	for key, one := range s.byKey {
		if one.state().round+inFlight <= round {
			delete(s.byKey, key)
		}
		if len(s.byKey) <= most {
			return
		}
	}
}

// changed returns the rows of states that have changed, in the order of their keys: of
// those that have no row yet, and of the others.
func changed[R any, S row[R]](s *states[S]) (fresh, old []R) {
	dirty := make([]string, 0, len(s.touched[0]))
	for _, key := range s.touched[0] {
		if s.byKey[key].state().dirty {
			dirty = append(dirty, key)
		}
	}
	slices.Sort(dirty)
	for _, key := range slices.Compact(dirty) {
		if one := s.byKey[key]; one.state().stored {
			old = append(old, one.columns())
		} else {
			fresh = append(fresh, one.columns())
		}
	}
	return fresh, old
}

func rowOf[R any, S row[R]](s *states[S], key string) (r R, ok bool) {
	one, ok := s.byKey[key]
	if ok {
		r = one.columns()
	}
	return r, ok
}

func rowsOf[R any, S row[R]](s *states[S]) []R {
	rows := make([]R, 0, len(s.byKey))
	for _, key := range keys(s.byKey) {
		rows = append(rows, s.byKey[key].columns())
	}
	return rows
}
