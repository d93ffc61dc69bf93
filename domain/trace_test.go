package domain

import "testing"

func TestTraceID(t *testing.T) {
	t.Parallel()
	for parent, want := range map[string]string{
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "4bf92f3577b34da6a3ce929d0e0e4736",
		"":                                    "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736": "",
		"00-4bf92f-00f067aa0ba902b7-01":       "",
	} {
		if got := TraceID(parent); got != want {
			t.Errorf("%q: %q, want %q", parent, got, want)
		}
	}
}
