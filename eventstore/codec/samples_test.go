package codec_test

import (
	"maps"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/slot"
)

// samples returns one event of every type, in the order of the registry, with each field
// of its data that the first generation had; see [generations].
func samples() []domain.Recorded {
	at := domain.At(time.Date(2026, 3, 14, 15, 9, 26, 535e6, time.UTC))
	batch, job := domain.NewBatchID(7), domain.NewJobID(42)
	data := sampleData(at, job)
	maps.Copy(data, sampleFileData(at, job))
	maps.Copy(data, sampleMendData(data))
	maps.Copy(data, sampleQueryData())
	maps.Copy(data, sampleSlotData(at))
	maps.Copy(data, sampleEntryData())
	var all []domain.Recorded
	for i, def := range domain.Registry {
		r := domain.Recorded{
			Event: domain.Event{Type: def.Type, Version: int64(i + 1), Data: data[def.Type]},
			Time:  at, BatchID: batch, Actor: domain.DaemonActor("sample"),
			CommandID:   "018e3f5c-2a00-7000-8000-0000000000aa",
			CausationID: "job/jid0000000041/6",
			TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Zxid:        4294967297, Epoch: 2,
		}
		switch def.Kind {
		case domain.KindBatch:
			r.Aggregate = batch.Aggregate()
		case domain.KindJob:
			r.Aggregate = job.Aggregate()
		case domain.KindFile:
			r.Aggregate, r.Zxid = domain.HashFile(string(job), "Karte.tif").Aggregate(), 0 // straight to the log
		case domain.KindQuery:
			r.Aggregate, r.BatchID = domain.NewQueryID(7).Aggregate(), ""
		case domain.KindSlot:
			r.Aggregate, r.BatchID, r.Zxid = slot.NewID("goes-16", "2026/073").Aggregate(), "", 0
		case domain.KindEntry:
			r.Aggregate, r.BatchID = compute.NewID(7).Aggregate(), ""
		default:
			r.Aggregate, r.BatchID = domain.SettingAggregate(domain.HoldCollection, "Maps_1"), ""
		}
		all = append(all, r)
	}
	return all
}

