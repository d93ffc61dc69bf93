package limits

import (
	"context"
	"testing"
	"time"
)

// A free worker is waited for, and the end of the context ends that.
func TestWorkers(t *testing.T) {
	t.Parallel()
	s := NewWorkers(map[string]int{"a": 2})
	for n, daemon := range []string{"a", "a", "a", "b"} {
		if got := s.Take(daemon); got != (n < 2) {
			t.Fatalf("take %d gives %v", n, got)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	s.Wait(ctx, "a")
	if ctx.Err() == nil {
		t.Error("did not wait")
	}
	free := make(chan struct{})
	go func() { s.Wait(t.Context(), "a"); close(free) }()
	s.Give("a")
	<-free
	if !s.Take("a") {
		t.Error("what was given back cannot be taken")
	}
}
