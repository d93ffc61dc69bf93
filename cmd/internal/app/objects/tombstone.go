package objects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
)

// Tombstone stands for the content of an object that was withdrawn.
type Tombstone struct {
	Since       time.Time  `json:"since"` // from then on nothing of it is served
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requested_by"`
	ApprovedBy  string     `json:"approved_by"`
	RemovedAt   *time.Time `json:"removed_at,omitempty"` // when the content was gone from all stores
}

// tombstone returns that of an object, nil = it was not withdrawn.
func tombstone(ctx context.Context, records *record.Records, object string) (*Tombstone, error) {
	w, found, err := records.Withdrawal(ctx, object)
	if err != nil || !found || w.State == record.WithdrawalRequested {
		return nil, err
	}
	t := &Tombstone{Reason: w.Reason, RequestedBy: w.RequestedBy, ApprovedBy: w.DecidedBy}
	if w.DecidedAt != nil {
		t.Since = w.DecidedAt.UTC()
	}
	if w.RemovedAt != nil {
		at := w.RemovedAt.UTC()
		t.RemovedAt = &at
	}
	return t, nil
}

// served refuses the content of an object that was withdrawn.
func served(ctx context.Context, records *record.Records, object string) error {
	t, err := tombstone(ctx, records, object)
	if err != nil || t == nil {
		return err
	}
	return &app.Error{Kind: app.Gone, Err: fmt.Errorf("object %s was withdrawn at %s: %s", object, t.Since.Format(time.RFC3339), t.Reason),
		Hint: "its content is gone for ever; `accession object files` still lists names, sizes and digests"}
}

// withdrawn reports whether an error says that an object was withdrawn.
func withdrawn(err error) bool {
	e, ok := errors.AsType[*app.Error](err)
	return ok && e.Kind == app.Gone
}
