package daemon

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// Every event names its collection and profile, and those at the end of a job need no
// other event: an indexer finds the object and the deposit in job.completed, and who
// must do what in job.failed.
func TestEventsStandAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.serve("/x.txt", "x")
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", w.web.URL+"/x.txt | | | | | | | loc1 | Ana | Tides | 1923", w.web.URL+"/gone.txt"))
	id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	b := w.run(id, domain.BatchFailed)
	good, bad := b.Listing.FirstJID, b.Listing.FirstJID.Plus(1)
	p := w.profile(b.Submission.ProfileName)
	belongs := func(collection, profile string, r domain.Recorded) {
		t.Helper()
		if collection != p.Collection || profile != p.Name {
			t.Errorf("%s names collection %q and profile %q", r.ID(), collection, profile)
		}
	}
	for _, r := range w.recorded(id.Aggregate()) {
		m, _ := domain.MoveOfBatch(r.Data)
		belongs(m.Collection, m.Profile, r)
	}
	for _, j := range []domain.JobID{good, bad} {
		for _, r := range w.recorded(j.Aggregate()) {
			m, _ := domain.MoveOfJob(r.Data)
			belongs(m.Collection, m.Profile, r)
		}
		for _, f := range w.fileStatesOf(j) {
			for _, r := range f.events {
				m, _ := domain.MoveOfFile(r.Data)
				belongs(m.Collection, m.Profile, r)
				if w.web.URL != "http://"+m.Host {
					t.Errorf("%s names the host %q", r.ID(), m.Host)
				}
			}
		}
	}
	last := func(j domain.JobID, of domain.EventType) domain.EventData {
		t.Helper()
		for _, r := range w.recorded(j.Aggregate()) {
			if r.Type == of {
				return r.Data
			}
		}
		t.Fatalf("%s has no %s\n%s", j, of, w.log)
		return nil
	}
	done := last(good, domain.EventJobCompleted).(*domain.JobDone)
	d, o := done.Deposit, done.Object
	if d == nil || o == nil || d.BatchID != id || d.Submitter != b.Submission.Submitter || d.ErcWhat != "Tides" || len(d.LocalID) != 1 ||
		d.Primary == "" || o.Primary != d.Primary || o.Version != 1 || o.ManifestKey == "" || o.Files != 3 || o.Bytes == 0 || "http://"+d.Host != w.web.URL {
		t.Errorf("job.completed has the deposit %+v and the object %+v", d, o)
	}
	failed := last(bad, domain.EventJobFailed).(*domain.JobFailure)
	if failed.Deposit == nil || failed.Deposit.Row != 1 || failed.Reason == nil || failed.Reason.WhoActs != domain.ActsDepositor || "http://"+failed.Reason.Host != w.web.URL {
		t.Errorf("job.failed has the deposit %+v and the reason %+v", failed.Deposit, failed.Reason)
	}
}
