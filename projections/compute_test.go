package projections_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
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
	steps := map[int]compute.Step{0: {Job: domain.NewJobID(99), Name: "derive", Part: 2}, 3: {Job: domain.NewJobID(1), Name: "virusscan", Retry: 1, Part: 1}, 4: {Job: domain.NewJobID(1), Name: "virusscan", Part: 1}}
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
			Request: entry.Request{Submitter: []string{"lea", "ana"}[n%2], Inputs: []string{"https://data.test/a.nc", "https://" + []string{"Data", "Other", "third"}[n%3] + ".test:8080/b.nc"}}}
		if step, is := steps[n]; is {
			request.Work.Key = step.Key()
		}
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
			entriesByFilter(t, db, rows)
			if rows, err := query.StepsOfJob(t.Context(), db, domain.NewJobID(1)); err != nil || len(rows) != 2 || rows[0].ID != string(want[4].ID) || rows[1].ID != string(want[3].ID) {
				t.Errorf("the steps of the job are %+v, %v", rows, err)
			}
			if rows, err := query.StrandedEntries(t.Context(), db, "", 9); err != nil || len(rows) != 1 || rows[0].ID != string(want[0].ID) {
				t.Errorf("%+v wait for no job, %v", rows, err)
			}
			if rows, err := query.StrandedEntries(t.Context(), db, want[0].ID, 9); err != nil || len(rows) > 0 {
				t.Errorf("%+v, %v", rows, err)
			}
			if row, err := query.EntryOfKey(t.Context(), db, string(want[6].ID)); err != nil || row.Status != string(entry.Purged) {
				t.Errorf("%+v, %v", row, err)
			}
		})
	}
}

// entriesByFilter compares the list of entries under filters with a plain reading of all rows.
func entriesByFilter(t *testing.T, db query.DB, all []query.EntryRow) {
	t.Helper()
	some := 0
	filters := []query.EntryFilter{{Datasets: []string{}}, {Submitter: "zoe"}, {Code: "nothing"}, {Host: "nowhere.example"}}
	for _, r := range all {
		filters = append(filters, query.EntryFilter{Datasets: []string{r.Dataset}}, query.EntryFilter{Submitter: r.Submitter}, query.EntryFilter{Since: r.RequestedAt},
			query.EntryFilter{Until: r.RequestedAt}, query.EntryFilter{Submitter: r.Submitter, Since: r.RequestedAt, Status: entry.State(r.Status)})
		if r.ReasonCode != nil {
			filters = append(filters, query.EntryFilter{Code: *r.ReasonCode})
		}
		for _, in := range inputsOf(t, r) {
			filters = append(filters, query.EntryFilter{Host: hostOf(t, in)})
		}
	}
	for _, f := range filters {
		var want, got []string
		for _, r := range all {
			of := slices.ContainsFunc(inputsOf(t, r), func(in string) bool { return hostOf(t, in) == f.Host })
			if (f.Datasets == nil || slices.Contains(f.Datasets, r.Dataset)) && (f.Submitter == "" || r.Submitter == f.Submitter) && (f.Status == "" || r.Status == string(f.Status)) &&
				(f.Code == "" || r.ReasonCode != nil && *r.ReasonCode == f.Code) && (f.Host == "" || of) && !r.RequestedAt.Before(f.Since) && (f.Until.IsZero() || r.RequestedAt.Before(f.Until)) {
				want = append(want, r.ID)
			}
		}
		rows, err := query.Entries(t.Context(), db, f)
		for _, r := range rows {
			got = append(got, r.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v (%v)", f, got, want, err)
		}
		if len(got) > 0 && len(got) < len(all) {
			some++
		}
	}
	if some < 4 {
		t.Errorf("only %d filters choose some of the entries", some)
	}
}

func inputsOf(t *testing.T, r query.EntryRow) (all []string) {
	t.Helper()
	if err := json.Unmarshal(r.Inputs, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func hostOf(t *testing.T, in string) string {
	t.Helper()
	u, err := url.Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(u.Host)
}
