package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Profile is the profile of a Kit's submissions and the name of its collection.
const Profile = "maps"

// Kit drives batches and jobs through a store, as operator or under a claim. What
// the store refuses ends the test.
type Kit struct {
	testing.TB
	Store   Store
	Handler *eventstore.Handler
}

// NewKit returns a kit over a value that implements the ports of [Store]. The collection of a profile has its name.
func NewKit(t testing.TB, s any) *Kit {
	return &Kit{TB: t, Store: StoreOf(s), Handler: NewHandler(StoreOf(s))}
}

// NewHandler returns a handler over a live state, and its catalog if it has one, with the system's clock and random command ids.
func NewHandler(l eventstore.Live) *eventstore.Handler {
	catalog, _ := l.(eventstore.Catalog)
	profiles, _ := l.(eventstore.Profiles)
	entries, _ := l.(eventstore.Entries)
	leases, _ := l.(eventstore.Leases)
	return &eventstore.Handler{Live: l, Catalog: catalog, Profiles: profiles, Entries: entries, Leases: leases, Clock: time.Now, NewID: rand.Text,
		Collection: func(profile string) string { return profile }}
}

// Operator is an order without a claim.
func Operator() eventstore.Meta { return eventstore.Meta{Actor: domain.UserActor("ana")} }

// Under is an order of a daemon that ends its claim; keep makes it go on.
func Under(c *eventstore.Claim, keep bool) eventstore.Meta {
	return eventstore.Meta{Actor: domain.DaemonActor("test"), Claim: c, KeepClaim: keep}
}

func must[T any](k *Kit) func(T, error) T {
	return func(v T, err error) T {
		k.Helper()
		if err != nil {
			k.Fatal(err)
		}
		return v
	}
}

// DoBatch decides and commits a command about a batch.
func (k *Kit) DoBatch(id domain.BatchID, cmd domain.BatchCommand, o eventstore.Meta) eventstore.Result[domain.Batch] {
	k.Helper()
	return must[eventstore.Result[domain.Batch]](k)(k.Handler.Batch(k.Context(), id, cmd, o))
}

// DoJob decides and commits a command about a job.
func (k *Kit) DoJob(id domain.JobID, cmd domain.JobCommand, o eventstore.Meta) eventstore.Result[domain.Job] {
	k.Helper()
	return must[eventstore.Result[domain.Job]](k)(k.Handler.Job(k.Context(), id, cmd, o))
}

// Hold sets a hold or pause, with by "" it releases it.
func (k *Kit) Hold(kind domain.SettingKind, name, by string) {
	k.Helper()
	var hold *domain.Hold
	if by != "" {
		hold = &domain.Hold{By: by, When: domain.At(time.Now()), Why: "a test"}
	}
	must[eventstore.Result[domain.Setting]](k)(k.Handler.Hold(k.Context(), kind, name, hold, "a test", Operator()))
}

// Batch loads a batch.
func (k *Kit) Batch(id domain.BatchID) eventstore.Loaded[domain.Batch] {
	k.Helper()
	return must[eventstore.Loaded[domain.Batch]](k)(k.Store.Batch(k.Context(), id))
}

// Job loads a job.
func (k *Kit) Job(id domain.JobID) eventstore.Loaded[domain.Job] {
	k.Helper()
	return must[eventstore.Loaded[domain.Job]](k)(k.Store.Job(k.Context(), id))
}

// Submission is what Submit deposits.
func Submission() domain.Submission {
	return domain.Submission{ProfileName: Profile, Submitter: "depositor", PayloadURL: "http://files.test/batch.checkm",
		ErcWhat: "Tide tables", ErcWho: "Ana", ErcWhen: "1923", Type: domain.TypeBatchManifest, SubmissionMode: "add"}
}

// Submit makes a pending batch (B1).
func (k *Kit) Submit() domain.BatchID { return k.SubmitBy(Submission().Submitter) }

// SubmitBy is Submit by a submitter.
func (k *Kit) SubmitBy(submitter string) domain.BatchID {
	k.Helper()
	id := must[domain.BatchID](k)(k.Store.ReserveBatchID(k.Context()))
	sub := Submission()
	sub.Submitter = submitter
	k.DoBatch(id, domain.SubmitBatch{Submission: sub}, Operator())
	return id
}

// List settles that a batch has so many jobs, under its claim, and reserves
// their ids.
func (k *Kit) List(c *eventstore.Claim, rows int) domain.Listing {
	k.Helper()
	first := must[domain.JobID](k)(k.Store.ReserveJobIDs(k.Context(), rows))
	l := domain.Listing{Rows: rows, FirstJID: first, ManifestURL: "http://files.test/copy", ManifestSHA256: "00"}
	k.DoBatch(domain.BatchID(c.Aggregate.ID), domain.ListBatch{Listing: l}, Under(c, true))
	return l
}

// Create returns the command that makes a batch's job in a row.
func Create(batch domain.BatchID, row, priority int) domain.CreateJob {
	return domain.CreateJob{Priority: priority, Identifiers: domain.Identifiers{LocalID: []string{"tide-1"}},
		Configuration: domain.Configuration{BatchID: batch, ProfileName: Profile, Submitter: "depositor",
			PayloadURL: "http://files.test/object.checkm", PayloadType: domain.TypeObjectManifest, SubmissionMode: "add", Row: row},
		Metadata: domain.Metadata{ErcWhat: "Tide table"}}
}

