package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/relay"
)

// lines is a slog.Handler that keeps what was said.
type lines struct {
	mu   sync.Mutex
	said []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Level.String()+" "+r.Message)
	return nil
}

func (l *lines) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.said {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// scene is one relay between a scripted outbox and a scripted log, in time that
// stands still until everybody waits.
type scene struct {
	t      *testing.T
	outbox *scriptOutbox
	log    *scriptLog
	relay  *relay.Relay
	said   *lines
	stop   func()
	ended  chan error
}

func play(t *testing.T, shards int, f func(*scene)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, outbox: newScriptOutbox(shards, faults{}), log: newScriptLog(faults{}), said: &lines{}, ended: make(chan error, 1)}
		s.relay = &relay.Relay{Outbox: s.outbox, Log: s.log, Logger: slog.New(s.said)}
		f(s)
		s.stop()
		if err := <-s.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func (s *scene) start() {
	ctx, stop := context.WithCancel(s.t.Context())
	s.stop = stop
	go func() { s.ended <- s.relay.Run(ctx) }()
}

// wait lets time pass until the mark of shard 0 stands at seq.
func (s *scene) wait(d time.Duration, seq ...int64) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	if !s.outbox.reached(ctx, seq...) {
		s.t.Fatalf("marks are %v after %s, want %v; log: %v", s.outbox.mark, d, seq, s.log.ids())
	}
}

func pass(d time.Duration) { <-time.After(d) }

func (s *scene) wantLog(ids ...string) {
	s.t.Helper()
	if diff := cmp.Diff(ids, s.log.ids()); diff != "" {
		s.t.Errorf("log (-want +got):\n%s", diff)
	}
}

// What a leader has sent that died is removed by the next one, also if nothing more happens.
// Shows: P8
func TestRelayTellsOfTheMarkItFinds(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.start()
		pass(time.Minute)
		s.outbox.mu.Lock()
		defer s.outbox.mu.Unlock()
		if s.outbox.told != 1 {
			t.Errorf("the outbox was told %d times of the mark", s.outbox.told)
		}
	})
}

// Shows: P3 C3
func TestRelayCarriesInOrder(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.outbox.add(0, event(1, 1), event(2, 1))
		s.outbox.add(0, event(1, 2))
		s.start()
		s.wait(time.Second, 2)
		s.outbox.add(0, event(2, 2))
		s.wait(time.Second, 3)
		s.wantLog("job/jid0000000001/1", "job/jid0000000002/1", "job/jid0000000001/2", "job/jid0000000002/2")
		if n := s.log.faults.batches; n != 2 {
			t.Errorf("%d appends for what was there at two moments", n)
		}
	})
}

func TestRelayFillsBatches(t *testing.T) {
	play(t, 1, func(s *scene) {
		for n := range int64(2500) {
			s.outbox.add(0, events(n+1, 1, 2)...)
		}
		s.start()
		s.wait(time.Second, 2500)
		if f := s.log.faults; f.appends != 5000 || f.batches != 5 || f.most != 1000 {
			t.Errorf("%d events in %d batches, the largest of %d", f.appends, f.batches, f.most)
		}
	})
}

// Under load events gather for a moment; a single one is carried at once.
func TestRelayGathersUnderLoad(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.start()
		trickle := func(from, to int64) {
			for n := from; n <= to; n++ {
				s.outbox.add(0, event(n, 1))
				pass(time.Millisecond)
			}
		}
		trickle(1, 3)
		s.wait(time.Second, 3)
		if n := s.log.faults.batches; n != 3 {
			t.Errorf("%d appends of single events, want 3", n)
		}
		var many []domain.Recorded
		for n := range int64(64) {
			many = append(many, event(100+n, 1))
		}
		s.outbox.add(0, many...)
		pass(time.Millisecond)
		trickle(11, 15)
		s.wait(time.Second, 9)
		if n := s.log.faults.batches; n != 5 {
			t.Errorf("%d appends, want 5: three of one event, one of 64, one of what gathered behind it", n)
		}
	})
}

