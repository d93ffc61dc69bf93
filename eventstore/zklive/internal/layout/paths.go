package layout

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// Root is the path of the node that contains the whole tree: "", or a path that starts
// with one slash and ends with none.
type Root string

// At returns the path of a name below the root.
func (r Root) At(name string) string { return string(r) + name }

// Name returns the name below the root of a path.
func (r Root) Name(path string) string { return strings.TrimPrefix(path, string(r)) }

// Dirs returns the directories that every tree has, parents first.
func (r Root) Dirs() []string {
	var dirs []string
	for i := range r {
		if i > 0 && r[i] == '/' {
			dirs = append(dirs, string(r[:i]))
		}
	}
	if r != "" {
		dirs = append(dirs, string(r))
	}
	for _, d := range []string{"/batches", "/jobs", "/jobs/states", "/outbox", "/workers", "/leaders", "/hosts", "/ids",
		"/space", "/queries", "/locks", "/locks/collections", "/locks/queue", "/config", "/config/versions", "/config/profiles", "/config/datasets", "/config/discoveries"} {
		dirs = append(dirs, r.At(d))
	}
	for _, state := range domain.JobStates {
		dirs = append(dirs, r.Queue(state))
	}
	dirs = append(dirs, r.queueSettingDirs()...)
	dirs = append(append(dirs, r.At("/compute")), r.EntryDirs()...)
	return append(append(dirs, r.ringDirs()...), r.Objects())
}

// Objects returns the path of the directory of the jobs of objects.
func (r Root) Objects() string { return r.At("/objects") }

// ObjectDirs returns the directories of object entries, which every tree has. They fit
// into one multi.
func (r Root) ObjectDirs() []string {
	dirs := make([]string, 256)
	for i := range dirs {
		dirs[i] = fmt.Sprintf("%s/%02x", r.Objects(), i)
	}
	return dirs
}

// ObjectDir returns the directory of the entries of an object: those whose keys begin
// with the same two digits share one, so that no directory comes and goes with an
// object.
func (r Root) ObjectDir(key domain.ObjectKey) string { return r.At("/objects/" + string(key[:2])) }

// ObjectEntry returns the path of the entry of a job among the jobs of an object.
func (r Root) ObjectEntry(key domain.ObjectKey, id domain.JobID) string {
	return string(r) + "/objects/" + string(key[:2]) + "/" + string(key) + "-" + string(id)
}

// ParseObjectEntry returns the key and the job that the name of an object entry holds.
func ParseObjectEntry(name string) (key domain.ObjectKey, id domain.JobID, ok bool) {
	k, j, _ := strings.Cut(name, "-")
	key, ok = domain.ParseObjectKey(k)
	id, err := domain.ParseJobID(j)
	return key, id, ok && err == nil
}

// Documented returns the paths of the directories of every tree and of the numbers, marks
// and values in /config and /ids, some of which are there only at times.
func (r Root) Documented() []string {
	all := append(r.Dirs(), r.Epoch(), r.HighWater(), r.Shards(), r.Format(), r.Timeouts(), r.Restoring(), r.RestoringLog(), r.IDs("bid"), r.IDs("jid"), r.IDs("query"), r.IDs("entry"))
	for _, queue := range domain.DepositQueues {
		all = append(all, r.QueueDefaults(queue))
	}
	return append(all, r.rings()...)
}

// Config returns the path of the directory of what holds for the whole tree.
func (r Root) Config() string { return r.At("/config") }

// NextIDs returns the path of the directory of the next numbers of ids.
func (r Root) NextIDs() string { return r.At("/ids") }

// Leaders returns the path of the directory of leads.
func (r Root) Leaders() string { return r.At("/leaders") }

// Batches returns the path of the directory of all batches.
func (r Root) Batches() string { return r.At("/batches") }

// Batch returns the path of the node of a batch.
func (r Root) Batch(id domain.BatchID) string { return r.At("/batches/" + string(id)) }

// Submission returns the path of the submission of a batch.
func (r Root) Submission(id domain.BatchID) string { return r.Batch(id) + "/submission" }

// BatchStatus returns the path of the status of a batch.
func (r Root) BatchStatus(id domain.BatchID) string {
	return r.At("/batches/" + string(id) + "/status")
}

// Progress returns the path of the progress of creating a batch's jobs.
func (r Root) Progress(id domain.BatchID) string { return r.Batch(id) + "/progress" }

