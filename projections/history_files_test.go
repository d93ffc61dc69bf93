package projections_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// findFile discovers a file of a job that there is, of one that is still to be
// made (files do not travel through the outbox, and may come first), or of none.
func (w *world) findFile() {
	b := w.batches[w.open[w.rnd.IntN(len(w.open))]]
	spec := domain.FileSpec{Source: "http://files.test/open/", Path: fmt.Sprintf("dir/é %d.tif", w.rnd.IntN(50)), Size: w.rnd.Int64N(1000),
		ByVersion: w.rnd.IntN(2) == 0, Modified: domain.At(w.now)}
	if b.Listing != nil && w.rnd.IntN(5) > 0 {
		id := b.Listing.FirstJID.Plus(w.rnd.IntN(b.Listing.Rows))
		spec.BatchID, spec.JobID, spec.Source, spec.ByVersion = b.ID, id, string(id), false
		spec.Collection, spec.Profile, spec.Dataset, spec.Group, spec.Host = "maps", "maps", "tides", "2026", "files.test"
		spec.URL, spec.DigestAlgorithm, spec.DigestValue = "http://files.test/a", "md5", strings.Repeat("0", 32)
	}
	w.file(spec.Hash(), domain.DiscoverFile{Spec: spec})
}

// moveFile asks something of a file; most of what is asked leads on.
func (w *world) moveFile() {
	if len(w.found) == 0 {
		return
	}
	id := w.found[w.rnd.IntN(len(w.found))]
	f := w.files[id]
	l := domain.Limits{Max: 2, Timeout: time.Hour}
	why := domain.Reason{Class: domain.ClassSystem, Code: domain.CodeWorkerLost, Message: "it is \"gone\"", Host: "files.test", WhoActs: domain.ActsService}
	reopen := domain.ReopenFile{Reason: domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "try again"}}
	sum := strings.Repeat("ab", 32)
	late := domain.RecoverFile{Now: domain.At(w.now.Add(24 * time.Hour)), Limits: domain.FileLimits{Download: l, Processing: l}}
	failed := domain.FailDownload{Fence: f.Fence, Reason: why, Limits: l}
	fault := domain.FailProcessing{Fence: f.Fence, Reason: why, Limits: l}
	var out *domain.FileOutput
	if w.rnd.IntN(2) == 0 {
		out = &domain.FileOutput{Key: "k", SHA256: sum, Size: 3}
	}
	commands := map[domain.FileState][]domain.FileCommand{
		domain.FileDiscovered:        {domain.StartDownload{Worker: "w1", Limits: l}, domain.StartDownload{Worker: "w2", Limits: l}, domain.FileAlreadyThere{Size: 9, SHA256: sum}},
		domain.FileDownloading:       {domain.FinishDownload{Fence: f.Fence, Size: w.rnd.Int64N(1000), SHA256: sum}, failed, failed, late},
		domain.FileDownloaded:        {domain.ReadyFile{}, domain.ReadyFile{}, domain.FailValidation{Reason: why, Quarantine: "q/1", Limits: l}, domain.SkipFile{Reason: why}, domain.SkipFile{Reason: why}},
		domain.FileDownloadingFailed: {domain.StartDownload{Worker: "w2", Limits: l}},
		domain.FileReady:             {domain.StartProcessing{Worker: "w1"}},
		domain.FileProcessing:        {domain.FinishProcessing{Fence: f.Fence, Output: out}, fault, fault, late},
		domain.FileProcessingFailed:  {domain.RetryProcessing{Limits: l}},
		domain.FileProcessed:         {domain.AuditFailed{Reason: why, Limits: l}},
		domain.FileIgnore:            {reopen},
		domain.FileAbandoned:         {reopen},
		domain.FileSkipped:           {reopen},
	}[f.State]
	if f.State.Terminal() && w.rnd.IntN(3) > 0 {
		return
	}
	w.file(id, commands[w.rnd.IntN(len(commands))])
}

// file decides and folds a file's command; a refusal changes nothing.
func (w *world) file(id domain.FileHash, cmd domain.FileCommand) {
	f, known := w.files[id]
	f.Hash = id
	dec, err := domain.DecideFile(f, cmd)
	if err != nil {
		return
	}
	batch := f.Spec.BatchID
	if d, ok := cmd.(domain.DiscoverFile); ok {
		batch = d.Spec.BatchID
	}
	for _, r := range w.record(dec.Events, batch) {
		if f, err = domain.EvolveFile(f, r); err != nil {
			w.t.Fatal(err)
		}
	}
	if !known {
		w.found = append(w.found, id)
	}
	w.files[id] = f
}
