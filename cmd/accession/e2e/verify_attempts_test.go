package e2e

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// A file of a dataset that is PROCESSING is compared with its entry: where there is none, where it
// waits, and where it has ended, the attempt is ended and the file waits again. An entry that is made
// again from the log keeps the attempt of its worker, and so does one that a worker has.
// Shows: P21
func TestVerifyEndsAttemptsWithoutEntries(t *testing.T) {
	t.Parallel()
	names := []string{"1_none.dat", "2_done.dat", "3_lost.dat", "4_has.dat", "5_waits.dat"}
	var listing []string
	for _, name := range names {
		listing = append(listing, name+" 20-Nov-2026 09:05 1")
	}
	p := newPolled(t, newInstallation(t, "file_retry_delay=0"), newOpenDirectory(t, listing...))
	p.polled()
	files, err := p.wired.FileHandler(p.ctx())
	p.must(err)
	do := func(name string, cmd domain.FileCommand) domain.File {
		t.Helper()
		res, err := files.File(p.ctx(), p.dir.hash(name), cmd, eventstore.Meta{Actor: "daemon/test"})
		p.must(err)
		return res.File
	}
	for _, name := range names {
		do(name, domain.FileAlreadyThere{Size: 1, SHA256: strings.Repeat("0", 64)})
		do(name, domain.ReadyFile{})
	}
	q, z := p.queueOfWork(), p.raw()
	requests := func(name string) compute.ID {
		t.Helper()
		a := compute.Attempt{Hash: p.dir.hash(name), Number: 1}
		res, err := q.RequestEntry(p.ctx(), compute.Request{Work: entry.Work{Dataset: "nights", Group: "1", Priority: entry.DefaultPriority, Key: a.Key()},
			Request: entry.Request{Submitter: "ready", Inputs: []string{a.Input()}}}, computing)
		p.must(err)
		return res.State.ID
	}
	begins := func(name string) eventstore.Result[compute.Entry] {
		t.Helper()
		taken := q.takes(requests(name))
		do(name, domain.StartProcessing{Worker: taken.State.Worker})
		return taken
	}
	is := func(name string, want domain.FileState, lost int) {
		t.Helper()
		f, err := files.Load(p.ctx(), p.dir.hash(name))
		p.must(err)
		p.shown()
		n := p.count("select count(*) from accession.file_transition where raw_file_hash = $1 and to_status = 'PROCESSING_FAILED' and reason_code = 'worker_lost'", f.Hash)
		if f.State != want || f.ProcessingAttempts != 1 || n != lost {
			t.Errorf("%s is %s after %d attempts, of which %d are lost; want %s and %d", name, f.State, f.ProcessingAttempts, n, want, lost)
		}
	}
	has := begins("4_has.dat")
	p.shown()
	if r := p.settled(); len(r.Findings) > 0 {
		t.Fatalf("before any damage:\n%s", findings(r.Findings))
	}

	do("1_none.dat", domain.StartProcessing{Worker: "gone"})
	p.mends("a file without an entry", consistency.AttemptOrphan)
	is("1_none.dat", domain.FileReady, 1)

	q.completes(begins("2_done.dat"))
	p.mends("a file whose entry is done", consistency.AttemptOrphan)
	is("2_done.dat", domain.FileReady, 1)

	lost := begins("3_lost.dat").State.ID
	z.cut(claimOf(lost))
	for node := range p.nodesFrom("/owned") {
		if strings.HasSuffix(node, sequenceOf(lost)) {
			z.cut(node)
		}
	}
	z.cut(statusOf(lost))
	z.cut(keyOf(compute.Attempt{Hash: p.dir.hash("3_lost.dat"), Number: 1}.Key()))
	p.mends("a file whose entry is lost", consistency.EntryMissing)
	is("3_lost.dat", domain.FileProcessing, 0)

	requests("5_waits.dat")
	do("5_waits.dat", domain.StartProcessing{Worker: "gone"})
	p.mends("a file whose entry waits", consistency.AttemptOrphan)
	is("5_waits.dat", domain.FileReady, 1)

	is("4_has.dat", domain.FileProcessing, 0)
	f, err := files.Load(p.ctx(), p.dir.hash("4_has.dat"))
	p.must(err)
	do("4_has.dat", domain.FinishProcessing{Fence: f.Fence, Output: &domain.FileOutput{Key: string(has.State.ID), SHA256: "ab", Size: 2}})
	q.completes(has)
	is("4_has.dat", domain.FileProcessed, 0)
	p.agree()
}
