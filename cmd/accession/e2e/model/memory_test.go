package model_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// inMemory runs everything in maps.
type inMemory struct {
	world *memory.Server
	l     *memory.Log
}

func (m *inMemory) open() storetest.Store    { return storetest.StoreOf(m.world.Session()) }
func (m *inMemory) expire(s storetest.Store) { m.world.Expire(s.Live.(*memory.Store)) }
func (m *inMemory) log() eventstore.Log      { return m.l }
func (m *inMemory) idle() time.Duration      { return time.Millisecond }
func (m *inMemory) exact() bool              { return true }
func (m *inMemory) slow() bool               { return false }
func (m *inMemory) restart(s storetest.Store) storetest.Store {
	m.expire(s)
	return m.open()
}

// whole: that maps and log agree is compared for every implementation.
func (m *inMemory) whole(context.Context) ([]string, error) { return nil, nil }

// long makes runs of so many commands on the average, and so many runs.
func long(t *testing.T, commands, runs string) {
	t.Helper()
	for name, value := range map[string]string{"rapid.steps": commands, "rapid.checks": runs, "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModel lets ten thousand random commands happen to the model and to the program.
//
// Shows: P2 P3
func TestModel(t *testing.T) {
	const enough = 10_000
	long(t, "300", "20")
	begun := commands.Load()
	for commands.Load() < begun+enough && !t.Failed() {
		rapid.Check(t, func(rt *rapid.T) {
			runs(rt, &inMemory{memory.New(memory.Options{Shards: 2}), memory.NewLog(nil)})
		})
	}
	t.Logf("%d commands", commands.Load()-begun)
}

// TestDepositsInMemory lets some thousand random steps happen to a deposit queue, its settings
// among them, and to the model: who waits, who is served and who runs is the same after each.
//
// Shows: P2 P3
func TestDepositsInMemory(t *testing.T) {
	long(t, "200", "60")
	rapid.Check(t, func(rt *rapid.T) {
		deposited(rt, &inMemory{memory.New(memory.Options{Shards: 2}), memory.NewLog(nil)})
	})
}
