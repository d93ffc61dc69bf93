package limits

import (
	"testing"

	"github.com/accession-ingest/accession/eventstore/memory"
)

// Of six workers two are kept for those who hold none, whether one submitter comes from
// many servers or many submitters wait for one.
// Shows: P11
func TestGates(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]func(n int) (submitter, server string){
		"one submitter, many servers": func(n int) (string, string) { return "mallory", string(rune('a' + n)) },
		"many submitters, one server": func(n int) (string, string) { return string(rune('a' + n)), "slow.example.org" },
	} {
		g := NewGates(map[string]int{"x": 6, "y": 6}, memory.New(memory.Options{}).Session(), 100)
		var places []*Place
		take := func(submitter, server string) bool {
			p := g.Place("x")
			if !p.Open(submitter) || !p.Free(server) || p.Take(t.Context(), submitter, server) != "" {
				return false
			}
			places = append(places, p)
			return true
		}
		for n := range 10 {
			take(who(n))
		}
		if len(places) != 4 {
			t.Errorf("%s: %d of 6 workers are held", name, len(places))
		}
		if !take("ana", "good.example.org") {
			t.Errorf("%s: there is no place for another", name)
		}
		if p := g.Place("y"); p.Take(t.Context(), "mallory", "slow.example.org") != "" {
			t.Errorf("%s: the workers of another daemon count too", name)
		}
		changed := places[0].Changed()
		for _, p := range places {
			p.Leave()
			p.Leave() // does nothing
		}
		select {
		case <-changed:
		default:
			t.Errorf("%s: those who wait are not woken", name)
		}
		if x := g.of["x"]; x.busy != 0 || len(x.by) != 0 {
			t.Errorf("%s: %d places are lost: %v", name, x.busy, x.by)
		}
	}
}

// A step that learns of more servers waits for none of them beyond their share.
func TestAlso(t *testing.T) {
	t.Parallel()
	g := NewGates(map[string]int{"x": 4}, memory.New(memory.Options{}).Session(), 100)
	var places []*Place
	for _, submitter := range []string{"ana", "ben", "cleo"} {
		p := g.Place("x")
		if full := p.Take(t.Context(), submitter, submitter+".example.org"); full != "" {
			t.Fatal(full)
		}
		places = append(places, p)
	}
	const slow = "slow.example.org"
	if full := places[0].Also(t.Context(), slow, "fast.example.org"); full != "" {
		t.Errorf("%s is full", full)
	}
	if full := places[1].Also(t.Context(), "fast.example.org", slow); full != "fast.example.org" {
		t.Errorf("%q is full", full)
	}
	places[0].Leave()
	if full := places[1].Also(t.Context(), slow); full != "" {
		t.Errorf("%s is full", full)
	}
	places[1].Leave()
	places[2].Leave()
	if x := g.of["x"]; x.busy != 0 || len(x.by) != 0 {
		t.Errorf("%d places are lost: %v", x.busy, x.by)
	}
	(*Place)(nil).Leave()
}
