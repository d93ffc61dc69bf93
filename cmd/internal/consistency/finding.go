package consistency

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// Severity says who can resolve a finding.
type Severity string

// The severities.
const (
	Repairable Severity = "repairable" // Repair can
	Person     Severity = "person"     // a person has to look at it
)

// Where findings are made.
const (
	InZooKeeper = "zookeeper"
	InPostgres  = "postgres"
	InLog       = "log"
	InWorkDir   = "work_dir"
	InInventory = "inventory"
	InStore     = "store"
)

// Finding is one difference found by Verify.
type Finding struct {
	Code     domain.Code `json:"code"`
	Severity Severity    `json:"severity"`
	In       string      `json:"in"`
	Subject  string      `json:"subject"` // the aggregate, such as job/jid0000000042, "" = it belongs to none
	Where    string      `json:"where"`   // node, table, sequence in the log, or directory
	Want     string      `json:"want"`    // in JSON or in words
	Got      string      `json:"got"`
	Remedy   string      `json:"remedy"`

	repair func(context.Context) error // repairs what lies outside of the live state
}

// String returns the finding as one line.
func (f Finding) String() string {
	subject := f.Subject
	if subject == "" {
		subject = f.Where
	} else if f.Where != "" {
		subject += " (" + f.Where + ")"
	}
	return fmt.Sprintf("%s: %s: %s has %s, want %s", f.Code, subject, f.In, f.Got, f.Want)
}

// absent stands for a missing thing in findings.
const absent = "nothing"

// Codes of findings, stable for programs.
const (
	JobMissing        domain.Code = "job_missing"
	BatchMissing      domain.Code = "batch_missing"
	QueryMissing      domain.Code = "query_missing"
	StatusMissing     domain.Code = "status_missing"
	StatusWrong       domain.Code = "status_wrong"
	NodeMissing       domain.Code = "node_missing"
	NodeWrong         domain.Code = "node_wrong"
	NodeUnknown       domain.Code = "node_unknown"
	QueueEntryMissing domain.Code = "queue_entry_missing"
	QueueEntryWrong   domain.Code = "queue_entry_wrong"
	QueueEntryOrphan  domain.Code = "queue_entry_orphan"
	ReferenceMissing  domain.Code = "reference_missing"
	ReferenceWrong    domain.Code = "reference_wrong"
	ReferenceOrphan   domain.Code = "reference_orphan"
	PromiseMissing    domain.Code = "promise_missing"
	PromiseWrong      domain.Code = "promise_wrong"
	PromiseOrphan     domain.Code = "promise_orphan"
	RowsWrong         domain.Code = "rows_wrong"

	ObjectEntryMissing domain.Code = "object_entry_missing"
	ObjectEntryOrphan  domain.Code = "object_entry_orphan"

	TicketMissing domain.Code = "ticket_missing"
	TicketOrphan  domain.Code = "ticket_orphan"
	RingWrong     domain.Code = "ring_wrong"

	EntryMissing     domain.Code = "entry_missing"
	EntryNameMissing domain.Code = "entry_name_missing"
	EntryNameWrong   domain.Code = "entry_name_wrong"
	EntryNameOrphan  domain.Code = "entry_name_orphan"
	EntryKeyMissing  domain.Code = "entry_key_missing"
	EntryKeyWrong    domain.Code = "entry_key_wrong"
	EntryKeyOrphan   domain.Code = "entry_key_orphan"
	EntryClaimWrong  domain.Code = "entry_claim_wrong"
	EntryClaimOrphan domain.Code = "entry_claim_orphan"
	AttemptOrphan    domain.Code = "attempt_orphan"

	SettingWrong     domain.Code = "setting_wrong"
	LockStale        domain.Code = "lock_stale"
	TreeBehind       domain.Code = "tree_behind"
	StrayNode        domain.Code = "stray_node"
	ForeignNode      domain.Code = "foreign_node"
	WorkOrphan       domain.Code = "work_orphan"
	NotInLog         domain.Code = "not_in_log"
	UnknownThere     domain.Code = "unknown_there"
	TreeOlder        domain.Code = "tree_older"
	LogOlder         domain.Code = "log_older"
	IDsLow           domain.Code = "ids_low"
	RecordsOlder     domain.Code = "records_older"
	StoreOlder       domain.Code = "store_older"
	DamagedUnsent    domain.Code = "damaged_unsent"
	OutboxOld        domain.Code = "outbox_old"
	HistoryBroken    domain.Code = "history_broken"
	ProjectionBehind domain.Code = "projection_behind"
	StreamChanged    domain.Code = "stream_changed"
	EventPoisoned    domain.Code = "event_poisoned"
	EventRowWrong    domain.Code = "event_row_wrong"
	RowMissing       domain.Code = "row_missing"
	RowWrong         domain.Code = "row_wrong"
	RowBehind        domain.Code = "row_behind"
	RowExtra         domain.Code = "row_extra"
	SumWrong         domain.Code = "sum_wrong"
	ViewsMissing     domain.Code = "views_missing"
	RecordsAltered   domain.Code = "records_altered"

	VersionUnrecorded  domain.Code = "version_unrecorded"
	VersionWrong       domain.Code = "version_wrong"
	FilesWrong         domain.Code = "version_files_wrong"
	ObjectWrong        domain.Code = "object_wrong"
	ReservationWrong   domain.Code = "reservation_wrong"
	IdentifierMissing  domain.Code = "identifier_missing"
	LocalIDMissing     domain.Code = "local_id_missing"
	KeyForgotten       domain.Code = "key_forgotten"
	ProfileLost        domain.Code = "profile_lost"
	ListingMissing     domain.Code = "listing_missing"
	ListingWrong       domain.Code = "listing_wrong"
	ListingUnknown     domain.Code = "listing_unknown"
	ResultMissing      domain.Code = "result_missing"
	ResultWrong        domain.Code = "result_wrong"
	ResultUnexplained  domain.Code = "result_unexplained"
	VersionUnexplained domain.Code = "version_unexplained"
	ManifestMissing    domain.Code = "manifest_missing"
	ManifestCorrupt    domain.Code = "manifest_corrupt"
	StoredMissing      domain.Code = "stored_missing"
	StoredSizeWrong    domain.Code = "stored_size_wrong"
	StoredCorrupt      domain.Code = "stored_corrupt"
	StoredUnexplained  domain.Code = "stored_unexplained"
	OCFLInventoryWrong domain.Code = "ocfl_inventory_wrong"
	ReplicaMissing     domain.Code = "replica_missing"
	ReplicaWrong       domain.Code = "replica_wrong"
	WithdrawnStored    domain.Code = "withdrawn_stored"
)

