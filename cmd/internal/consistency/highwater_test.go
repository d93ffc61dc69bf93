package consistency

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/highwater"
	"github.com/accession-ingest/accession/eventstore"
)

// waterPlaces are the places of the marks in memory. A process dies before the step with
// number dies.
type waterPlaces struct {
	done   highwater.Mark
	begun  int64
	stored highwater.Mark
	live   int64
	epoch  int64
	dies   int
}

var errDead = errors.New("dead")

func (p *waterPlaces) step(do func()) error {
	if p.dies--; p.dies == 0 {
		return errDead
	}
	do()
	return nil
}

type (
	waterRecords struct{ *waterPlaces }
	waterStore   struct{ *waterPlaces }
	waterLive    struct{ *waterPlaces }
)

func (p waterRecords) HighWater(context.Context) (highwater.Mark, int64, error) {
	return p.done, p.begun, nil
}

func (p waterRecords) BeginHighWater(_ context.Context, round int64) error {
	return p.step(func() { p.begun = max(p.begun, round) })
}

func (p waterRecords) EndHighWater(_ context.Context, m highwater.Mark) error {
	return p.step(func() {
		if m.Round > p.done.Round {
			p.done = m
		}
	})
}

func (p waterStore) HighWater(context.Context) (highwater.Mark, error) { return p.stored, nil }

func (p waterStore) KeepHighWater(_ context.Context, m highwater.Mark) error {
	return p.step(func() {
		if m.Round > p.stored.Round {
			p.stored = m
		}
	})
}

func (p waterLive) HighWater(context.Context) (round, epoch int64, err error) {
	return p.live, p.epoch, nil
}

func (p waterLive) RaiseHighWater(_ context.Context, round int64) error {
	return p.step(func() { p.live = max(p.live, round) })
}

func (p *waterPlaces) water() HighWater {
	return HighWater{waterRecords{p}, waterStore{p}, waterLive{p}}
}

// older returns the codes of what is found older.
func (p *waterPlaces) older(t *testing.T) (codes []domain.Code) {
	t.Helper()
	r, err := p.water().read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var o *Older
	if errors.As(r.checkLive(false, 0), &o) {
		codes = append(codes, o.Code)
	}
	for _, o := range r.others() {
		codes = append(codes, o.Code)
	}
	return codes
}

// However many rounds are made and wherever processes die, no place is found older; and
// whichever one or two are put back to a copy by two rounds or more are found older, and
// no other.
// Shows: P12
func TestHighWaterFindsOlderCopies(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := &waterPlaces{epoch: 1}
		var seq uint64
		rounds := func(n int) {
			for range n {
				seq++
				p.dies = r.IntN(7) // 0, 5, 6: it does not die
				if err := p.water().Raise(t.Context(), highwater.Mark{Epoch: 1, LogSeq: seq}); err != nil && !errors.Is(err, errDead) {
					t.Fatal(err)
				}
				if codes := p.older(t); len(codes) > 0 {
					t.Fatalf("%+v: found older: %v", p, codes)
				}
				if err := p.water().Check(t.Context()); err != nil {
					t.Fatalf("%+v: the check finds an older copy: %v", p, err)
				}
			}
		}
		rounds(r.IntN(5))
		before := *p
		for p.done.Round < before.done.Round+3 {
			rounds(1)
		}
		var want []domain.Code
		for _, which := range r.Perm(3)[:1+r.IntN(2)] {
			switch which {
			case 0:
				p.live = before.live
				want = append(want, TreeOlder)
			case 1:
				p.done, p.begun = before.done, before.begun
				want = append(want, RecordsOlder)
			default:
				p.stored = before.stored
				want = append(want, StoreOlder)
			}
		}
		slices.Sort(want)
		got := p.older(t)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("put back to %+v: %+v: found older %v, want %v", before, p, got, want)
		}
		p.dies = 0
		var o *Older
		if err := p.water().Check(t.Context()); !errors.As(err, &o) {
			t.Fatalf("%+v: an older copy passes the check: %v", p, err)
		}
		if err := p.water().Raise(t.Context(), highwater.Mark{Epoch: 1, LogSeq: seq + 1}); err == nil {
			t.Fatalf("%+v: a mark hides an older copy", p)
		}
		if slices.Contains(want, TreeOlder) {
			var h eventstore.History
			if err := p.water().Restored(t.Context(), &h); err != nil {
				t.Fatal(err)
			}
			p.live = h.HighWater // as its restore does
		}
		got = slices.DeleteFunc(p.older(t), func(c domain.Code) bool { return slices.Contains(want, c) && c != TreeOlder })
		if len(got) > 0 {
			t.Fatalf("%+v: restoring the live state makes %v older", p, got)
		}
		if err := p.water().accept(t.Context()); err != nil || len(p.older(t)) > 0 {
			t.Fatalf("accepted: %v, %v: %+v", err, p.older(t), p)
		}
	}
}

// A mark that was not reached, of the same epoch or a later one.
func TestHighWaterFindsAShortLogAndAnOlderEpoch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		epoch int64 // of the live state
		last  uint64
		want  domain.Code
	}{{2, 10, ""}, {2, 9, LogOlder}, {3, 9, ""}, {1, 10, TreeOlder}} {
		p := &waterPlaces{epoch: c.epoch}
		if err := p.water().Raise(t.Context(), highwater.Mark{Epoch: 2, LogSeq: 10}); err != nil {
			t.Fatal(err)
		}
		r, err := p.water().read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if short, err := p.water().Short(t.Context(), c.last); err != nil || short != 10-c.last {
			t.Errorf("a log that ends at %d has %d events less than 10: %v", c.last, short, err)
		}
		var o *Older
		if errors.As(r.checkLive(true, c.last), &o); (o == nil) != (c.want == "") || o != nil && o.Code != c.want {
			t.Errorf("%+v: found %v", c, o)
		}
	}
}
