package record_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/compute"
)

// TestOneResultOfAClaim: of results that come at once under one claim the first stays, and only
// that one may be kept again; a later claim replaces it, and an older one does not.
// Shows: P5
func TestOneResultOfAClaim(t *testing.T) {
	t.Parallel()
	r, ctx := open(t), context.Background()
	keep := func(claim int64, n int, lines string) error {
		return r.KeepComputeResult(ctx, record.ComputeResult{Entry: compute.NewID(1), SHA256: fmt.Sprintf("%064d", n), Key: "k",
			Result: json.RawMessage(fmt.Sprint(n)), LastLines: lines, Worker: "w", Attempt: 1, Claim: claim})
	}
	for claim := range int64(20) {
		claim++
		errs := make([]error, 4)
		each(len(errs), func(i int) { errs[i] = keep(claim, i, "") })
		first := -1
		for i, err := range errs {
			switch {
			case err == nil && first < 0:
				first = i
			case code(err) != record.CodeResultKept:
				t.Fatalf("claim %d: %d of %v", claim, i, errs)
			}
		}
		if first < 0 {
			t.Fatalf("claim %d: none of %v", claim, errs)
		}
		if err := keep(claim, first, ""); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if err := keep(claim, first, "other lines"); code(err) != record.CodeResultKept {
			t.Errorf("with other lines: %v", err)
		}
		if err := keep(claim-1, 9, ""); code(err) != record.CodeResultKept {
			t.Errorf("of an older claim: %v", err)
		}
		kept, found, err := r.ComputeResult(ctx, compute.NewID(1), fmt.Sprintf("%064d", first), claim)
		if err != nil || !found || kept.Claim != claim || strings.TrimSpace(string(kept.Result)) != fmt.Sprint(first) {
			t.Errorf("claim %d: %+v %v %v", claim, kept, found, err)
		}
	}
}
