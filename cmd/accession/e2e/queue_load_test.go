package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// TestQueueUnderLoad is a small [queueLoad].
// Shows: P1 P11
func TestQueueUnderLoad(t *testing.T) {
	t.Parallel()
	newQueueLoad(t, 110).run(newFiles(t, 1, -1).URL)
}

// queueLoad is a user, mal, with many deposits beside one, ana, who sends three again and
// again, whose deposit queue is suspended, parked from and set in every way while processes
// are killed.
type queueLoad struct {
	*installation
	random  *rand.Rand
	many    int
	user    map[domain.BatchID]string
	late    queues.Choice // the last deposits of mal
	running []*service
	at      uint64 // sequence of the last event that was waited for
	kills   []time.Time
}

const (
	fewDeposits = 3
	toPark      = 5
	manyAtOnce  = 64 // of ana, and at the end of mal
)

func newQueueLoad(t testing.TB, many int) *queueLoad {
	t.Helper()
	return &queueLoad{installation: newForProcesses(t, "attempts: 20, timeout: 60s", "zookeeper_session_timeout=2s"),
		random: seed(t), many: many, user: map[domain.BatchID]string{}}
}

// run deposits, changes the queue, and checks what came of it by the log.
func (l *queueLoad) run(base string) {
	l.t.Helper()
	l.changed(queues.Suspend(l.ctx(), l.app, fair.QueueMetadata, "a test"))
	l.deposits(base)
	many := manyAtOnce // of ana: what waits could be served
	l.changed(queues.Limit(l.ctx(), l.app, fair.QueueMetadata, "ana", nil, &many, "a test"))
	for range 3 {
		l.running = append(l.running, l.serve())
	}
	l.changed(queues.Resume(l.ctx(), l.app, fair.QueueMetadata, "a test"))
	var err error
	l.at, err = l.app.LogEnd(l.ctx())
	l.must(err)
	for _, change := range l.changes() {
		l.someMore()
		l.changed(queues.Suspend(l.ctx(), l.app, fair.QueueMetadata, "a test")) // so that ana waits when
		l.few(base)
		l.changed(queues.Resume(l.ctx(), l.app, fair.QueueMetadata, "a test"))
		l.killOne() // a process ends, maybe in the middle of a grab
		change()
	}
	all := len(l.user)
	l.reported(all)
	for _, s := range l.running {
		s.stop()
	}
	l.proven()
	l.whole(all)
	l.grabbedByTheRules()
	if n := l.count("select count(*) from report.grab"); n != all {
		l.t.Errorf("report.grab has %d grabs", n)
	}
	if n := l.count("select count(*) from report.deposit where state = 'parked'"); n != toPark {
		l.t.Errorf("report.deposit has %d parked deposits", n)
	}
	l.says(0, words("verify"))
}

// deposits makes those of mal, and then those of ana, while nothing is grabbed.
func (l *queueLoad) deposits(base string) {
	l.t.Helper()
	l.submitted(base, "mal", l.many-toPark)
	before := domain.At(time.Now())
	waitFor(l.t, "another moment", func() bool { return domain.At(time.Now()) != before })
	l.late = queues.Choice{Queue: fair.QueueMetadata, Users: []string{"mal"}, Since: domain.At(time.Now()).Time}
	l.submitted(base, "mal", toPark)
	l.few(base)
}

// few deposits a few of ana.
func (l *queueLoad) few(base string) { l.submitted(base, "ana", fewDeposits) }

// submitted makes so many deposits of a user at once.
func (l *queueLoad) submitted(base, user string, n int) []domain.BatchID {
	l.t.Helper()
	ids, first := make([]domain.BatchID, n), len(l.user)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range ids {
		g.Go(func() error {
			s, err := l.app.Submit(l.t.Context(), app.Deposit{Profile: "test", Submitter: user, Payload: fmt.Sprintf("%s/file/%d", base, first+i), Type: domain.TypeFile})
			ids[i] = s.Batch
			return err
		})
	}
	l.must(g.Wait())
	for _, id := range ids {
		l.user[id] = user
	}
	return ids
}

func (l *queueLoad) changed(_ app.Changed, err error) {
	l.t.Helper()
	l.must(err)
}