// StatusReport returns the path of the report of a batch.
func (r Root) StatusReport(id domain.BatchID) string { return r.Batch(id) + "/status-report" }

// States returns the path of the directory of a batch's references to jobs.
func (r Root) States(id domain.BatchID) string { return r.Batch(id) + "/states" }

// Sub returns the path of the directory of one sub-state of a batch.
func (r Root) Sub(id domain.BatchID, s domain.Sub) string { return r.States(id) + "/" + string(s) }

// Ref returns the path of a batch's reference to a job in a sub-state.
func (r Root) Ref(id domain.BatchID, s domain.Sub, j domain.JobID) string {
	return string(r) + "/batches/" + string(id) + "/states/" + string(s) + "/" + string(j)
}

// Jobs returns the path of the directory of all jobs.
func (r Root) Jobs() string { return r.At("/jobs") }

// JobStates returns the path of the directory of the queues.
func (r Root) JobStates() string { return r.At("/jobs/states") }

// Job returns the path of the node of a job.
func (r Root) Job(id domain.JobID) string { return r.At("/jobs/" + string(id)) }

// JobStatus returns the path of the status of a job.
func (r Root) JobStatus(id domain.JobID) string { return r.At("/jobs/" + string(id) + "/status") }

// Claims returns the path of the count of a job's claims.
func (r Root) Claims(id domain.JobID) string { return r.At("/jobs/" + string(id) + "/claims") }

// Queue returns the path of the queue of a state.
func (r Root) Queue(s domain.JobState) string { return r.At("/jobs/states/" + string(s)) }

// Space returns the path of the directory of promised working space.
func (r Root) Space() string { return r.At("/space") }

// Promise returns the path of the promise of working space to a job.
func (r Root) Promise(id domain.JobID) string { return r.At("/space/" + string(id)) }

// filePrefix begins the names of promises to files.
const filePrefix = "file-"

// FilePromise returns the path of the promise of working space to a file without a job.
func (r Root) FilePromise(h domain.FileHash) string { return r.At("/space/" + filePrefix + string(h)) }

// ParseFilePromise returns the file of the name of a promise.
func ParseFilePromise(name string) (domain.FileHash, bool) {
	hash, is := strings.CutPrefix(name, filePrefix)
	if !is {
		return "", false
	}
	h, err := domain.ParseFileHash(hash)
	return h, err == nil
}

// QueueEntry returns the path of a job's queue entry, "" when it has none.
func (r Root) QueueEntry(j domain.Job) string {
	if entry := j.QueueEntry(); entry != "" {
		return string(r) + "/jobs/states/" + string(j.State) + "/" + entry
	}
	return ""
}

// Lock returns the path of the lock of a batch, query or job, or of the claim of an entry.
func (r Root) Lock(a domain.Aggregate) string {
	switch a.Kind {
	case domain.KindBatch:
		return r.At("/batches/" + a.ID + "/lock")
	case domain.KindQuery:
		return r.Query(domain.QueryID(a.ID)) + "/lock"
	case domain.KindEntry:
		return r.EntryClaims() + "/" + EntrySequence(compute.ID(a.ID))
	}
	return r.At("/jobs/" + a.ID + "/lock")
}

// Workers returns the path of the directory of workers.
func (r Root) Workers() string { return r.At("/workers") }

// Worker returns the path of the node of a worker, which fences its writes.
func (r Root) Worker(id string) string { return r.At("/workers/" + id) }

// Leader returns the path of the node of a lead.
func (r Root) Leader(name string) string { return r.Leaders() + "/" + name }

// Hosts returns the path of the directory of permits for hosts and submitters.
func (r Root) Hosts() string { return r.At("/hosts") }

// OfSubmitters is how the names of permits for submitters begin.
const OfSubmitters = "submitter-"

// Permit returns the path of one of the numbered permits for a host or a submitter.
func (r Root) Permit(of eventstore.PermitOf, n int) string {
	kind := ""
	if of.Submitter {
		kind = OfSubmitters
	}
	return r.At(fmt.Sprintf("/hosts/%s%x-%d", kind, sha256.Sum256([]byte(of.Name)), n))
}

// IDs returns the path of the next number of a kind of id.
func (r Root) IDs(kind string) string { return r.At("/ids/" + kind) }

// Epoch returns the path of the epoch of the tree.
func (r Root) Epoch() string { return r.At("/config/epoch") }

// HighWater returns the path of the round of the last high-water mark.
func (r Root) HighWater() string { return r.At("/config/high-water") }

