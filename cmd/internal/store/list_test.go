package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Objects that are deleted while others are listed are no error, and those that stay are
// listed once, in order.
func TestListWhileObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	put := func(key string) {
		if _, err := s.PutIfAbsent(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Error(err)
		}
	}
	var stay []string
	for i := range 20 {
		stay = append(stay, fmt.Sprintf("marks/%02d", i))
		put(stay[i])
	}
	const rounds = 300
	listed, deleted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(deleted)
		for {
			for i := range 20 {
				put(stay[i] + "-goes")
			}
			for i := range 20 {
				if err := s.Delete(t.Context(), stay[i]+"-goes"); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-listed:
				return
			default:
			}
		}
	}()
	for range rounds {
		var keys []string
		for o, err := range s.List(t.Context(), "marks/") {
			if err != nil {
				t.Error(err)
			}
			if !strings.HasSuffix(o.Key, "-goes") {
				keys = append(keys, o.Key)
			}
		}
		if !slices.Equal(keys, stay) {
			t.Fatalf("listed are %q", keys)
		}
	}
	close(listed)
	<-deleted
}
