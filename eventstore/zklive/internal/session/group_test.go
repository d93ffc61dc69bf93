package session

import (
	"errors"
	"fmt"
	"testing"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

func requestOf(build func(ops *layout.Ops)) *Request {
	r := &Request{done: make(chan Result, 1)}
	build(&r.Ops)
	return r
}

// TestWhoSharesAMulti: two requests share a multi when neither writes what the other
// touches, and check once what both check.
func TestWhoSharesAMulti(t *testing.T) {
	t.Parallel()
	move := func(job string) func(ops *layout.Ops) {
		return func(ops *layout.Ops) {
			ops.Check("/workers/w", -1, nil)
			ops.Check("/locks", 3, nil)
			ops.Set("/jobs/"+job+"/status", nil, 1, nil)
			ops.Delete("/jobs/"+job+"/lock", -1, nil)
		}
	}
	for name, c := range map[string]struct {
		second func(ops *layout.Ops)
		joins  bool
	}{
		"another job":             {move("b"), true},
		"the same job":            {move("a"), false},
		"checks what is written":  {func(ops *layout.Ops) { ops.Check("/jobs/a/status", 1, nil) }, false},
		"writes what is checked":  {func(ops *layout.Ops) { ops.Set("/locks", nil, -1, nil) }, false},
		"checks at another place": {func(ops *layout.Ops) { ops.Check("/locks", 4, nil) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &multi{}
			if !m.join(requestOf(move("a"))) {
				t.Fatal("the first does not fit")
			}
			ops := len(m.ops)
			if got := m.join(requestOf(c.second)); got != c.joins {
				t.Fatalf("joins: %v", got)
			}
			if !c.joins && len(m.ops) != ops {
				t.Error("what was refused left operations behind")
			}
		})
	}
	m := &multi{}
	for _, job := range []string{"a", "b", "c"} {
		m.join(requestOf(move(job)))
	}
	if len(m.ops) != 2+3*2 {
		t.Errorf("%d operations, want the two checks once and two writes each", len(m.ops))
	}
	for i, want := range []int{shared, shared, 0, 0, 1, 1, 2, 2} {
		if m.owner[i] != want {
			t.Errorf("operation %d belongs to %d, want %d", i, m.owner[i], want)
		}
	}
}

// TestBoundsOfAMulti: a group keeps to the limits of a request, whatever waits.
func TestBoundsOfAMulti(t *testing.T) {
	t.Parallel()
	large := func(n, ops, bytes int) *Request {
		r := requestOf(func(o *layout.Ops) {
			for i := range ops {
				o.Create(fmt.Sprintf("/%d/%d", n, i), nil, nil)
			}
		})
		r.additions = []Addition{{Shard: n % 4, parts: [][]byte{make([]byte, bytes)}}}
		return r
	}
	for name, e := range map[string]struct{ ops, bytes int }{"operations": {100, 10}, "bytes": {1, 30 << 10}, "requests": {1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &Group{}
			for n := range 100 {
				g.queue = append(g.queue, large(n, e.ops, e.bytes))
			}
			for total := 0; total < 100; {
				m := g.take()
				if len(m.requests) == 0 || len(m.requests) > maxGroup {
					t.Fatalf("%d in a group", len(m.requests))
				}
				total += len(m.requests)
				if n, bytes := size(m.ops, m.additions); n > maxOps || bytes > maxBytes {
					t.Fatalf("%d operations, %d bytes", n, bytes)
				}
				if name == "requests" && total < 96 && len(m.requests) != maxGroup {
					t.Errorf("%d in a group of many", len(m.requests))
				}
			}
		})
	}
}

// TestRefusals: what a refusal stands for is found by operation.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := requestOf(func(ops *layout.Ops) {
		ops.Check("/w", -1, eventstore.ErrFenced)
		ops.CreateEphemeral("/l", nil, eventstore.ErrLocked)
	})
	for op, want := range map[int]error{0: eventstore.ErrFenced, 1: eventstore.ErrLocked, 9: eventstore.ErrConflict, -1: eventstore.ErrConflict} {
		if got := r.Ops.Refusal(op); !errors.Is(got, want) {
			t.Errorf("operation %d stands for %v, want %v", op, got, want)
		}
	}
}