// FindingCode describes a code: where it is found, who can resolve it, what it means
// and what to do about it.
type FindingCode struct {
	Code     domain.Code
	In       string
	Severity Severity
	Means    string
	Remedy   string
}

const (
	rewrite = "`accession verify --repair` writes it again from the log"
	discard = "`accession verify --repair` removes it"
	rebuild = "`accession rebuild` rebuilds the tables from the log"
	// A rebuild stops where the tables differ, which damaged rows do.
	replace  = "`accession rebuild` rebuilds the tables from the log beside these, names those that differ and stops; `accession diff` shows the rows, and `accession rebuild --resume --accept` puts the new tables in their place"
	again    = "`accession verify --repair` makes it again from the storage manifest and the log"
	relist   = "`accession verify --repair` makes it again as the file became known by the log, and has the directory read as a whole"
	fromCopy = "`accession verify --repair` copies it from a replica that has it, as the auditor does; without one put a sound copy back into the store: what is corrupt is changed by nothing else"
	recopy   = "`accession verify --repair` copies it from the store of its profile, as the auditor does"
	// Events have the SHA-256 of a result, and nothing of what it says.
	lostResult = "the log has no results: put a copy of PostgreSQL back that has it, or have the work done again: of a file by `accession file reprocess`, of a job whose step it is by `accession job fail` and `job requeue`, any other under another key"
	lostTail   = "check whether the log lost its end; `accession restore log` restores events from the tables and the outbox"
)