// What another relay, or this one before a crash, has sent already is passed
// over, and the mark moves on.
// Shows: P3 C5
func TestRelayPassesOverWhatIsThere(t *testing.T) {
	play(t, 1, func(s *scene) {
		for _, e := range append(events(1, 1, 3), event(2, 1)) {
			s.log.insert(e)
		}
		s.outbox.add(0, events(1, 1, 4)...)
		s.outbox.add(0, events(2, 1, 1)...)
		s.outbox.add(0, events(3, 1, 1)...)
		s.start()
		s.wait(time.Second, 3)
		s.wantLog("job/jid0000000001/1", "job/jid0000000001/2", "job/jid0000000001/3", "job/jid0000000002/1",
			"job/jid0000000001/4", "job/jid0000000003/1")
	})
}

// Shows: P3
func TestRelayHoldsAGapAlone(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.outbox.add(0, event(1, 1))
		s.outbox.add(0, event(2, 1))
		s.outbox.add(0, event(1, 3), event(2, 2)) // number 2 of job 1 is missing
		s.outbox.add(0, event(1, 4))
		s.outbox.add(0, event(2, 3))
		s.start()
		s.wait(time.Second, 2)
		pass(10 * time.Minute) // many recalls
		s.wait(0, 2)
		s.wantLog("job/jid0000000001/1", "job/jid0000000002/1", "job/jid0000000002/2", "job/jid0000000002/3")
		gaps := s.relay.Gaps()
		if len(gaps) != 1 || gaps[0].Aggregate != domain.NewJobID(1).Aggregate() || gaps[0].Version != 3 || gaps[0].Known != 1 {
			t.Errorf("gaps: %+v", gaps)
		}
		if n := s.said.count("ERROR"); n != 1 {
			t.Errorf("%d alarms, want one: %v", n, s.said.said)
		}
		s.log.insert(event(1, 2)) // restored by somebody
		s.wait(2*time.Minute, 5)
		s.wantLog("job/jid0000000001/1", "job/jid0000000002/1", "job/jid0000000002/2", "job/jid0000000002/3",
			"job/jid0000000001/2", "job/jid0000000001/3", "job/jid0000000001/4")
		if gaps := s.relay.Gaps(); len(gaps) != 0 || s.said.count("is released") != 1 {
			t.Errorf("gaps %+v, said %v", gaps, s.said.said)
		}
	})
}

// A gap may be one of an outdated answer, or of events handed over out of turn:
// the shard is read again, at once, before anybody is woken.
func TestRelayLooksTwiceBeforeAnAlarm(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.outbox.add(0, event(1, 2)) // a gap that stays; its aggregate is recalled less and less often
		s.start()
		pass(10 * time.Minute)
		s.log.insert(event(2, 1))
		s.log.setStale(1)
		s.outbox.add(0, event(2, 2))
		pass(time.Millisecond)
		s.wantLog("job/jid0000000002/1", "job/jid0000000002/2")
		if n := s.said.count("ERROR"); n != 1 {
			t.Errorf("%d alarms, want only that of the first gap: %v", n, s.said.said)
		}
	})
}

// The same number from another command means that log and live state have
// parted: an alarm, and nothing of it is passed over in silence.
func TestRelayAlarmsOnAForeignEvent(t *testing.T) {
	play(t, 1, func(s *scene) {
		foreign := event(1, 1)
		foreign.CommandID = "somebody else"
		s.log.insert(foreign)
		s.outbox.add(0, event(2, 1))
		s.outbox.add(0, events(1, 1, 2)...)
		s.outbox.add(0, event(2, 2))
		s.start()
		s.wait(time.Second, 1)
		pass(time.Minute)
		s.wait(0, 1)
		s.wantLog("job/jid0000000001/1", "job/jid0000000002/1", "job/jid0000000002/2")
		if gaps := s.relay.Gaps(); len(gaps) != 1 || !strings.Contains(gaps[0].Why, "another command: somebody else") {
			t.Errorf("gaps: %+v", gaps)
		}
	})
}

