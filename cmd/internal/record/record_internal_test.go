package record

import (
	"context"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestStoppedInTheMiddle: who stands still in a transaction keeps others waiting for a
// moment only, and writes nothing when it goes on.
//
// Shows: P5 P7
func TestStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	r, names := New(projtest.DB(t)), []string{"tide"}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	locked, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- r.inTx(ctx, func(q *pgdb.Queries) error {
			if err := q.LockLocalIDs(ctx, pgdb.LockLocalIDsParams{Owner: "us", LocalIds: names}); err != nil {
				return err
			}
			close(locked)
			<-goOn
			return q.InsertLocalIDs(ctx, pgdb.InsertLocalIDsParams{Owner: "us", LocalIds: names, PrimaryIdentifier: "ark:/1/late", JobID: string(domain.NewJobID(1))})
		})
	}()
	select {
	case <-locked:
	case err := <-ended:
		t.Fatal(err)
	}
	primary, err := r.BindLocalID(ctx, Scope{Owner: "us"}, names, "ark:/1/next", domain.NewJobID(2))
	if err != nil || primary != "ark:/1/next" {
		t.Errorf("while another stands still: %s, %v", primary, err)
	}
	close(goOn)
	if err := <-ended; err == nil {
		t.Error("who stood still has written after all")
	}
	if primary, err := r.LookupLocalID(ctx, Scope{Owner: "us"}, names); err != nil || primary != "ark:/1/next" {
		t.Errorf("afterwards: %s, %v", primary, err)
	}
}
