package storetest

import (
	"testing"

	"github.com/accession-ingest/accession/eventstore"
)

// Store holds the ports of one process to the live state.
type Store struct {
	eventstore.Live
	eventstore.Catalog
	eventstore.Claims
	eventstore.Outbox
	eventstore.Space
	eventstore.Objects
	eventstore.Hosts
	eventstore.Rings
	eventstore.DepositQueues
	eventstore.Queries
	eventstore.Entries
	eventstore.Leases
	eventstore.Profiles
}

// StoreOf returns the store of a value that implements all of its ports.
func StoreOf(s any) Store {
	if store, ok := s.(Store); ok {
		return store
	}
	return Store{s.(eventstore.Live), s.(eventstore.Catalog), s.(eventstore.Claims), s.(eventstore.Outbox), s.(eventstore.Space), s.(eventstore.Objects), s.(eventstore.Hosts),
		s.(eventstore.Rings), s.(eventstore.DepositQueues), s.(eventstore.Queries), s.(eventstore.Entries), s.(eventstore.Leases), s.(eventstore.Profiles)}
}

// Env is a live state of its own, made for one test and gone at its end.
type Env struct {
	// Open returns a further process its store, with a session of its own. It is
	// closed when the test ends.
	Open func(t testing.TB) Store
	// Expire ends the present session of a store as a stop longer than the session
	// timeout does, and returns when its locks are gone. The store itself goes on,
	// with a new session as soon as it has one.
	Expire func(t testing.TB, s Store)
	// FixHolds makes a store believe that the holds are still these; nil = it always looks.
	FixHolds func(s Store, known eventstore.Holds)
	// Traits are what this implementation does where the ports leave it open.
	Traits Traits
}

// Traits are declared differences between implementations.
type Traits struct {
	// Shards is how many shards the outbox has.
	Shards int
	// KeepsSent: items up to the mark can still be read for a grace time.
	KeepsSent bool
}
