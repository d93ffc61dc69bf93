package layout

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Claim returns the operations of a claim: the worker is alive, the status and the
// holds are as they were read, and no process has the lock.
func (r Root) Claim(c *eventstore.Claim, token eventstore.Token, holds int64) (ops Ops) {
	status := r.BatchStatus(domain.BatchID(c.Aggregate.ID))
	switch c.Aggregate.Kind {
	case domain.KindJob:
		status = r.JobStatus(domain.JobID(c.Aggregate.ID))
	case domain.KindQuery:
		status = r.QueryStatus(domain.QueryID(c.Aggregate.ID))
	}
	ops = make(Ops, 0, 6)
	ops.Check(r.Worker(c.Worker), Any, eventstore.ErrFenced)
	ops.Check(status, int32(token), eventstore.ErrConflict)
	ops.Check(r.Locks(), int32(holds), ErrHolds)
	ops.CreateEphemeral(r.Lock(c.Aggregate), Encode(Holder{c.Worker}), eventstore.ErrLocked)
	return ops
}

// ClaimJob returns the operations of a job's claim: also its batch is as it was read,
// so that it is not deleted, and the claim is counted.
func (r Root) ClaimJob(c *eventstore.Claim, at eventstore.Loaded[domain.Job], batch eventstore.Token, holds int64) Ops {
	ops := r.Claim(c, at.Token, holds)
	ops.Check(r.BatchStatus(at.State.Configuration.BatchID), int32(batch), ErrBatch)
	ops.Set(r.Claims(at.State.ID), Encode(ClaimCount{Version: at.State.Version, Claims: c.Attempts}), Any, eventstore.ErrConflict)
	return ops
}

// ClaimQuery returns the operations of a query's claim, which is counted.
func (r Root) ClaimQuery(c *eventstore.Claim, token eventstore.Token, holds int64) Ops {
	ops := r.Claim(c, token, holds)
	ops.Set(r.Query(domain.QueryID(c.Aggregate.ID)), Encode(c.Attempts), Any, eventstore.ErrConflict)
	return ops
}

// Confirm returns the proof that a claim is held.
func (r Root) Confirm(c *eventstore.Claim) (ops Ops) {
	ops.Check(r.Worker(c.Worker), Any, eventstore.ErrFenced)
	ops.Check(r.Lock(c.Aggregate), Any, eventstore.ErrFenced)
	return ops
}

// Release returns the operations that end a claim without a transition. The count of
// claims is reset, because the worker has not died.
func (r Root) Release(c *eventstore.Claim) Ops {
	ops := r.Unlock(c)
	switch c.Aggregate.Kind {
	case domain.KindJob:
		ops.Set(r.Claims(domain.JobID(c.Aggregate.ID)), Encode(ClaimCount{}), Any, eventstore.ErrConflict)
	case domain.KindQuery:
		ops.Set(r.Query(domain.QueryID(c.Aggregate.ID)), Encode(0), Any, eventstore.ErrConflict)
	}
	return ops
}

// Unlock is [Root.Release] for what has no count of claims any more: a job that was
// cleaned up while its claim was kept.
func (r Root) Unlock(c *eventstore.Claim) (ops Ops) {
	ops.Check(r.Worker(c.Worker), Any, eventstore.ErrFenced)
	ops.Delete(r.Lock(c.Aggregate), Any, eventstore.ErrFenced)
	return ops
}

// Lead returns the operations by which a worker takes a lead, Resign those by which
// it ends it.
func (r Root) Lead(name, worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	ops.CreateEphemeral(r.Leader(name), Encode(Holder{worker}), eventstore.ErrLocked)
	return ops
}

// Resign is the inverse of Lead.
func (r Root) Resign(name, worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	ops.Delete(r.Leader(name), Any, eventstore.ErrFenced)
	return ops
}

// TakePermit returns the operations by which a worker takes one of the permits for a
// host or submitter, ReturnPermit those by which it ends it.
func (r Root) TakePermit(of eventstore.PermitOf, n int, worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	data := Permit{Holder: Holder{worker}, Host: of.Name}
	if of.Submitter {
		data.Host, data.Submitter = "", of.Name
	}
	ops.CreateEphemeral(r.Permit(of, n), Encode(data), eventstore.ErrLocked)
	return ops
}

// ReturnPermit is the inverse of TakePermit.
func (r Root) ReturnPermit(of eventstore.PermitOf, n int, worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	ops.Delete(r.Permit(of, n), Any, eventstore.ErrFenced)
	return ops
}

// LeadSpace returns the operations that begin a term of provisioning: each lead
// writes /space once, so that what an earlier one promises late is refused.
func (r Root) LeadSpace(worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	ops.Set(r.Space(), nil, Any, eventstore.ErrFenced)
	return ops
}

// PromiseFile returns the operations by which a worker promises working space to a file, and
// EndFilePromise those by which it ends that.
func (r Root) PromiseFile(p eventstore.FilePromise, worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	ops.CreateEphemeral(r.FilePromise(p.File), Encode(FilePromise{Holder{worker}, p.Bytes, p.Profile}), eventstore.ErrLocked)
	return ops
}

// EndFilePromise is the inverse of PromiseFile.
func (r Root) EndFilePromise(h domain.FileHash, worker string) (ops Ops) {
	ops.Check(r.Worker(worker), Any, eventstore.ErrFenced)
	ops.Delete(r.FilePromise(h), Any, eventstore.ErrFenced)
	return ops
}

// NextBucket returns the operations that close a bucket of the outbox and open the
// next.
func (r Root) NextBucket(shard int, bucket int64) (ops Ops) {
	ops.Set(r.Bucket(shard, bucket), []byte("closed"), 0, eventstore.ErrConflict)
	ops.Create(r.Bucket(shard, bucket+1), nil, eventstore.ErrConflict)
	ops.Set(r.Shard(shard), Encode(bucket+1), Any, eventstore.ErrConflict)
	return ops
}

// RemoveJob returns the operations that remove a job of a cleaned batch; compact says that
// its status holds all of it.
func (r Root) RemoveJob(j domain.Job, compact bool) (ops Ops) {
	ops.change(r.JobNodes(j, compact), nil, "", 0)
	return ops
}

// RemoveBatch returns the operations that remove the last nodes of a batch, without
// which it cannot be read.
func (r Root) RemoveBatch(id domain.BatchID) (ops Ops) {
	for _, path := range []string{r.Submission(id), r.BatchStatus(id), r.Batch(id)} {
		ops.Delete(path, Any, eventstore.ErrConflict)
	}
	return ops
}

// RemoveNodes returns the operations that delete nodes, in this order.
func RemoveNodes(paths []string) (ops Ops) {
	for _, path := range paths {
		ops.Delete(path, Any, eventstore.ErrConflict)
	}
	return ops
}

// MakeNodes returns the operations that create empty nodes, in this order.
func MakeNodes(paths []string) (ops Ops) {
	for _, path := range paths {
		ops.Create(path, nil, eventstore.ErrConflict)
	}
	return ops
}

// CreateNodes adds the creation of nodes.
func (o *Ops) CreateNodes(nodes []Node) { o.change(nil, nodes, "", 0) }