// Shards returns the path of the number of shards of the outbox.
func (r Root) Shards() string { return r.At("/config/shards") }

// Format returns the path of the format of the tree, an eventstore.Format.
func (r Root) Format() string { return r.At("/config/format") }

// Versions returns the path of the directory of the versions of settings.
func (r Root) Versions() string { return r.At("/config/versions") }

// Locks returns the path of the node whose version shows whether holds have changed.
func (r Root) Locks() string { return r.At("/locks") }

// Restoring returns the path of the node that exists while the tree is being restored;
// meanwhile no other process may use the tree.
func (r Root) Restoring() string { return r.At("/config/restoring") }

// RestoringLog returns the path of the node that exists while the log is being
// restored.
func (r Root) RestoringLog() string { return r.At("/config/restoring-log") }

// Holds returns the path of the directory of one kind of hold.
func (r Root) Holds(k domain.SettingKind) string {
	if k == domain.HoldQueue {
		return r.At("/locks/queue")
	}
	return r.At("/locks/collections")
}

// Hold returns the path of a hold or a pause.
func (r Root) Hold(k domain.SettingKind, name string) string { return r.Holds(k) + "/" + name }

// Timeouts returns the path of the timeouts of attempts at files, a domain.Timeouts.
func (r Root) Timeouts() string { return r.At("/config/timeouts") }

// Profiles returns the path of the directory of the profiles that were given a content in
// place of their files.
func (r Root) Profiles() string { return r.Directory(domain.SettingProfile) }

// Directory returns the path of the directory of the settings of a kind that has one of its own.
func (r Root) Directory(k domain.SettingKind) string {
	switch k {
	case domain.SettingDataset:
		return r.At("/config/datasets")
	case domain.SettingDiscovery:
		return r.At("/config/discoveries")
	}
	return r.At("/config/profiles")
}

// SettingValue returns the path of the value of a setting, "" = its kind has none.
func (r Root) SettingValue(k domain.SettingKind, name string) string {
	switch {
	case k.Stops():
		return r.Hold(k, name)
	case k == domain.SettingTimeouts && name == domain.TimeoutsFiles:
		return r.Timeouts()
	case k.OfQueue():
		return r.queueSettingValue(k, name)
	case k.InDirectory():
		return r.Directory(k) + "/" + name
	}
	return ""
}

// SettingVersion returns the path of the version of a setting.
func (r Root) SettingVersion(a domain.Aggregate) string { return r.Versions() + "/" + a.ID }

// Outbox returns the path of the directory of the outbox.
func (r Root) Outbox() string { return r.At("/outbox") }

// Shard returns the path of the node of a shard; its data is the number of the bucket
// that takes new entries.
func (r Root) Shard(n int) string { return r.At(fmt.Sprintf("/outbox/%02d", n)) }

// Mark returns the path of the mark of a shard: all entries up to it are sent.
func (r Root) Mark(n int) string { return r.Shard(n) + "/mark" }

// Bucket returns the path of a bucket of a shard.
func (r Root) Bucket(n int, b int64) string { return r.Shard(n) + fmt.Sprintf("/b%010d", b) }

// OutboxItem returns the path of the node at an offset of a shard.
func (r Root) OutboxItem(n int, o eventstore.Offset) string {
	return r.Bucket(n, o.Bucket) + fmt.Sprintf("/e-%010d", o.Seq)
}

// ParseBucket returns the number of a bucket from its name; ok is false for another
// child of a shard.
func ParseBucket(name string) (b int64, ok bool) {
	digits, ok := strings.CutPrefix(name, "b")
	b, err := strconv.ParseInt(digits, 10, 64)
	return b, ok && err == nil
}

// ParseOutboxItem returns the sequence of an outbox item from its name or path.
func ParseOutboxItem(name string) (int64, error) {
	i := strings.LastIndex(name, "-")
	if i < 0 {
		return 0, fmt.Errorf("%q has no sequence", name)
	}
	return strconv.ParseInt(name[i+1:], 10, 64)
}

// ShardOf spreads batches, with their jobs, and settings over the shards of the
// outbox.
func ShardOf(c eventstore.Change, shards int) int {
	if c.Job != nil {
		return ShardOfKey(string(c.Job.To.Configuration.BatchID), shards)
	}
	return ShardOfKey(c.Aggregate().ID, shards)
}

// ShardOfKey returns the shard of a batch id, or of a setting's id.
func ShardOfKey(key string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(shards))
}
