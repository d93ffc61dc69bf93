package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

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

// queueLoad is a user, mal, with many deposits beside one, ana, with three, whose deposit
// queue is suspended, parked from and set in every way while processes are killed.
type queueLoad struct {
	*installation
	random  *rand.Rand
	many    int
	user    map[domain.BatchID]string
	of      []domain.BatchID // those of mal
	parked  []domain.BatchID
	running []*service
	at      uint64 // sequence of the last event that was waited for
}

const (
	fewDeposits = 3
	toPark      = 5
	manyAtOnce  = 64 // of mal, at the end
)

func newQueueLoad(t testing.TB, many int) *queueLoad {
	t.Helper()
	return &queueLoad{installation: newForProcesses(t, "attempts: 20, timeout: 60s", "zookeeper_session_timeout=2s"),
		random: seed(t), many: many, user: map[domain.BatchID]string{}}
}

// run deposits, changes the queue, and checks what came of it by the log.
func (l *queueLoad) run(base string) {
	l.t.Helper()
	l.changed(queues.Suspend(l.app, l.ctx(), fair.QueueMetadata, "a test"))
	l.deposits(base)
	for range 3 {
		l.running = append(l.running, l.serve())
	}
	l.changed(queues.Resume(l.app, l.ctx(), fair.QueueMetadata, "a test"))
	var err error
	l.at, err = l.app.LogEnd(l.ctx())
	l.must(err)
	for _, change := range l.changes() {
		l.someMore()
		l.killOne()
		change()
	}
	l.reported(l.many + fewDeposits)
	for _, s := range l.running {
		s.stop()
	}
	l.proven()
	l.whole(l.many + fewDeposits)
	l.grabbedByTheRules()
	if n := l.count("select count(*) from report.grab"); n != l.many+fewDeposits {
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
	l.of = make([]domain.BatchID, l.many)
	var g errgroup.Group
	g.SetLimit(16)
	submit := func(user string, n int, into *domain.BatchID) {
		g.Go(func() error {
			s, err := l.app.Submit(l.t.Context(), app.Deposit{Profile: "test", Submitter: user, Payload: fmt.Sprintf("%s/file/%d", base, n), Type: domain.TypeFile})
			*into = s.Batch
			return err
		})
	}
	for i := range l.of {
		submit("mal", i, &l.of[i])
	}
	l.must(g.Wait())
	few := make([]domain.BatchID, fewDeposits)
	for i := range few {
		submit("ana", l.many+i, &few[i])
	}
	l.must(g.Wait())
	slices.Sort(l.of)
	for _, id := range l.of {
		l.user[id] = "mal"
	}
	for _, id := range few {
		l.user[id] = "ana"
	}
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
			l.changed(queues.Suspend(a, ctx, q, why))
			l.killOne()
			l.changed(queues.Resume(a, ctx, q, why))
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

// park takes the last deposits of mal out of the queue.
func (l *queueLoad) park() {
	l.t.Helper()
	h, err := l.app.Open.Handler(l.ctx())
	l.must(err)
	for _, id := range l.of[len(l.of)-toPark:] {
		_, err := h.Park(l.ctx(), id, domain.Reason{Class: domain.ClassWait, Code: "parked", Message: "a test"}, l.app.Meta())
		l.must(err)
		l.parked = append(l.parked, id)
	}
}

func (l *queueLoad) release() {
	l.t.Helper()
	h, err := l.app.Open.Handler(l.ctx())
	l.must(err)
	for _, id := range l.parked {
		_, err := h.Batch(l.ctx(), id, domain.UnparkBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: "requested", Message: "a test"}}, l.app.Meta())
		l.must(err)
	}
}

func (l *queueLoad) someMore() {
	l.t.Helper()
	until := l.at + 5 + l.random.Uint64N(100)
	l.at = l.await("some more events", 0, func(r domain.Recorded) bool { return r.Seq >= until }).Seq
}

func (l *queueLoad) killOne() {
	l.t.Helper()
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
	required := 0 // grabs of a prohibited user by extra
	takes := func(at int64) {
		if turn++; at != turn {
			l.t.Errorf("turn %d follows turn %d", at, turn-1)
		}
	}
	for _, r := range all {
		id := domain.BatchID(r.Aggregate.ID)
		user := l.user[id]
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
				if row++; user == "ana" {
					row = 0
				}
				if row > numberOr(set.limits["mal"].Allocation, fair.DefaultAllocation) && waiting["ana"] > 0 {
					l.t.Errorf("turn %d: mal is served %d times while %d of ana wait", turn, row, waiting["ana"])
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
	}
	l.t.Logf("%d places were freed before the report, extra grabbed %d while mal was prohibited", len(freed), required)
	if required == 0 {
		l.t.Error("extra, which required mal, grabbed nothing of mal's while others were not to")
	}
	for id, user := range l.user {
		if grabs[id] != 1 {
			l.t.Errorf("%s of %s was grabbed %d times", id, user, grabs[id])
		}
	}
}
