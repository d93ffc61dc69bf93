package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

func appendByte(c byte) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) { return append(bytes.Clone(b), c), nil }
}

func TestUpcastGoesThroughEveryVersion(t *testing.T) {
	t.Parallel()
	u, err := newUpcasts(map[domain.EventType]int{domain.EventJobHeld: 3}, []Upcaster{
		{domain.EventJobHeld, 2, appendByte('3')}, {domain.EventJobHeld, 1, appendByte('2')},
	})
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[int]string{1: "x23", 2: "x3", 3: "x"} {
		if got, err := u.upcast(domain.EventJobHeld, v, []byte("x")); err != nil || string(got) != want {
			t.Errorf("from v%d: %q, %v; want %q", v, got, err, want)
		}
	}
	for _, v := range []int{0, 4} {
		if _, err := u.upcast(domain.EventJobHeld, v, nil); err == nil || !strings.Contains(err.Error(), "upgrade") {
			t.Errorf("v%d: %v", v, err)
		}
	}
}

func TestUpcastNamesTheStepThatFails(t *testing.T) {
	t.Parallel()
	u, err := newUpcasts(map[domain.EventType]int{domain.EventJobHeld: 2}, []Upcaster{
		{domain.EventJobHeld, 1, func([]byte) ([]byte, error) { return nil, errors.New("no row") }}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.upcast(domain.EventJobHeld, 1, nil); err == nil || !strings.Contains(err.Error(), "job.held.v1 to v2: no row") {
		t.Error(err)
	}
}

func TestUpcastersMustReachTheNewest(t *testing.T) {
	t.Parallel()
	if err := CheckUpcasters(); err != nil {
		t.Errorf("the program's own: %v", err)
	}
	up := appendByte('x')
	for name, tc := range map[string]struct {
		newest map[domain.EventType]int
		list   []Upcaster
	}{
		"a step missing": {map[domain.EventType]int{domain.EventJobHeld: 3}, []Upcaster{{domain.EventJobHeld, 2, up}}},
		"a step twice":   {map[domain.EventType]int{domain.EventJobHeld: 2}, []Upcaster{{domain.EventJobHeld, 1, up}, {domain.EventJobHeld, 1, up}}},
		"too far":        {nil, []Upcaster{{domain.EventJobHeld, 1, up}}},
		"from nothing":   {map[domain.EventType]int{domain.EventJobHeld: 2}, []Upcaster{{domain.EventJobHeld, 0, up}}},
		"empty":          {map[domain.EventType]int{domain.EventJobHeld: 2}, []Upcaster{{domain.EventJobHeld, 1, nil}}},
		"unknown type":   {map[domain.EventType]int{"job.danced": 1}, nil},
	} {
		if _, err := newUpcasts(tc.newest, tc.list); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
