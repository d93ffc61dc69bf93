package memory_test

import (
	"testing"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, suite := range map[string]func(*testing.T, func(*testing.T) storetest.Env){
		"live": storetest.RunLive, "claims": storetest.RunClaims, "outbox": storetest.RunOutbox, "handler": storetest.RunHandler,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); suite(t, openWorld) })
	}
	t.Run("log", func(t *testing.T) {
		t.Parallel()
		storetest.RunLog(t, func(*testing.T) eventstore.Log { return memory.NewLog(nil) })
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		storetest.RunFiles(t, func(*testing.T) eventstore.Log { return memory.NewLog(nil) })
	})
}

func openWorld(*testing.T) storetest.Env {
	w := memory.New(memory.Options{Shards: 3})
	return storetest.Env{
		Open:   func(testing.TB) storetest.Store { return storetest.StoreOf(w.Session()) },
		Expire: func(_ testing.TB, s storetest.Store) { w.Expire(s.Live.(*memory.Store)) },
		Traits: storetest.Traits{Shards: 3, KeepsSent: true},
	}
}