// Make makes the next jobs of a listed batch, one for each priority.
func (k *Kit) Make(c *eventstore.Claim, l domain.Listing, next int, priorities ...int) []domain.JobID {
	k.Helper()
	var cmds []domain.CreateJob
	var ids []domain.JobID
	batch := k.Batch(domain.BatchID(c.Aggregate.ID)).State
	for i, p := range priorities {
		cmd := Create(batch.ID, next+i, p)
		cmd.Configuration.Submitter = batch.Submission.Submitter
		cmds = append(cmds, cmd)
		ids = append(ids, l.FirstJID.Plus(next+i))
	}
	for part := range slices.Chunk(cmds, eventstore.MaxJobsPerCommit) {
		must[[]domain.Recorded](k)(k.Handler.CreateJobs(k.Context(), l.FirstJID, next, part, Under(c, true)))
		next += len(part)
	}
	return ids
}

// Started makes a batch in processing with one pending job for each priority.
func (k *Kit) Started(priorities ...int) (domain.BatchID, []domain.JobID) {
	k.Helper()
	return k.StartedBy(Submission().Submitter, priorities...)
}

// StartedBy is Started by a submitter.
func (k *Kit) StartedBy(submitter string, priorities ...int) (domain.BatchID, []domain.JobID) {
	k.Helper()
	id := k.SubmitBy(submitter)
	c, _, err := k.Store.ClaimBatch(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	ids := k.Make(c, k.List(c, len(priorities)), 0, priorities...)
	k.DoBatch(id, domain.StartBatch{}, Under(c, false))
	return id, ids
}

// Step returns the command with which a job's state is left for the next one.
func Step(j domain.Job) domain.JobCommand {
	switch j.State {
	case domain.JobPending:
		return domain.AcceptJob{}
	case domain.JobEstimating:
		return domain.EstimateJob{Files: 2, Bytes: 20, Priority: j.Priority}
	case domain.JobProvisioning:
		return domain.ProvisionJob{}
	case domain.JobDownloading:
		return domain.DownloadJob{Files: 2, Bytes: 21, Priority: j.Priority}
	case domain.JobProcessing:
		return domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/fk4", Version: 1, ManifestKey: "k", Files: 2, Bytes: 21}}
	case domain.JobRecording:
		return domain.RecordJob{}
	case domain.JobNotify:
		return domain.CompleteJob{Callback: "none"}
	default:
		return nil
	}
}

// Broken is the reason with which Fail fails jobs.
func Broken() domain.Reason {
	return domain.Reason{Class: domain.ClassContent, Code: domain.CodeDigestMismatch, Message: "a digest differs", Attempt: 1, Worker: "w"}
}

// Walk moves a job on until it is in a state of the workflow.
func (k *Kit) Walk(id domain.JobID, to domain.JobState) domain.Job {
	k.Helper()
	j := k.Job(id).State
	for j.State != to {
		cmd := Step(j)
		if cmd == nil {
			k.Fatalf("%s is %s: it does not come to %s from there", id, j.State, to)
		}
		j = k.DoJob(id, cmd, Operator()).State
	}
	return j
}

// Fail walks a job to a state and fails it there.
func (k *Kit) Fail(id domain.JobID, in domain.JobState) domain.Job {
	k.Helper()
	k.Walk(id, in)
	return k.DoJob(id, domain.FailJob{Reason: Broken()}, Operator()).State
}

// Reported takes a batch without processing jobs through its report (B5 to B7).
func (k *Kit) Reported(id domain.BatchID) domain.Batch {
	k.Helper()
	k.DoBatch(id, domain.BeginReport{}, Operator())
	return k.DoBatch(id, domain.FinishReport{Report: k.report(id)}, Operator()).State
}

func (k *Kit) report(id domain.BatchID) domain.Report {
	k.Helper()
	ctx := k.Context()
	good := must[[]domain.JobID](k)(k.Store.BatchJobs(ctx, id, domain.SubCompleted))
	bad := must[[]domain.JobID](k)(k.Store.BatchJobs(ctx, id, domain.SubFailed))
	return domain.NewReport(good, bad, k.Batch(id).State.Report, domain.At(time.Now()))
}

// Outbox reads everything that waits in the outbox, shard by shard.
func (k *Kit) Outbox() [][]eventstore.Item {
	k.Helper()
	all := make([][]eventstore.Item, k.Store.Shards())
	for n := range all {
		all[n] = must[[]eventstore.Item](k)(k.Store.Read(k.Context(), n, eventstore.Offset{}, 100_000))
	}
	return all
}

// Events counts the events in the outbox that are about an aggregate.
func (k *Kit) Events(a domain.Aggregate) (events []domain.Recorded) {
	k.Helper()
	for _, items := range k.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				if e.Aggregate == a {
					events = append(events, e)
				}
			}
		}
	}
	return events
}

// WantErr fails the test unless err is the wanted one.
func (k *Kit) WantErr(err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Fatalf("got %v, want %v", err, want)
	}
}

// WantRefused fails the test unless err is a refusal of the rules with the code.
func (k *Kit) WantRefused(err error, code domain.Code) {
	k.Helper()
	var r *domain.Refused
	if !errors.As(err, &r) || r.Code != code {
		k.Fatalf("got %v, want a refusal with code %s", err, code)
	}
}

// soon bounds how long a test waits for what must not happen.
const soon = 300 * time.Millisecond

// never fails the test if f succeeds within a short time.
func (k *Kit) never(what string, f func(ctx context.Context) error) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), soon)
	defer cancel()
	switch err := f(ctx); {
	case err == nil:
		k.Fatalf("%s", what)
	case !errors.Is(err, context.DeadlineExceeded):
		k.Fatalf("%s: got %v, want the end of the context", what, err)
	}
}