func sampleData(at domain.Time, job domain.JobID) map[domain.EventType]domain.EventData {
	reason := &domain.Reason{Class: domain.ClassContent, Code: domain.CodeDigestMismatch,
		Message: "the digest of “Karte.tif” & its row differ", Attempt: 2, Worker: "w-1"}
	batch := func(from, to domain.BatchState) domain.BatchMove {
		return domain.BatchMove{From: from, To: to, Reason: reason}
	}
	moved := func(from, to domain.BatchState) domain.EventData {
		return &domain.BatchMoved{BatchMove: batch(from, to)}
	}
	move := func(from, to domain.JobState) domain.JobMove {
		return domain.JobMove{From: from, To: to, Reason: reason, LastSuccessful: domain.JobEstimating, RetryCount: 1, Priority: 5, SpaceNeeded: 1 << 40}
	}
	jobMoved := func(from, to domain.JobState) domain.EventData {
		return &domain.JobMoved{JobMove: move(from, to)}
	}
	report := domain.NewReport([]domain.JobID{job, job.Plus(1)}, []domain.JobID{job.Plus(2)},
		&domain.Report{SuccessfulJobs: []domain.JobID{job}}, at).Cut("file:///reports/bid0000000007/2.json", sampleDigest)
	ids := domain.Identifiers{Primary: "ark:/99999/fk4abc", LocalID: []string{"inv-1", "inv-2"}}
	return map[domain.EventType]domain.EventData{
		domain.EventBatchSubmitted: &domain.BatchSubmitted{BatchMove: batch(domain.BatchNone, domain.BatchPending), Submission: domain.Submission{
			ProfileName: "maps", Submitter: "anna", PayloadURL: "https://example.org/m.checkm?a=1&b=2", ErcWhat: "Karten", ErcWho: "Å. Ek",
			ErcWhen: "1901", ErcWhere: "ark:/99999/fk4abc", Type: domain.TypeBatchManifest, SubmissionMode: "add",
			DigestAlgorithm: "sha256", DigestValue: sampleDigest, FileName: "m.checkm", Size: 812}},
		domain.EventBatchGrabbed: grabbed(batch(domain.BatchPending, domain.BatchPending)),
		domain.EventBatchFreed:   &domain.BatchFreed{BatchMove: batch(domain.BatchProcessing, domain.BatchProcessing), Queue: "metadata", User: "anna"},
		domain.EventBatchHeld:    moved(domain.BatchPending, domain.BatchHeld),
		domain.EventBatchListed: &domain.BatchListed{BatchMove: batch(domain.BatchPending, domain.BatchPending), Listing: domain.Listing{
			Rows: 3, FirstJID: job, ManifestURL: "file:///manifests/bid0000000007", ManifestSHA256: sampleDigest}},
		domain.EventBatchStarted:         moved(domain.BatchPending, domain.BatchProcessing),
		domain.EventBatchReleased:        moved(domain.BatchHeld, domain.BatchPending),
		domain.EventBatchReporting:       moved(domain.BatchProcessing, domain.BatchReporting),
		domain.EventBatchCompleted:       &domain.BatchReport{BatchMove: batch(domain.BatchReporting, domain.BatchCompleted), Report: report},
		domain.EventBatchFailed:          &domain.BatchReport{BatchMove: batch(domain.BatchUpdateReporting, domain.BatchFailed), Report: report},
		domain.EventBatchUpdateRequested: moved(domain.BatchFailed, domain.BatchUpdateReporting),
		domain.EventBatchDeleted:         moved(domain.BatchFailed, domain.BatchDeleted),
		domain.EventBatchCleaned:         moved(domain.BatchCompleted, domain.BatchDeleted),
		domain.EventBatchReported: &domain.BatchReported{BatchMove: batch(domain.BatchFailed, domain.BatchFailed),
			Channel: "mail", About: "report", Delivery: "d-1", Delivered: true},

		domain.EventJobCreated: &domain.JobCreated{JobMove: move(domain.JobNone, domain.JobPending),
			Configuration: domain.Configuration{BatchID: domain.NewBatchID(7), ProfileName: "maps", Submitter: "anna", PayloadURL: "https://example.org/1",
				PayloadType: domain.TypeObjectManifest, ResponseType: "json", SubmissionMode: "add", WorkingDir: "7/42", DigestAlgorithm: "sha256",
				DigestValue: sampleDigest, FileName: "1.checkm", Size: 99, Row: 0, RowFault: reason},
			Identifiers: ids, Metadata: domain.Metadata{ErcWho: "Å. Ek", ErcWhat: "Karte", ErcWhen: "1901", ErcWhere: "ark:/99999/fk4abc"}},
		domain.EventJobHeld:     jobMoved(domain.JobPending, domain.JobHeld),
		domain.EventJobReleased: jobMoved(domain.JobHeld, domain.JobPending),
		domain.EventJobAccepted: &domain.JobAccepted{JobMove: move(domain.JobPending, domain.JobEstimating)},
		domain.EventJobEstimated: &domain.JobEstimated{JobMove: move(domain.JobEstimating, domain.JobProvisioning),
			Files: 3, Unknown: 1, Bytes: 12345},
		domain.EventJobProvisioned: jobMoved(domain.JobProvisioning, domain.JobDownloading),
		domain.EventJobDownloaded:  &domain.JobDownloaded{JobMove: move(domain.JobDownloading, domain.JobProcessing), Files: 3, Bytes: 12345},
		domain.EventJobProcessed: &domain.JobProcessed{JobMove: move(domain.JobProcessing, domain.JobRecording), Object: domain.StoredObject{
			Primary: "ark:/99999/fk4abc", Version: 2, ManifestKey: "ark+=99999=fk4abc|2|manifest", ManifestSHA256: sampleDigest, Files: 3, Bytes: 12345}},
		domain.EventJobRecorded:      jobMoved(domain.JobRecording, domain.JobNotify),
		domain.EventJobCompleted:     &domain.JobDone{JobMove: move(domain.JobNotify, domain.JobCompleted), Callback: "delivered"},
		domain.EventJobFailed:        &domain.JobFailure{JobMove: move(domain.JobDownloading, domain.JobFailed)},
		domain.EventJobRequeued:      jobMoved(domain.JobFailed, domain.JobDownloading),
		domain.EventJobCleaned:       jobMoved(domain.JobCompleted, domain.JobCompleted),
		domain.EventJobDeleted:       &domain.JobDeletion{JobMove: move(domain.JobFailed, domain.JobDeleted)},
		domain.EventJobIdentified:    &domain.JobIdentified{JobMove: move(domain.JobProcessing, domain.JobProcessing), Identifiers: ids, Minted: true},
		domain.EventJobWaiting:       &domain.JobWaiting{JobMove: move(domain.JobProvisioning, domain.JobProvisioning)},
		domain.EventJobReprioritised: jobMoved(domain.JobPending, domain.JobPending),

		domain.EventSettingChanged: &domain.SettingChanged{Kind: domain.HoldCollection, Name: "Maps_1", From: "open", To: "held",
			Hold: &domain.Hold{By: "olga", When: at, Why: "stocktaking"}, Why: "stocktaking"},
	}
}

