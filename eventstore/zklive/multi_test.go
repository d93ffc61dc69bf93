package zklive

import (
	"errors"
	"fmt"
	"testing"

	"github.com/accession-ingest/accession/eventstore"
)

func errandOf(build func(p *plan)) *errand {
	p := &plan{}
	build(p)
	return &errand{p: p, done: make(chan verdict, 1)}
}

// TestWhoSharesAMulti: two plans share a multi when neither writes what the other
// touches, and check once what both check.
func TestWhoSharesAMulti(t *testing.T) {
	t.Parallel()
	move := func(job string) func(p *plan) {
		return func(p *plan) {
			p.check("/workers/w", -1, nil)
			p.check("/locks", 3, nil)
			p.set("/jobs/"+job+"/status", nil, 1, nil)
			p.delete("/jobs/"+job+"/lock", -1, nil)
		}
	}
	for name, c := range map[string]struct {
		second func(p *plan)
		joins  bool
	}{
		"another job":             {move("b"), true},
		"the same job":            {move("a"), false},
		"checks what is written":  {func(p *plan) { p.check("/jobs/a/status", 1, nil) }, false},
		"writes what is checked":  {func(p *plan) { p.set("/locks", nil, -1, nil) }, false},
		"checks at another place": {func(p *plan) { p.check("/locks", 4, nil) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &multi{}
			if !m.join(errandOf(move("a"))) {
				t.Fatal("the first does not fit")
			}
			ops := len(m.ops)
			if got := m.join(errandOf(c.second)); got != c.joins {
				t.Fatalf("joins: %v", got)
			}
			if !c.joins && len(m.ops) != ops {
				t.Error("what was refused left operations behind")
			}
		})
	}
	m := &multi{}
	for _, job := range []string{"a", "b", "c"} {
		m.join(errandOf(move(job)))
	}
	if len(m.ops) != 2+3*2 {
		t.Errorf("%d operations, want the two checks once and two writes each", len(m.ops))
	}
	for i, at := range m.place {
		if len(at) != 4 || m.meaning(i, at[2]) != nil || m.owner[at[2]] != i || m.owner[at[0]] != shared {
			t.Errorf("plan %d stands at %v of %v", i, at, m.owner)
		}
	}
}

// TestBoundsOfAMulti: a group keeps to the limits of a request, whatever waits.
func TestBoundsOfAMulti(t *testing.T) {
	t.Parallel()
	large := func(n, ops, bytes int) *errand {
		return errandOf(func(p *plan) {
			for i := range ops {
				p.create(fmt.Sprintf("/%d/%d", n, i), nil, 0, nil)
			}
			p.events = []shardEvents{{shard: n % 4, data: make([]byte, bytes)}}
			p.bytes += bytes
		})
	}
	for name, e := range map[string]struct{ ops, bytes int }{"operations": {100, 10}, "bytes": {1, 30 << 10}, "plans": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &groups{}
			for n := range 100 {
				g.queue = append(g.queue, large(n, e.ops, e.bytes))
			}
			for total := 0; total < 100; {
				m := g.take()
				if len(m.errands) == 0 || len(m.errands) > maxGroup {
					t.Fatalf("%d in a group", len(m.errands))
				}
				total += len(m.errands)
				bytes := m.bytes + len(m.nodes)*nodeBytes
				if n := len(m.ops) + 2*len(m.nodes); n > maxOps || bytes > maxBytes {
					t.Fatalf("%d operations, %d bytes", n, bytes)
				}
				if name == "plans" && total < 96 && len(m.errands) != maxGroup {
					t.Errorf("%d in a group of many", len(m.errands))
				}
			}
		})
	}
}

// TestAnswersOfRefusals: what a refusal means is found by plan and operation.
func TestAnswersOfRefusals(t *testing.T) {
	t.Parallel()
	m := &multi{}
	m.join(errandOf(func(p *plan) { p.check("/w", -1, eventstore.ErrFenced) }))
	m.join(errandOf(func(p *plan) {
		p.check("/w", -1, eventstore.ErrFenced)
		p.create("/l", nil, 0, eventstore.ErrLocked)
	}))
	for op, want := range map[int]error{0: eventstore.ErrFenced, 1: eventstore.ErrLocked, 9: eventstore.ErrConflict} {
		if got := m.meaning(1, op); !errors.Is(got, want) {
			t.Errorf("operation %d means %v, want %v", op, got, want)
		}
	}
}