// Who no longer leads knows nothing of gaps.
func TestRelayForgetsGapsWithTheLead(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.outbox.add(0, event(1, 2))
		s.start()
		pass(time.Minute)
		if gaps := s.relay.Gaps(); len(gaps) != 1 {
			t.Errorf("gaps: %+v", gaps)
		}
		s.stop()
		if err := <-s.ended; err != nil || len(s.relay.Gaps()) != 0 {
			t.Errorf("%v, gaps: %+v", err, s.relay.Gaps())
		}
		s.ended <- nil
	})
}

// An event that no log can take holds its aggregate, not the 999 around it.
func TestRelayHoldsAPoisonedEvent(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.log.faults.refuse = func(e domain.Recorded) error {
			if e.ID() == "job/jid0000000300/1" {
				return &codec.TooLarge{ID: e.ID()}
			}
			return nil
		}
		for n := range int64(1000) {
			s.outbox.add(0, event(n+1, 1))
		}
		s.outbox.add(0, event(300, 2))
		s.start()
		s.wait(time.Second, 299)
		pass(time.Minute)
		if got := len(s.log.ids()); got != 999 {
			t.Errorf("%d events in the log, want 999", got)
		}
		if gaps := s.relay.Gaps(); len(gaps) != 1 || gaps[0].Version != 1 {
			t.Errorf("gaps: %+v", gaps)
		}
	})
}

func TestRelayRidesThroughAnOutage(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.log.setDown(true)
		s.outbox.add(0, events(1, 1, 3)...)
		s.start()
		pass(30 * time.Second)
		s.wait(0, 0)
		if n := s.said.count("WARN"); n != 1 {
			t.Errorf("%d warnings, want one: %v", n, s.said.said)
		}
		s.log.setDown(false)
		s.wait(6*time.Second, 1)
		s.wantLog("job/jid0000000001/1", "job/jid0000000001/2", "job/jid0000000001/3")
		if n := s.said.count("resumed"); n != 1 {
			t.Errorf("the end of the outage was told %d times", n)
		}
	})
}

func TestRelayMakesALastPass(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.start()
		synctest.Wait()
		s.outbox.addAfter(s.stop, 1, events(1, 1, 2)...)
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		s.wantLog("job/jid0000000001/1", "job/jid0000000001/2")
		s.wait(0, 0, 1)
		s.ended <- nil
	})
}

// A last pass that cannot succeed ends with the time it has.
func TestRelayEndsItsLastPass(t *testing.T) {
	play(t, 1, func(s *scene) {
		s.relay.Drain = 3 * time.Second
		s.log.setDown(true)
		s.outbox.add(0, event(1, 1))
		s.start()
		pass(time.Minute)
		told := time.Now()
		s.stop()
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(told); took != 3*time.Second {
			t.Errorf("the last pass took %s", took)
		}
		s.ended <- nil
	})
}

// Two relays that both believe to lead, everything failing now and then: the log
// has every event once, in the order of the outbox.
// Shows: P3 C7
func TestRelaysUnderFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		relays int
		log    faults
		outbox faults
	}{
		{"lost answers", 1, faults{lost: 40}, faults{}},
		{"conflicts out of nothing", 1, faults{spurious: 40}, faults{}},
		{"two at once", 2, faults{}, faults{}},
		{"all together", 3, faults{lost: 20, spurious: 20, fail: 10}, faults{outbox: 10, lead: 50}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				synctest.Test(t, func(t *testing.T) {
					shards := [][]domain.Recorded{mix(seed, 1, 60), mix(seed+100, 100, 60)}
					if fault := carry(t, seed, tc.relays, tc.log, tc.outbox, shards); fault != "" {
						t.Errorf("seed %d: %s", seed, fault)
					}
				})
			}
		})
	}
}

// orderFault says how a log differs from what the shards' order asks for.
func orderFault(log []domain.Recorded, shards [][]domain.Recorded) string {
	for n, want := range shards {
		mine := map[domain.Aggregate]bool{}
		ids := []string{}
		for _, e := range want {
			mine[e.Aggregate] = true
			ids = append(ids, e.ID())
		}
		got := []string{}
		for _, e := range log {
			if mine[e.Aggregate] {
				got = append(got, e.ID())
			}
		}
		if !slices.Equal(ids, got) {
			return fmt.Sprintf("shard %d (-want +got):\n%s", n, cmp.Diff(ids, got))
		}
	}
	return ""
}
