package limits

import (
	"testing"

	"github.com/accession-ingest/accession/eventstore/memory"
)

// Of eight workers four are kept for those who hold none, whether one submitter comes from
// many servers or many submitters wait for one.
// Shows: P11
func TestGates(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]func(n int) (submitter, server string){
		"one submitter, many servers": func(n int) (string, string) { return "mallory", string(rune('a' + n)) },
		"many submitters, one server": func(n int) (string, string) { return string(rune('a' + n)), "slow.example.org" },
	} {
		g := NewGates(map[string]int{"x": 8, "y": 8}, memory.New(memory.Options{}).Session(), Most{100, 100}, nil)
		var admitted []*Admission
		take := func(submitter, server string) bool {
			p := g.Admission("x")
			if !p.Open(submitter) || !p.Free(server) || p.Take(t.Context(), submitter, server) != "" {
				return false
			}
			admitted = append(admitted, p)
			return true
		}
		for n := range 10 {
			take(who(n))
		}
		if len(admitted) != 4 {
			t.Errorf("%s: %d of 8 workers are held", name, len(admitted))
		}
		if !take("ana", "good.example.org") {
			t.Errorf("%s: another is not admitted", name)
		}
		if p := g.Admission("y"); p.Take(t.Context(), "mallory", "slow.example.org") != "" {
			t.Errorf("%s: the workers of another daemon count too", name)
		}
		changed := admitted[0].Changed()
		for _, p := range admitted {
			p.Leave()
			p.Leave() // does nothing
		}
		select {
		case <-changed:
		default:
			t.Errorf("%s: those who wait are not woken", name)
		}
		if x := g.of["x"]; x.busy != 0 || len(x.by) != 0 {
			t.Errorf("%s: %d workers are lost: %v", name, x.busy, x.by)
		}
	}
}

// A step that learns of more servers waits for none of them beyond their share.
func TestAlso(t *testing.T) {
	t.Parallel()
	g := NewGates(map[string]int{"x": 4}, memory.New(memory.Options{}).Session(), Most{100, 100}, nil)
	var admitted []*Admission
	for _, submitter := range []string{"ana", "ben", "cleo"} {
		p := g.Admission("x")
		if full := p.Take(t.Context(), submitter, submitter+".example.org"); full != "" {
			t.Fatal(full)
		}
		admitted = append(admitted, p)
	}
	const slow = "slow.example.org"
	if full := admitted[0].Also(t.Context(), slow, "fast.example.org"); full != "" {
		t.Errorf("%s is full", full)
	}
	if full := admitted[1].Also(t.Context(), "fast.example.org", slow); full != "fast.example.org" {
		t.Errorf("%q is full", full)
	}
	admitted[0].Leave()
	if full := admitted[1].Also(t.Context(), slow); full != "" {
		t.Errorf("%s is full", full)
	}
	if full := admitted[1].Also(t.Context(), "fast.example.org"); full != "" || g.of["x"].by[holder{true, slow}] != 0 {
		t.Errorf("%q is full, and it waits for %v", full, admitted[1].holders) // instead of the others
	}
	admitted[1].Leave()
	admitted[2].Leave()
	if x := g.of["x"]; x.busy != 0 || len(x.by) != 0 {
		t.Errorf("%d workers are lost: %v", x.busy, x.by)
	}
	(*Admission)(nil).Leave()
}