func sampleFileData(at domain.Time, job domain.JobID) map[domain.EventType]domain.EventData {
	reason := &domain.Reason{Class: domain.ClassTimeout, Code: domain.CodeDownloadTimeout, Message: "the attempt took longer than 10m0s", Attempt: 2, Worker: "w-1"}
	move := func(from, to domain.FileState) domain.FileMove {
		return domain.FileMove{From: from, To: to, Reason: reason, JobID: job, Path: "Karte.tif", Size: 1 << 33, DownloadAttempts: 2, ProcessingAttempts: 1}
	}
	moved := func(from, to domain.FileState) domain.EventData { return &domain.FileMoved{FileMove: move(from, to)} }
	return map[domain.EventType]domain.EventData{
		domain.EventFileDiscovered: &domain.FileFound{FileMove: move(domain.FileNone, domain.FileDiscovered), File: domain.FileSpec{
			Source: string(job), Path: "Karte.tif", ByVersion: true, BatchID: domain.NewBatchID(7), JobID: job, URL: "https://example.org/Karte.tif?a=1&b=2",
			Size: 1 << 33, Modified: at, DigestAlgorithm: "sha256", DigestValue: sampleDigest}},
		domain.EventFileDownloadStarted: &domain.FileStarted{FileMove: move(domain.FileDiscovered, domain.FileDownloading), Worker: "w-1"},
		domain.EventFileDownloaded:      &domain.FileFetched{FileMove: move(domain.FileDownloading, domain.FileDownloaded), SHA256: sampleDigest, Fence: 31},
		domain.EventFileDownloadFailed: &domain.FileFailed{FileMove: move(domain.FileDownloading, domain.FileDownloadingFailed), Fence: 31,
			Quarantine: "quarantine/7/42/Karte.tif"},
		domain.EventFileIgnored:           moved(domain.FileDownloadingFailed, domain.FileIgnore),
		domain.EventFileSkipped:           moved(domain.FileDownloaded, domain.FileSkipped),
		domain.EventFileReady:             moved(domain.FileDownloaded, domain.FileReady),
		domain.EventFileProcessingStarted: &domain.FileStarted{FileMove: move(domain.FileReady, domain.FileProcessing), Worker: "w-1"},
		domain.EventFileProcessed: &domain.FileDone{FileMove: move(domain.FileProcessing, domain.FileProcessed), Fence: 37,
			Output: &domain.FileOutput{Key: "ark+=99999=fk4abc|2|Karte.tif", SHA256: sampleDigest, Size: 1 << 33}},
		domain.EventFileProcessingFailed: &domain.FileFailed{FileMove: move(domain.FileProcessing, domain.FileProcessingFailed), Fence: 37,
			Quarantine: "quarantine/7/42/Karte.tif"},
		domain.EventFileAbandoned: moved(domain.FileProcessingFailed, domain.FileAbandoned),
		domain.EventFileReopened:  moved(domain.FileIgnore, domain.FileDiscovered),
	}
}

func grabbed(m domain.BatchMove) *domain.BatchGrabbed {
	m.Reason = nil
	m.Ticket = &domain.Ticket{Queue: "metadata", User: "anna", Slot: 3, Turn: 17}
	m.Ring = &domain.RingPosition{Turn: 17, Cursor: 4}
	return &domain.BatchGrabbed{BatchMove: m, Rule: "round_robin", Processor: "default", Size: 812}
}

func sampleMendData(of map[domain.EventType]domain.EventData) map[domain.EventType]domain.EventData {
	batch, _ := domain.MoveOfBatch(of[domain.EventBatchReported])
	job, _ := domain.MoveOfJob(of[domain.EventJobWaiting])
	repaired := []domain.Repaired{{Code: "queue_entry_wrong", Where: "/jobs/states/failed/05-jid0000000042", Found: "it"}}
	return map[domain.EventType]domain.EventData{
		domain.EventBatchRepaired:   &domain.BatchRepaired{BatchMove: batch, Repaired: repaired, More: 1},
		domain.EventJobRepaired:     &domain.JobRepaired{JobMove: job, Repaired: repaired, More: 1},
		domain.EventSettingRepaired: &domain.SettingRepaired{Kind: domain.HoldCollection, Name: "Maps_1", Repaired: repaired, More: 1},
		domain.EventSettingRestored: &domain.SettingRestored{Kind: domain.SettingAudit, Name: domain.AuditMaintenance, What: domain.RestoredZooKeeper, Epoch: 2, Events: 99},
	}
}

