package payload

import (
	"context"
	"errors"
	"testing"
)

// TestMemoryOfManifests: all steps together stay within the budget, small manifests get
// the last of it, one that is alone is let through, and what a step held is free after it.
// Shows: P8
func TestMemoryOfManifests(t *testing.T) {
	t.Parallel()
	const budget = 8 * smallManifest
	m := NewMemory(budget)
	step := func() (write func(bytes int) error, release func()) {
		ctx, release := m.Step(t.Context())
		b := newLeased(ctx)
		return func(bytes int) error { _, err := b.Write(make([]byte, bytes)); return err }, release
	}
	large, endLarge := step()
	for n := range 2 * budget / smallManifest { // alone, even beyond the budget
		if err := large(smallManifest); err != nil {
			t.Fatal(n, err)
		}
	}
	other, endOther := step()
	if err := other(1); !errors.Is(err, ErrBusy) {
		t.Errorf("beside one that has all: %v", err)
	}
	endOther()
	endLarge()
	if m.used != 0 {
		t.Errorf("%d bytes count after all steps", m.used)
	}
	first, endFirst := step()
	second, endSecond := step()
	third, endThird := step()
	defer endSecond()
	if err := errors.Join(first(3*smallManifest), second(4*smallManifest)); err != nil {
		t.Fatal(err)
	}
	if err := third(smallManifest + 1); !errors.Is(err, ErrBusy) {
		t.Errorf("a large one gets the last eighth: %v", err)
	}
	if err := third(smallManifest); err != nil {
		t.Errorf("a small one does not get the last eighth: %v", err)
	}
	endThird()
	endFirst()
	if err := second(3 * smallManifest); err != nil {
		t.Errorf("after the others: %v", err)
	}
	if _, err := newLeased(context.Background()).Write(make([]byte, 2*budget)); err != nil {
		t.Errorf("outside of a step: %v", err)
	}
}