// changes are what is done to the queue, one after the other. Where nothing may be grabbed
// until the next one, a process is killed in between.
func (l *queueLoad) changes() []func() {
	ctx, a, q, why := l.ctx(), l.app, fair.QueueMetadata, "a test"
	limit := func(allocation, concurrency int) func() {
		return func() { l.changed(queues.Limit(ctx, a, q, "mal", &allocation, &concurrency, why)) }
	}
	set := func(edit func(*domain.Processor)) func() {
		return func() { l.changed(queues.SetProcessor(ctx, a, q, "extra", why, edit)) }
	}
	return []func(){
		limit(1, 2),
		func() {
			l.changed(queues.AddProcessor(ctx, a, domain.Processor{Queue: q, Workers: 2}, "extra", why))
		},
		func() {
			l.changed(queues.Suspend(ctx, a, q, why))
			l.killOne()
			l.changed(queues.Resume(ctx, a, q, why))
		},
		l.park,
		set(func(p *domain.Processor) { p.Users = []string{"mal"} }),
		func() {
			end, err := a.LogEnd(ctx)
			l.must(err)
			l.changed(queues.Prohibit(ctx, a, q, []string{"mal"}, false, why))
			l.killOne()
			l.release()                   // so that some of mal wait, which only extra serves now
			var prohibited, grabbed int64 // in which commit
			l.await("a grab by extra", end, func(r domain.Recorded) bool {
				switch d := r.Data.(type) {
				case *domain.SettingChanged:
					if d.Value != nil && d.Value.DepositQueue != nil && len(d.Value.DepositQueue.Prohibited) > 0 {
						prohibited = r.Zxid
					}
				case *domain.BatchGrabbed:
					if d.Processor == "extra" {
						grabbed = max(grabbed, r.Zxid)
					}
				}
				return prohibited > 0 && grabbed > prohibited
			})
			l.changed(queues.Prohibit(ctx, a, q, []string{"mal"}, true, why))
		},
		limit(2, 4),
		set(func(p *domain.Processor) { p.Stopped = true }),
		limit(queues.Unset, queues.Unset),
		set(func(p *domain.Processor) { p.Stopped, p.Users, p.Preferred = false, nil, []string{"mal"} }),
		func() { l.changed(queues.RemoveProcessor(ctx, a, q, "extra", why)) },
		limit(queues.Unset, manyAtOnce), // else the rest takes as long as its few places make it
	}
}

// park takes the last deposits of mal out of the queue, by user and time of reception.
func (l *queueLoad) park() { l.moved(queues.Park) }

func (l *queueLoad) release() { l.moved(queues.Unpark) }

func (l *queueLoad) moved(move func(context.Context, *app.App, queues.Choice, string, queues.Seen) (queues.Moved, error)) {
	l.t.Helper()
	m, err := move(l.ctx(), l.app, l.late, "a test", func(int, int) {})
	l.must(err)
	if m.Done != toPark || m.Users["mal"] != toPark || len(m.Users) != 1 {
		l.t.Fatalf("%+v, want %d of mal", m, toPark)
	}
}

func (l *queueLoad) someMore() {
	l.t.Helper()
	until := l.at + 5 + l.random.Uint64N(100)
	l.at = l.await("some more events", 0, func(r domain.Recorded) bool { return r.Seq >= until }).Seq
}

func (l *queueLoad) killOne() {
	l.t.Helper()
	l.kills = append(l.kills, time.Now())
	i := l.random.IntN(len(l.running))
	l.running[i].kill()
	l.running[i] = l.serve()
}

// reported waits until so many batches are reported; each wait is for some of them.
func (l *queueLoad) reported(want int) {
	l.t.Helper()
	from, have := uint64(1), 0
	for have < want {
		some := min(have+100, want)
		from = 1 + l.await(fmt.Sprintf("%d of %d reports", some, want), from, func(r domain.Recorded) bool {
			if _, is := r.Data.(*domain.BatchReport); is {
				have++
			}
			return have == some
		}).Seq
	}
}

// inForce is what is set of the queue metadata at some moment.
type inForce struct {
	suspended  bool
	prohibited []string
	limits     map[string]domain.UserLimit
	processors map[string]domain.Processor
}

func (s *inForce) apply(d *domain.SettingChanged, a domain.Aggregate) {
	kind, name := domain.SettingOf(a)
	_, of, _ := domain.SplitQueueName(kind, name)
	var v domain.SettingValue
	if d.Value != nil {
		v = *d.Value
	}
	switch kind {
	case domain.SettingDepositQueue:
		s.suspended, s.prohibited = v.DepositQueue != nil && v.DepositQueue.Suspended, nil
		if v.DepositQueue != nil {
			s.prohibited = v.DepositQueue.Prohibited
		}
	case domain.SettingUserLimit:
		delete(s.limits, of)
		if v.UserLimit != nil {
			s.limits[of] = *v.UserLimit
		}
	case domain.SettingProcessor:
		delete(s.processors, of)
		if v.Processor != nil {
			s.processors[of] = *v.Processor
		}
	}
}

