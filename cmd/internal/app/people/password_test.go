package people

import (
	"context"
	"errors"
	"testing"
)

// TestPasswordsHashedAtOnce: a crowd of passwords takes the memory of two: the next one waits, and
// is given up with its request.
func TestPasswordsHashedAtOnce(t *testing.T) {
	t.Parallel()
	for range 2 {
		hashing <- struct{}{} // a password that is being hashed
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := hash(ctx, "correct horse battery", make([]byte, saltSize), Cost{MemoryKiB: 8, Passes: 1, Lanes: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a third is hashed: %v", err)
	}
	for range 2 {
		<-hashing
	}
	if sum, err := hash(t.Context(), "correct horse battery", make([]byte, saltSize), Cost{MemoryKiB: 8, Passes: 1, Lanes: 1}); err != nil || len(sum) != hashSize {
		t.Errorf("%d bytes, %v", len(sum), err)
	}
}