func sampleQueryData() map[domain.EventType]domain.EventData {
	why := &domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: "until the night"}
	ring := &domain.RingPosition{Turn: 9, Cursor: 4, Used: 1, Lap: 5}
	waits := domain.Ticket{Queue: "query", User: "anna", Slot: 4}
	runs := waits
	runs.Turn = 9
	move := func(from, to asked.State, t *domain.Ticket, r *domain.RingPosition) domain.QueryMove {
		return domain.QueryMove{From: from, To: to, Ticket: t, Ring: r}
	}
	moved := func(m domain.QueryMove) domain.EventData {
		m.Reason = why
		return &m
	}
	return map[domain.EventType]domain.EventData{
		domain.EventQueryReceived: &domain.QueryReceived{QueryMove: move(asked.None, asked.Received, &waits, nil), Request: asked.Request{Submitter: "anna",
			FileName: "Regal.txt", ListURL: "store:queries/qid0000000007/list.txt", ListSHA256: sampleDigest, Size: 99, Lines: 3, Wrong: 1}},
		domain.EventQueryGrabbed: &domain.QueryGrabbed{QueryMove: move(asked.Received, asked.Grabbed, &runs, ring), Rule: "round_robin", Processor: "default", Size: 99},
		domain.EventQueryAnswered: &domain.QueryAnswered{QueryMove: move(asked.Grabbed, asked.Answered, nil, nil), Answer: asked.Answer{Found: 1, NotFound: 1, Wrong: 1,
			URL: "store:queries/qid0000000007/c-1.jsonl", SHA256: sampleDigest}},
		domain.EventQueryFailed:   moved(move(asked.Grabbed, asked.Failed, nil, nil)),
		domain.EventQueryParked:   moved(move(asked.Received, asked.Parked, nil, ring)),
		domain.EventQueryUnparked: moved(move(asked.Parked, asked.Received, &waits, nil)),
	}
}

func sampleSlotData(at domain.Time) map[domain.EventType]domain.EventData {
	move := func(from, to domain.SlotState, files int, why *domain.Reason) domain.EventData {
		return &domain.SlotMove{From: from, To: to, Reason: why, Dataset: "goes-16", Group: "2026/073", Opens: at, Closes: domain.At(at.Add(time.Hour)), Files: files}
	}
	byHand := &domain.Reason{Class: domain.ClassWait, Code: "opened_by_operator", Message: "the files come late"}
	missed := &domain.Reason{Class: domain.ClassTimeout, Code: slot.CodeMissed, Message: "its window ended and no file had arrived"}
	return map[domain.EventType]domain.EventData{
		domain.EventSlotCreated: move(domain.SlotNone, domain.SlotPending, 0, nil),
		domain.EventSlotOpened:  move(domain.SlotMissed, domain.SlotActive, 0, byHand),
		domain.EventSlotClosed:  move(domain.SlotActive, domain.SlotDone, 3, nil),
		domain.EventSlotMissed:  move(domain.SlotPending, domain.SlotMissed, 0, missed),
	}
}

func sampleEntryData() map[domain.EventType]domain.EventData {
	work := entry.Work{Dataset: "tides", Group: "2026-03", Priority: 250, Key: "spectrum/é 7"}
	move := func(from, to entry.State, why *domain.Reason) *domain.EntryMove {
		return &domain.EntryMove{From: from, To: to, Work: work, Attempt: 2, Worker: "w-1", Reason: why}
	}
	requested := move(entry.None, entry.Pending, nil)
	requested.Attempt, requested.Worker = 0, ""
	requested.Request = &entry.Request{Submitter: "anna", Inputs: []string{"https://example.org/tides/a.nc", "store:tides/b.nc"}}
	completed := move(entry.Staging, entry.Successful, nil)
	completed.Result = &entry.Result{SHA256: sampleDigest, Size: 1234}
	gone := domain.WorkerLost("w-1")
	return map[domain.EventType]domain.EventData{
		domain.EventEntryRequested: requested,
		domain.EventEntryClaimed:   move(entry.Pending, entry.Staging, nil),
		domain.EventEntryReturned:  move(entry.Staging, entry.Pending, &gone),
		domain.EventEntryCompleted: completed,
		domain.EventEntryFailed: move(entry.Staging, entry.Failed, &domain.Reason{Class: domain.ClassContent, Code: domain.CodeBadFile, Attempt: 2, Worker: "w-1",
			Message: "“b.nc” has no time axis", WhoActs: domain.ActsDepositor}),
		domain.EventEntryPurged: move(entry.Failed, entry.Purged, nil),
	}
}

const sampleDigest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