func numberOr(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// grabbedByTheRules checks each grab, in the order of the commits, against what was set
// at that moment; a grab proves the settings that it relied on.
func (l *queueLoad) grabbedByTheRules() {
	l.t.Helper()
	all := l.history()
	slices.SortStableFunc(all, func(a, b domain.Recorded) int { return cmp.Compare(a.Zxid, b.Zxid) })
	set := inForce{limits: map[string]domain.UserLimit{}, processors: map[string]domain.Processor{}}
	grabs, freed, running, waiting, turn, row := map[domain.BatchID]int{}, map[domain.BatchID]bool{}, map[string]int{}, map[string]int{}, int64(0), 0
	required := 0               // grabs of a prohibited user by extra
	var served int              // how often mal may be served before ana
	late, meanwhile := false, 0 // ana came during a lap; kills while ana waited
	takes := func(at int64) {
		if turn++; at != turn {
			l.t.Errorf("turn %d follows turn %d", at, turn-1)
		}
	}
	kills, waited := l.kills, false
	waits := func() bool { return waiting["ana"] > 0 && running["ana"] < manyAtOnce } // ana could be served
	for _, r := range all {
		id := domain.BatchID(r.Aggregate.ID)
		user := l.user[id]
		for len(kills) > 0 && r.Zxid > 0 && r.Time.After(kills[0]) { // those of files have no commit
			if kills = kills[1:]; waits() {
				meanwhile++
			}
		}
		switch d := r.Data.(type) {
		case *domain.SettingChanged:
			set.apply(d, r.Aggregate)
		case *domain.BatchSubmitted:
			waiting[user]++
		case *domain.BatchGrabbed:
			takes(d.Ring.Turn)
			grabs[id]++
			waiting[user]--
			running[user]++
			if limit := numberOr(set.limits[user].Concurrency, fair.DefaultConcurrency); running[user] > limit {
				l.t.Errorf("turn %d: %d of %s run, at most %d may", turn, running[user], user, limit)
			}
			prohibited := slices.Contains(set.prohibited, user)
			if prohibited && d.Rule == string(fair.RuleRequired) && d.Processor == "extra" {
				required++
			}
			if p, there := set.processors[d.Processor]; set.suspended || prohibited && d.Rule != string(fair.RuleRequired) || d.Processor != "default" && (!there || p.Stopped) {
				l.t.Errorf("turn %d: %s of %s by %s, with %+v", turn, d.Rule, user, d.Processor, set)
			}
			if d.Rule == string(fair.RuleRoundRobin) {
				served = max(served, numberOr(set.limits["mal"].Allocation, fair.DefaultAllocation))
				if row++; user == "ana" {
					late, row, served = false, 0, 0
				}
				may := served
				if late { // the lap that was under way when ana came may end before
					may = 2 * served
				}
				if row > may && waits() {
					l.t.Errorf("turn %d: mal is served %d times while %d of ana wait: %s by %s, %v run, with %+v", turn, row, waiting["ana"], d.Rule, d.Processor, running, set)
				}
			}
		case *domain.BatchFreed:
			freed[id] = true
			running[user]--
		case *domain.BatchReport:
			if !freed[id] {
				running[user]--
			}
		case *domain.BatchMoved:
			switch {
			case d.Ring != nil: // parked
				takes(d.Ring.Turn)
				waiting[user]--
			case d.Ticket != nil: // released
				waiting[user]++
			}
		}
		if now := waits(); now != waited {
			if waited = now; now {
				late, row, served = true, 0, 0
			}
		}
	}
	l.t.Logf("%d places were freed before the report, extra grabbed %d while mal was prohibited; ana waited at %d of %d kills", len(freed), required, meanwhile, len(l.kills))
	if meanwhile == 0 {
		l.t.Error("no process was killed while ana waited")
	}
	if required == 0 {
		l.t.Error("extra, which required mal, grabbed nothing of mal's while others were not to")
	}
	for id, user := range l.user {
		if grabs[id] != 1 {
			l.t.Errorf("%s of %s was grabbed %d times", id, user, grabs[id])
		}
	}
}
