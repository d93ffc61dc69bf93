package limits

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/eventstore/memory"
)

// TestServerThatRests: a server that has asked to be left alone is not used, also not by a permit
// that is kept, until its pause is over; others are. What is known stays known while it cannot
// be read.
// Shows: P11
func TestServerThatRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fails error
		rest := map[string]time.Duration{}
		begun := time.Now()
		hosts := &counted{Hosts: memory.New(memory.Options{}).Session()}
		g := NewGates(map[string]int{"x": 4}, hosts, Most{1, 4}, func(context.Context) (map[string]time.Duration, error) {
			left := map[string]time.Duration{}
			for name, pause := range rest {
				left[name] = pause - time.Since(begun)
			}
			return left, fails
		})
		free := func(server string) bool {
			p := g.Admission("x")
			full := p.Take(t.Context(), "ana", server)
			p.Leave()
			return full == ""
		}
		if !free(slow) || !free("fast.example.org") {
			t.Error("a server is full that has asked for nothing")
		}
		// Its permit is kept for a moment.
		rest[slow] = time.Minute
		g.permits.rests.again = time.Time{}
		if free(slow) || !free("fast.example.org") {
			t.Error("the wrong server is left alone")
		}
		fails = errors.New("no answer")
		for changed := time.Now(); time.Since(changed) < 30*time.Second; <-time.After(time.Second) {
			if free(slow) {
				t.Fatalf("it is used after %s", time.Since(begun))
			}
		}
		for !free(slow) {
			<-time.After(time.Second)
		}
		if used := time.Since(begun); used < time.Minute || used > time.Minute+5*time.Second {
			t.Errorf("it is used again after %s", used)
		}
	})
}
