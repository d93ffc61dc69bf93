package projections_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/projections/query"
)

// entries are work that waits, was done, has failed, is tried again, and is purged. It returns
// them as they are in the end.
func (w *world) entries() []compute.Entry {
	why := domain.Reason{Class: domain.ClassContent, Code: domain.CodeBadFile, Message: "it has no time axis", WhoActs: domain.ActsDepositor}
	done := compute.Complete{Result: entry.Result{SHA256: "9f86d081", Size: 17}}
	take := compute.Claim{Worker: "w-1"}
	var all []compute.Entry
	for n, commands := range [][]compute.Command{
		{},
		{take},
		{take, done},
		{take, compute.Return{Reason: domain.WorkerLost("w-1")}, compute.Claim{Worker: "w-2"}, done},
		{take, compute.Fail{Reason: why}},
		{take, compute.Fail{Reason: why}, compute.Retry{}},
		{take, done, compute.Purge{}},
	} {
		e := compute.Entry{ID: compute.NewID(int64(n + 1))}
		request := compute.Request{Work: entry.Work{Dataset: "tides", Group: "2026-03", Priority: entry.Priority(100 + n), Key: string(e.ID)},
			Request: entry.Request{Submitter: "lea", Inputs: []string{"https://data.test/a.nc"}}}
		for _, cmd := range append([]compute.Command{request}, commands...) {
			dec, err := compute.Decide(e, cmd)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range w.record(dec.Events, "") {
				if e, err = compute.Evolve(e, r); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		all = append(all, e)
	}
	return all
}

// TestEntries: the rows of entries are what their events say, in one transaction and in many.
func TestEntries(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int{"at once": 0, "one after the other": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := granted(t)
			w := newWorld(t, 1)
			want := w.entries()
			step := len(w.log)
			if at > 0 {
				step = at
			}
			for end := step; ; end += step {
				if err := run(t, config(db, w.log[:min(end, len(w.log))])); err != nil {
					t.Fatal(err)
				}
				if end >= len(w.log) {
					break
				}
			}
			rows, err := query.Entries(t.Context(), db, query.EntryFilter{})
			if err != nil || len(rows) != len(want) {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			for i, e := range want {
				row := rows[len(rows)-1-i]
				if e.Reason != nil {
					e.Reason = &domain.Reason{Class: e.Reason.Class, Code: e.Reason.Code, Message: e.Reason.Message, WhoActs: e.Reason.WhoActs}
				}
				if diff := cmp.Diff(e, query.EntryOf(row)); diff != "" {
					t.Errorf("%s (-events +row):\n%s", e.ID, diff)
				}
				if ended := e.State.Ended(); ended != (row.EndedAt != nil) || (row.ClaimedAt != nil) != (i > 0) {
					t.Errorf("%s: claimed %v, ended %v", e.ID, row.ClaimedAt, row.EndedAt)
				}
			}
			some, err := query.Entries(t.Context(), db, query.EntryFilter{Status: entry.Failed, Dataset: "tides", Before: compute.NewID(6)})
			if err != nil || len(some) != 1 || some[0].ID != string(want[4].ID) {
				t.Errorf("%+v, %v", some, err)
			}
			if row, err := query.EntryOfKey(t.Context(), db, string(want[6].ID)); err != nil || row.Status != string(entry.Purged) {
				t.Errorf("%+v, %v", row, err)
			}
		})
	}
}
