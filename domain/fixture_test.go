package domain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

var (
	theBatch = domain.NewBatchID(7)
	theJob   = domain.NewJobID(42)
	noon     = domain.At(time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))
	onHold   = domain.Hold{By: "ana", When: noon, Why: "new terms"}
	broken   = domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "line 3 is not a row"}
	waits    = domain.Reason{Class: domain.ClassWait, Code: domain.CodeSpaceShort, Message: "no space"}
)

// batchIn returns a batch of two jobs that all exist, in a state.
func batchIn(s domain.BatchState) domain.Batch {
	if s == domain.BatchNone {
		return domain.Batch{ID: theBatch}
	}
	b := domain.Batch{ID: theBatch, Version: 3, State: s, Modified: noon, CommandID: "before"}
	if s != domain.BatchHeld {
		b.Listing, b.NextRow = &domain.Listing{Rows: 2, FirstJID: theJob}, 2
	}
	return b
}

// jobIn returns a job in a state that it reached without a failure before.
func jobIn(s domain.JobState) domain.Job {
	if s == domain.JobNone {
		return domain.Job{ID: theJob}
	}
	last := map[domain.JobState]domain.JobState{
		domain.JobProvisioning: domain.JobEstimating, domain.JobDownloading: domain.JobProvisioning,
		domain.JobProcessing: domain.JobDownloading, domain.JobRecording: domain.JobProcessing,
		domain.JobNotify: domain.JobRecording, domain.JobCompleted: domain.JobNotify,
		domain.JobFailed: domain.JobProvisioning,
	}
	return domain.Job{ID: theJob, Version: 5, State: s, LastSuccessful: last[s], RetryCount: 2, Priority: 10,
		SpaceNeeded: 100, Configuration: domain.Configuration{BatchID: theBatch}, Modified: noon, CommandID: "before"}
}

func recorded(e domain.Event) domain.Recorded {
	return domain.Recorded{Event: e, Time: noon, BatchID: theBatch, Actor: domain.UserActor("ana"), CommandID: "now"}
}

// refusal fails the test unless err is a refusal with the code.
func refusal(t *testing.T, err error, code domain.Code) *domain.Refused {
	t.Helper()
	var r *domain.Refused
	if !errors.As(err, &r) {
		t.Fatalf("want a refusal with code %s, got %v", code, err)
	}
	if r.Code != code {
		t.Fatalf("want code %s, got %s: %v", code, r.Code, r)
	}
	return r
}

func batchStates() []domain.BatchState {
	return append([]domain.BatchState{domain.BatchNone}, domain.BatchStates...)
}

func jobStates() []domain.JobState {
	return append([]domain.JobState{domain.JobNone, domain.JobDeleted}, domain.JobStates...)
}
