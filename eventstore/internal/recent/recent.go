// Package recent holds maps that forget what has not been used for a while.
package recent

// Map keeps the entries that were used last: at least limit of them, at most twice as
// many. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	limit      int
	young, old map[K]V
	forgot     bool
}

// New returns an empty map.
func New[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: limit, young: map[K]V{}}
}

// Get returns the value of a key, and reports whether it is known.
func (m *Map[K, V]) Get(key K) (V, bool) {
	v, known := m.young[key]
	if !known {
		if v, known = m.old[key]; known {
			m.Set(key, v)
		}
	}
	return v, known
}

// Set sets the value of a key. When the young generation is full it becomes the old
// one, and the old one is forgotten.
func (m *Map[K, V]) Set(key K, v V) {
	if _, known := m.young[key]; !known && len(m.young) >= m.limit {
		m.forgot = m.forgot || m.old != nil
		m.young, m.old = make(map[K]V), m.young
	}
	m.young[key] = v
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	delete(m.young, key)
	delete(m.old, key)
}

// Len returns how many entries are kept; one that was used again may count twice.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }

// Forgot reports whether entries were forgotten.
func (m *Map[K, V]) Forgot() bool { return m.forgot }
