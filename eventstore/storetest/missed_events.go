package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// testNewsMissed: work of which a session did not hear is found although it did
// something in the same queue afterwards.
func testNewsMissed(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5)
	k.never("there is no such job", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobEstimating, nil)
		return err
	})
	other.Walk(jobs[0], domain.JobEstimating)
	k.Walk(jobs[1], domain.JobProvisioning)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, at, err := k.Store.NextJob(ctx, domain.JobEstimating, nil); err != nil || at.State.ID != jobs[0] {
		t.Errorf("next is %s (%v), want %s", at.State.ID, err, jobs[0])
	}
}