// FindingCodes is the table of all codes, as the documentation shows it.
var FindingCodes = []FindingCode{
	{JobMissing, InZooKeeper, Repairable, "a job has no node at all", rewrite},
	{BatchMissing, InZooKeeper, Repairable, "a batch has no node at all", rewrite},
	{QueryMissing, InZooKeeper, Repairable, "a query that has not ended has no node at all", rewrite},
	{StatusMissing, InZooKeeper, Repairable, "the status of a batch, job, query or entry of the compute queue is missing", rewrite},
	{StatusWrong, InZooKeeper, Repairable, "the status of a batch, job, query or entry of the compute queue differs from its history, or cannot be read", rewrite},
	{NodeMissing, InZooKeeper, Repairable, "another node of a batch, job or query is missing", rewrite},
	{NodeWrong, InZooKeeper, Repairable, "another node of a batch, job or query differs from its history", rewrite},
	{NodeUnknown, InZooKeeper, Repairable, "a batch, job, query or entry of the compute queue has a node that none has", discard},
	{QueueEntryMissing, InZooKeeper, Repairable, "a job is not in the queue of its state and priority", rewrite},
	{QueueEntryWrong, InZooKeeper, Repairable, "a job is in a queue other than that of its state and priority", discard},
	{QueueEntryOrphan, InZooKeeper, Repairable, "a queue entry has no job", discard},
	{ReferenceMissing, InZooKeeper, Repairable, "a job is not in the sub-state of its batch that its state implies", rewrite},
	{ReferenceWrong, InZooKeeper, Repairable, "a job is in a sub-state of a batch that its state does not imply", discard},
	{ReferenceOrphan, InZooKeeper, Repairable, "a batch refers to a job that does not exist", discard},
	{PromiseMissing, InZooKeeper, Repairable, "no working space is promised to a job that downloads", rewrite},
	{PromiseWrong, InZooKeeper, Repairable, "the working space promised to a job is not what it needs", rewrite},
	{PromiseOrphan, InZooKeeper, Repairable, "working space is promised to a job that does not exist or does not download", discard},
	{ObjectEntryMissing, InZooKeeper, Repairable, "a job is not among the jobs of its object, so that a later one could overtake it", rewrite},
	{ObjectEntryOrphan, InZooKeeper, Repairable, "an object has the entry of a job that does not exist, has ended or is not of this object", discard},
	{RowsWrong, InZooKeeper, Repairable, "the number of rows that a batch counts as made is not the number of its jobs", rewrite},
	{TicketMissing, InZooKeeper, Repairable, "a batch or query that waits or runs has no node in its deposit queue", rewrite},
	{TicketOrphan, InZooKeeper, Repairable, "a deposit queue has a node for a batch or query that neither waits nor runs there", discard},
	{RingWrong, InZooKeeper, Repairable, "a deposit queue is not what its batches or queries and its history say: its users, how many of their deposits run, whose turn it is, or its last steps", rewrite},
	{EntryMissing, InZooKeeper, Repairable, "an entry of the compute queue that is not purged has no node at all", rewrite},
	{EntryNameMissing, InZooKeeper, Repairable, "an entry is not among those of its state (`/unowned`, `/owned`, `/done`, `/failed`)", rewrite},
	{EntryNameWrong, InZooKeeper, Repairable, "an entry is among those of another state or under another name, or its node there differs from its history", rewrite},
	{EntryNameOrphan, InZooKeeper, Repairable, "`/unowned`, `/owned`, `/done` or `/failed` names an entry that does not exist", discard},
	{EntryKeyMissing, InZooKeeper, Repairable, "the key of an entry does not lead to it, so that the same work would be done twice", rewrite},
	{EntryKeyWrong, InZooKeeper, Repairable, "the key of an entry leads to another one, or to none", rewrite},
	{EntryKeyOrphan, InZooKeeper, Repairable, "a key leads to an entry that does not exist or has another key, so that work under this key is refused", discard},
	{EntryClaimWrong, InZooKeeper, Repairable, "the claim of an entry is neither a lease nor that of a live worker", "`accession verify --repair` removes it; then another worker gets the entry"},
	{EntryClaimOrphan, InZooKeeper, Repairable, "a claim or lease has no entry, or the entry has no worker", discard},
	{AttemptOrphan, InZooKeeper, Repairable, "a file of a dataset is PROCESSING, and its worker does not have the entry of this attempt: there is none, it waits, or it has ended", "`accession verify --repair` ends the attempt, which counts (F13), and the file waits again while it has attempts left"},
	{SettingWrong, InZooKeeper, Repairable, "a hold, a pause or a setting's version differs from its history", rewrite},
	{LockStale, InZooKeeper, Repairable, "a lock is held by a worker that is gone", discard},
	{TreeBehind, InZooKeeper, Repairable, "a batch, job, query, setting or entry of the compute queue is older than its history", rewrite},
	{StrayNode, InZooKeeper, Repairable, "a node belongs to nothing", discard},
	{ForeignNode, InZooKeeper, Person, "a node stands beside those that the tree has, or among workers, leads and permits without a session", "no repair removes it, because a newer program may have made it: if none uses this tree, remove it with ZooKeeper's own `zkCli.sh deleteall ROOT/NODE`"},
	{WorkOrphan, InWorkDir, Repairable, "a working directory has no job", discard},
	{TreeOlder, InZooKeeper, Person, "the live state is an older copy: the log has events that it never had", "`accession restore zookeeper` replaces it by what the log has"},
	{LogOlder, InLog, Person, "the log is an older copy, or another log: the outbox has seen events that it does not have", "`accession restore log` restores lost events; then the projector goes on"},
	{IDsLow, InZooKeeper, Repairable, "the next id of a batch, a job, a query or an entry of the compute queue is not above those in use", "`accession verify --repair` raises it"},
	{RecordsOlder, InPostgres, Repairable, "schema record in PostgreSQL is an older copy: it has not seen high-water marks that the others have", "put the newest copy back if there is one; else `accession verify --repair` makes the inventory again from the storage manifests and the log, and then takes the records as they are"},
	{StoreOlder, InStore, Repairable, "the object store is an older copy: it has not seen high-water marks that the others have", "put the newest copy back if there is one; else `accession verify --repair` takes the store as it is: each file that it lacks remains a finding until a copy of it is put back"},
	{NotInLog, InZooKeeper, Person, "a change is neither in the log nor in the outbox", lostTail},
	{UnknownThere, InZooKeeper, Person, "a batch, job, query, setting or entry of the compute queue has no history", lostTail},
	{DamagedUnsent, InZooKeeper, Person, "something is damaged whose events may still be in the outbox, so that what it should be is not known", "let the outbox drain (is a relay running, and does NATS answer? `accession status`), then verify again"},
	{OutboxOld, InZooKeeper, Person, "events stay in the outbox for too long", "is a relay running, and does NATS answer? `accession status`"},
	{HistoryBroken, InLog, Person, "an event cannot follow the one before it", "keep the log as it is and ask for help: nothing may be written over it"},
	{ProjectionBehind, InPostgres, Person, "the tables do not catch up with the log", "is a projector running? `accession status`"},
	{StreamChanged, InPostgres, Person, "the tables follow another stream, or have events that the log has lost", "`accession restore log` restores lost events; then the projector goes on"},
	{EventPoisoned, InPostgres, Person, "an event could not be applied; later ones of the same batch, job, file or setting wait", "its message says why; after the fix `accession poison retry --all` applies it and what waits behind it"},
	{EventRowWrong, InPostgres, Person, "the history in the tables differs from the log", replace},
	{RowMissing, InPostgres, Person, "a row is missing", replace},
	{RowWrong, InPostgres, Person, "a row differs from its history", replace},
	{RowBehind, InPostgres, Person, "a row is older than the events that were applied", replace},
	{RowExtra, InPostgres, Person, "a row has no history", replace},
	{SumWrong, InPostgres, Person, "numbers do not add up", replace},
	{ViewsMissing, InPostgres, Person, "a table, view or function that the migrations make was dropped, or lacks columns", rebuild},
	{RecordsAltered, InPostgres, Person, "schema record lacks a table or a column: it was dropped or altered", "put a copy of PostgreSQL back; `accession migrate` makes only what is newer"},
	{VersionUnrecorded, InInventory, Repairable, "the inventory lacks a version that a job has recorded", again},
	{VersionWrong, InInventory, Repairable, "the row of a version differs from its storage manifest or from the log", again},
	{FilesWrong, InInventory, Repairable, "the files of a version differ from its storage manifest", again},
	{ObjectWrong, InInventory, Repairable, "the row of an object does not describe its highest version", again},
	{ReservationWrong, InInventory, Repairable, "a stored version is not kept as its job's, so that another job could get it", again},
	{IdentifierMissing, InInventory, Repairable, "an identifier that was minted for a job is not kept as the job's", again},
	{LocalIDMissing, InInventory, Repairable, "a local id of an object does not lead to it", again},
	{KeyForgotten, InInventory, Repairable, "the records lack an idempotency key under which a batch or query was made, so that the same request would make another one", "`accession verify --repair` makes it again from the log"},
	{ProfileLost, InInventory, Person, "the records lack the content that a profile was set to, or have another one, so that processes that begin do not use the profile", "remove what was set with `accession profile rm`, and set it again from your own copy"},
	{ListingMissing, InInventory, Repairable, "the records lack the row of a file that became known in an open directory, so that it is not among what the directory lists", relist},
	{ListingWrong, InInventory, Repairable, "the row of a file of an open directory names another file, or its times contradict each other", relist},
	{ListingUnknown, InInventory, Repairable, "the row of a file of an open directory names one that the log does not have, so that it would never become known", "`accession verify --repair` makes it again from the log, or removes it, and has the directory read as a whole; then the file becomes known"},
	{ResultMissing, InInventory, Person, "the records lack the result of an entry of the compute queue that was completed", lostResult},
	{ResultWrong, InInventory, Person, "the row of a result of the compute queue is not what was kept, or has another key, exit status, worker, attempt or claim than the log", lostResult},
	{ResultUnexplained, InInventory, Person, "the records have a result of an entry that the log does not have", "check whether the log lost its end (`accession restore log`); if not, the row was made by hand: remove it by hand"},
	{VersionUnexplained, InInventory, Person, "the inventory has an object or a version that no job has stored", "check whether the log lost its end (`accession restore log`); if not, the row was made by hand: remove it by hand"},
	{ManifestMissing, InStore, Person, "the storage manifest of a version is missing", fromCopy},
	{ManifestCorrupt, InStore, Person, "the storage manifest of a version is not the one that was written", fromCopy},
	{StoredMissing, InStore, Person, "a stored file is missing", fromCopy},
	{StoredSizeWrong, InStore, Person, "a stored file has another size than it had", fromCopy},
	{StoredCorrupt, InStore, Person, "a stored file has another SHA-256 than it had; found by `--deep` only", fromCopy},
	{StoredUnexplained, InStore, Person, "the store has files of a version that no job has reserved or stored", "check whether the log lost its end (`accession restore log`); if not, they are not Accession's: remove them by hand"},
	{OCFLInventoryWrong, InStore, Repairable, "the inventory, its sidecar or the declaration of an OCFL object is not that of its newest version, or that version's inventory is damaged or lacks a version", "`accession verify --repair` writes them again from the inventory of the newest version, as the auditor does; a damaged one is copied from a replica, and without one has to be put back from a copy of the store"},
	{ReplicaMissing, InStore, Repairable, "a version was not copied yet to a replica that its profile names", recopy},
	{ReplicaWrong, InStore, Repairable, "a replica lacks a version that was copied there, or a part of it, or has something else", recopy},
	{WithdrawnStored, InStore, Repairable, "a store or a replica has content of an object that was withdrawn, such as from a copy that was put back", "`accession verify --repair` removes it, as the auditor does"},
}

