package cell

import "testing"

// TestNumbers: numbers, sizes and spans of time as people read them.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1,023 B", 1536: "1.5 KiB", 1 << 40: "1.0 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for s, want := range map[float64]string{-1: "0 s", 0.25: "0.2 s", 59.9: "59 s", 61: "1 min 1 s", 3700: "1 h 1 min", 90061: "1 d 1 h"} {
		if got := Seconds(s); got != want {
			t.Errorf("%g: %s", s, got)
		}
	}
	var width float64
	b := Sum("jobs", N("completed", 1_000_000), N("failed", 1), N("held", 0))
	for _, p := range b.Parts {
		width += p.Width
		if p.N > 0 && p.Width < 0.9 || p.N == 0 && p.Width != 0 {
			t.Errorf("%+v", p)
		}
	}
	if width < 99.99 || width > 100.01 || b.Sum() != "1,000,000 completed, 1 failed" {
		t.Errorf("%g %s", width, b.Sum())
	}
}
