package relay_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/relay"
)

// mix returns n events of some jobs from the given number on, each job's in order,
// the jobs interleaved at random.
func mix(seed uint64, first int64, n int) []domain.Recorded {
	rnd := rand.New(rand.NewPCG(seed, 1))
	at := make([]int64, 1+rnd.IntN(8))
	var list []domain.Recorded
	for range n {
		job := rnd.IntN(len(at))
		at[job]++
		list = append(list, event(first+int64(job), at[job]))
	}
	return list
}

// carry lets relays take the shards' events to a log under faults, some there
// before they start and some added while they work, and says what is wrong with
// the log, "" = nothing. It runs inside a synctest bubble.
func carry(t *testing.T, seed uint64, relays int, onLog, onOutbox faults, shards [][]domain.Recorded) string {
	rnd := rand.New(rand.NewPCG(seed, 2))
	onLog.rnd, onOutbox.rnd = rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
	outbox, log := newScriptOutbox(len(shards), onOutbox), newScriptLog(onLog)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	start := func() {
		for range relays {
			all.Go(func() {
				r := &relay.Relay{Outbox: outbox, Log: log, Logger: slog.New(&lines{})}
				if err := r.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
	}
	begin := rnd.IntN(5)
	var ends []int64
	for n, left := range shards {
		var items int64
		for len(left) > 0 {
			if items == int64(begin) && n == 0 {
				start()
			}
			size := min(len(left), 1+rnd.IntN(4))
			outbox.add(n, left[:size]...)
			left = left[size:]
			items++
			if rnd.IntN(3) == 0 {
				pass(time.Duration(rnd.IntN(200)) * time.Millisecond)
			}
		}
		if items <= int64(begin) && n == 0 {
			start()
		}
		ends = append(ends, items)
	}
	limit, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	arrived := outbox.reached(limit, ends...)
	stop()
	all.Wait()
	if !arrived {
		return "the outbox was not emptied"
	}
	return orderFault(log.events, shards)
}

// Whatever interleaving, sizes and faults: every aggregate's versions stand in
// the log exactly once and in order, and so do all events of a shard.
// Shows: P3
func TestRelayProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		relays := rapid.IntRange(1, 3).Draw(rt, "relays")
		percent := func(name string) int { return rapid.IntRange(0, 40).Draw(rt, name) }
		onLog := faults{fail: percent("fail"), lost: percent("lost"), spurious: percent("spurious")}
		onOutbox := faults{outbox: percent("outbox"), lead: percent("lead")}
		var shards [][]domain.Recorded
		for n := range rapid.IntRange(1, 3).Draw(rt, "shards") {
			shards = append(shards, mix(seed+uint64(n), int64(1+100*n), rapid.IntRange(0, 80).Draw(rt, "events")))
		}
		fault := ""
		synctest.Test(t, func(t *testing.T) { fault = carry(t, seed, relays, onLog, onOutbox, shards) })
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}
