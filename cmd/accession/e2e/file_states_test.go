package e2e

import (
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Every file of a deposit goes through legal states in the log, to its end and before the
// job's own next step; the job that fails is the one with a file that was given up.
func TestFileStatesInTheLog(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	id := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	v := in.rest(id)
	in.agree()
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	files := map[domain.FileHash]domain.File{}
	rows := map[domain.FileHash]string{}
	// The job's events come to the log a little later than its files'.
	reached := func(job string, states ...domain.FileState) {
		for _, f := range files {
			if string(f.Spec.JobID) == job && !slices.Contains(states, f.State) {
				t.Errorf("%s moved on while its file %s was %s", job, f.Spec.Path, f.State)
			}
		}
	}
	for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch r.Type {
		case domain.EventJobDownloaded:
			reached(r.Aggregate.ID, domain.FileReady, domain.FileProcessing, domain.FileProcessed)
		case domain.EventJobProcessed:
			reached(r.Aggregate.ID, domain.FileProcessed)
		}
		m, ok := domain.MoveOfFile(r.Data)
		if !ok {
			continue
		}
		hash := domain.FileHash(r.Aggregate.ID)
		f, known := files[hash]
		if !known {
			f.Hash = hash
		}
		if files[hash], err = domain.EvolveFile(f, r); err != nil {
			t.Fatalf("place %d: %v", r.Seq, err)
		}
		row, _ := domain.FileRow(m.From, m.To)
		rows[hash] += " " + row.Row
	}
	completed := map[domain.JobID]bool{}
	for _, j := range v.Jobs {
		completed[domain.JobID(j.ID)] = j.Status == "completed"
	}
	of, givenUp := map[domain.JobID]int{}, map[domain.JobID]bool{}
	for hash, f := range files {
		job := f.Spec.JobID
		of[job]++
		givenUp[job] = givenUp[job] || f.State == domain.FileIgnore
		if f.Spec.BatchID != id || completed[job] && rows[hash] != " F1 F2 F4 F10 F11 F12" {
			t.Errorf("%s of %s %s took%s", f.Spec.Path, f.Spec.BatchID, job, rows[hash])
		}
	}
	for job, done := range completed {
		if of[job] == 0 || givenUp[job] == done {
			t.Errorf("%s: completed %t, with %d files, one given up %t", job, done, of[job], givenUp[job])
		}
	}
}
