package storetest

import (
	"testing"

	"github.com/accession-ingest/accession/eventstore"
)

// RunLive tests the promises of eventstore.Live. Each test opens its own Env.
func RunLive(t *testing.T, open func(t *testing.T) Env) { run(t, open, liveTests) }

// RunClaims tests the promises of eventstore.Claims.
func RunClaims(t *testing.T, open func(t *testing.T) Env) {
	run(t, open, claimTests)
	run(t, open, handOverTests)
	run(t, open, turnTests)
	run(t, open, spaceTests)
	run(t, open, objectTests)
	run(t, open, hostTests)
	run(t, open, ringTests)
	run(t, open, queryTests)
	run(t, open, entryTests)
}

// RunOutbox tests the promises of eventstore.Outbox.
func RunOutbox(t *testing.T, open func(t *testing.T) Env) { run(t, open, outboxTests) }

// RunHandler tests eventstore.Handler over the implementation.
func RunHandler(t *testing.T, open func(t *testing.T) Env) {
	run(t, open, handlerTests)
	run(t, open, deletionTests)
}

// RunLog tests the promises of eventstore.Log over fresh, empty logs.
func RunLog(t *testing.T, open func(t *testing.T) eventstore.Log) {
	for name, test := range logTests {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, open(t)) })
	}
}

type tests map[string]func(t *testing.T, env Env)

func run(t *testing.T, open func(t *testing.T) Env, all tests) {
	for name, test := range all {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, open(t)) })
	}
}