var findingCodes = func() map[domain.Code]FindingCode {
	m := make(map[domain.Code]FindingCode, len(FindingCodes))
	for _, f := range FindingCodes {
		m[f.Code] = f
	}
	return m
}()

// finding returns a finding of a code.
func finding(code domain.Code, subject, where, want, got string) Finding {
	f := findingCodes[code]
	return Finding{Code: code, Severity: f.Severity, In: f.In, Subject: subject, Where: where, Want: want, Got: got, Remedy: f.Remedy}
}

// NewFinding returns a finding of a code that was made outside of this package. repair
// repairs it; without one it needs a person.
func NewFinding(code domain.Code, subject, where, want, got string, repair func(context.Context) error) Finding {
	f := finding(code, subject, where, want, got)
	f.repair = repair
	f.Severity = Repairable
	if repair == nil {
		f.Severity = Person
	}
	return f
}

// normal returns JSON in which null, empty and missing are the same: the three
// servers write them differently. What is not JSON is returned unchanged.
func normal(data string) string {
	dec := json.NewDecoder(strings.NewReader(data))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil || dec.More() {
		return data
	}
	out, err := json.Marshal(prune(tree))
	if err != nil {
		return data
	}
	return string(out)
}

// normalOf is normal for a value.
func normalOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return normal(string(data)), err
}

// prune removes empty members, at any depth of objects.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if v[k] = prune(item); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// narrow shortens two objects to the members in which they differ.
func narrow(a, b string) (shortA, shortB string) {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a, b
	}
	for k, v := range x {
		if w, both := y[k]; both && reflect.DeepEqual(v, w) {
			delete(x, k)
			delete(y, k)
		}
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p), string(q)
}
