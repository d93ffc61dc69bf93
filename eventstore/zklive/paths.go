package zklive

import (
	"fmt"
	"hash/fnv"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// paths builds node names below the root; root is "" or starts with a slash.
type paths string

func (p paths) at(s string) string { return string(p) + s }

func (p paths) batch(id domain.BatchID) string { return p.at("/batches/" + string(id)) }
func (p paths) batchStatus(id domain.BatchID) string {
	return string(p) + "/batches/" + string(id) + "/status"
}
func (p paths) batchLock(id domain.BatchID) string    { return p.batch(id) + "/lock" }
func (p paths) progress(id domain.BatchID) string     { return p.batch(id) + "/progress" }
func (p paths) statusReport(id domain.BatchID) string { return p.batch(id) + "/status-report" }
func (p paths) states(id domain.BatchID) string       { return p.batch(id) + "/states" }
func (p paths) sub(id domain.BatchID, s domain.Sub) string {
	return p.states(id) + "/" + string(s)
}
func (p paths) ref(id domain.BatchID, s domain.Sub, j domain.JobID) string {
	return string(p) + "/batches/" + string(id) + "/states/" + string(s) + "/" + string(j) // at one go: made for each move
}

func (p paths) job(id domain.JobID) string { return string(p) + "/jobs/" + string(id) }
func (p paths) jobStatus(id domain.JobID) string {
	return string(p) + "/jobs/" + string(id) + "/status"
}
func (p paths) jobLock(id domain.JobID) string { return string(p) + "/jobs/" + string(id) + "/lock" }
func (p paths) claims(id domain.JobID) string  { return string(p) + "/jobs/" + string(id) + "/claims" }
func (p paths) queue(s domain.JobState) string { return string(p) + "/jobs/states/" + string(s) }

func (p paths) worker(id string) string   { return string(p) + "/workers/" + id }
func (p paths) leader(name string) string { return p.at("/leaders/" + name) }
func (p paths) space() string             { return string(p) + "/space" }
func (p paths) promise(id domain.JobID) string {
	return string(p) + "/space/" + string(id)
}
func (p paths) ids(name string) string { return p.at("/ids/" + name) }
func (p paths) locks() string          { return p.at("/locks") }
func (p paths) epoch() string          { return p.at("/config/epoch") }

func (p paths) holdDir(k domain.HoldKind) string {
	if k == domain.HoldQueue {
		return p.at("/locks/queue")
	}
	return p.at("/locks/collections")
}
func (p paths) hold(k domain.HoldKind, name string) string { return p.holdDir(k) + "/" + name }
func (p paths) settingVersion(a domain.Aggregate) string {
	return p.at("/config/versions/" + a.ID)
}

func (p paths) shard(n int) string             { return p.at(fmt.Sprintf("/outbox/%02d", n)) }
func (p paths) mark(n int) string              { return p.shard(n) + "/mark" }
func (p paths) bucket(n int, b int64) string   { return p.shard(n) + "/" + bucketName(b) }
func (p paths) entry(n int, b, s int64) string { return p.bucket(n, b) + fmt.Sprintf("/e-%010d", s) }
func bucketName(b int64) string                { return fmt.Sprintf("b%010d", b) }
func (p paths) lock(a domain.Aggregate) string {
	if a.Kind == domain.KindBatch {
		return p.batchLock(domain.BatchID(a.ID))
	}
	return p.jobLock(domain.JobID(a.ID))
}

// shardOf spreads batches (with their jobs) and settings over the shards.
func shardOf(c eventstore.Change, shards int) int {
	key := c.Aggregate().ID
	if c.Job != nil {
		key = string(c.Job.To.Configuration.BatchID)
	}
	return shardOfKey(key, shards)
}

func shardOfKey(key string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(shards))
}
