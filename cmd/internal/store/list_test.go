package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Objects that are deleted while others are listed are no error, and those that stay are
// listed once, in order.
func TestListWhileObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var stay []string
	for i := range 20 {
		stay = append(stay, fmt.Sprintf("marks/%02d", i))
		if _, err := s.PutIfAbsent(t.Context(), stay[i], strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	listed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for goes := filepath.Join(dir, "marks", "goes"); ; {
			if err := errors.Join(os.WriteFile(goes, []byte("x"), 0o600), os.Remove(goes)); err != nil {
				t.Error(err)
			}
			select {
			case <-listed:
				return
			default:
			}
		}
	}()
	for range 1000 {
		var keys []string
		for o, err := range s.List(t.Context(), "marks/") {
			if err != nil {
				t.Error(err)
			}
			if o.Key != "marks/goes" {
				keys = append(keys, o.Key)
			}
		}
		if !slices.Equal(keys, stay) {
			t.Errorf("listed are %q", keys)
			break
		}
	}
	close(listed)
	<-ended
}
