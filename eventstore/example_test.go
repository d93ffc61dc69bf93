package eventstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
)

// A handler over maps: it loads, decides and commits a batch, and the events of the
// decision are in the outbox, written by the same commit.
func ExampleHandler() {
	ctx, store := context.Background(), memory.New(memory.Options{Shards: 1}).Session()
	commands := 0
	handler := &eventstore.Handler{
		Live: store, Catalog: store,
		Clock:      func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) },
		NewID:      func() string { commands++; return fmt.Sprint("command-", commands) },
		Collection: func(profile string) string { return profile },
	}
	ana := eventstore.Meta{Actor: domain.UserActor("ana")}

	id, err := store.ReserveBatchID(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := handler.Batch(ctx, id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Type: domain.TypeFile}}, ana)
	fmt.Println(res.Row, res.State.ID, res.State.State, "version", res.State.Version, err)

	_, err = handler.Batch(ctx, id, domain.CleanBatch{}, ana)
	var refused *domain.Refused
	fmt.Println(errors.As(err, &refused), err)

	items, err := store.Read(ctx, 0, eventstore.Offset{}, 10)
	for _, item := range items {
		for _, e := range item.Events {
			fmt.Println(e.ID(), e.Type, "by", e.Actor, "for", e.CommandID, err)
		}
	}
	// Output:
	// B1 bid0000000001 pending version 1 <nil>
	// true batch/bid0000000001 is pending: clean up is not possible (possible from here: held, processing)
	// batch/bid0000000001/1 batch.submitted by user/ana for command-1 <nil>
}
