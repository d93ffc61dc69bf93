package consistency

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
)

// Severity says who can put a finding right.
type Severity string

// The severities.
const (
	Repairable Severity = "repairable" // Repair can
	Person     Severity = "person"     // somebody has to look
)

// Places where a finding was made.
const (
	InZooKeeper = "zookeeper"
	InPostgres  = "postgres"
	InLog       = "log"
	InWorkDir   = "work_dir"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Code     domain.Code `json:"code"`
	Severity Severity    `json:"severity"`
	In       string      `json:"in"`
	Subject  string      `json:"subject"` // the aggregate, such as job/jid0000000042, "" = it belongs to none
	Where    string      `json:"where"`   // node, table, place in the log, or directory
	Want     string      `json:"want"`    // in JSON or in words
	Got      string      `json:"got"`
	Remedy   string      `json:"remedy"`

	remove func() error // what lies outside of the live state is removed by this
}

// String gives one line.
func (f Finding) String() string {
	subject := f.Subject
	if subject == "" {
		subject = f.Where
	} else if f.Where != "" {
		subject += " (" + f.Where + ")"
	}
	return fmt.Sprintf("%s: %s: %s has %s, want %s", f.Code, subject, f.In, f.Got, f.Want)
}

// absent is how a missing thing is told.
const absent = "nothing"

// plain gives JSON in which null, empty and missing are one: the three servers
// write them differently, and they mean the same. What is no JSON stays.
func plain(data []byte) string {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil || dec.More() {
		return string(data)
	}
	out, err := json.Marshal(prune(tree))
	if err != nil {
		return string(data)
	}
	return string(out)
}

// plainOf is plain for a value.
func plainOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return plain(data), err
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if item = prune(item); item == nil {
				delete(v, k)
			} else {
				v[k] = item
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

// narrow shortens two objects to the fields in which they differ, for people.
func narrow(a, b string) (shortA, shortB string) {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a, b
	}
	for k := range x {
		p, _ := json.Marshal(x[k])
		q, _ := json.Marshal(y[k])
		if _, both := y[k]; both && bytes.Equal(p, q) {
			delete(x, k)
			delete(y, k)
		}
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p), string(q)
}

// Codes of findings, stable for programs.
const (
	JobMissing        domain.Code = "job_missing"
	BatchMissing      domain.Code = "batch_missing"
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
	SettingWrong      domain.Code = "setting_wrong"
	LockStale         domain.Code = "lock_stale"
	TreeBehind        domain.Code = "tree_behind"
	StrayNode         domain.Code = "stray_node"
	WorkOrphan        domain.Code = "work_orphan"
	NotInLog          domain.Code = "not_in_log"
	UnknownThere      domain.Code = "unknown_there"
	DamagedUnsent     domain.Code = "damaged_unsent"
	OutboxOld         domain.Code = "outbox_old"
	HistoryBroken     domain.Code = "history_broken"
	ProjectionBehind  domain.Code = "projection_behind"
	StreamChanged     domain.Code = "stream_changed"
	EventPoisoned     domain.Code = "event_poisoned"
	EventRowWrong     domain.Code = "event_row_wrong"
	RowMissing        domain.Code = "row_missing"
	RowWrong          domain.Code = "row_wrong"
	RowBehind         domain.Code = "row_behind"
	RowExtra          domain.Code = "row_extra"
	SumWrong          domain.Code = "sum_wrong"
)

// Meaning says what a code tells and what to do about it.
type Meaning struct {
	Code     domain.Code
	In       string
	Severity Severity
	Says     string
	Remedy   string
}

const (
	redraw   = "`accession verify --repair` draws it again from the log"
	discard  = "`accession verify --repair` removes it"
	rebuild  = "`accession rebuild` makes the tables anew from the log"
	lostTail = "look whether the log lost its end; `accession restore log` puts events back from the tables and the outbox"
)

// Meanings is the table of all codes, as the documentation shows it.
var Meanings = []Meaning{
	{JobMissing, InZooKeeper, Repairable, "a job has no node at all", redraw},
	{BatchMissing, InZooKeeper, Repairable, "a batch has no node at all", redraw},
	{StatusMissing, InZooKeeper, Repairable, "the status of a batch or job is missing", redraw},
	{StatusWrong, InZooKeeper, Repairable, "the status of a batch or job is not what its history gives, or cannot be read", redraw},
	{NodeMissing, InZooKeeper, Repairable, "another node of a batch or job is missing", redraw},
	{NodeWrong, InZooKeeper, Repairable, "another node of a batch or job holds something else than its history gives", redraw},
	{NodeUnknown, InZooKeeper, Repairable, "a batch or job has a node that belongs to none", discard},
	{QueueEntryMissing, InZooKeeper, Repairable, "a job is not in the queue of its state and priority", redraw},
	{QueueEntryWrong, InZooKeeper, Repairable, "a job is in a queue that is not that of its state and priority", discard},
	{QueueEntryOrphan, InZooKeeper, Repairable, "a queue entry has no job", discard},
	{ReferenceMissing, InZooKeeper, Repairable, "a job is not in the sub-state of its batch that its state implies", redraw},
	{ReferenceWrong, InZooKeeper, Repairable, "a job is in a sub-state of a batch that its state does not imply", discard},
	{ReferenceOrphan, InZooKeeper, Repairable, "a batch refers to a job that is not there", discard},
	{PromiseMissing, InZooKeeper, Repairable, "no working space is promised to a job that downloads", redraw},
	{PromiseWrong, InZooKeeper, Repairable, "a job is promised other working space than it needs", redraw},
	{PromiseOrphan, InZooKeeper, Repairable, "working space is promised to a job that is not there or does not download", discard},
	{RowsWrong, InZooKeeper, Repairable, "a batch counts other rows as made than have their jobs", redraw},
	{SettingWrong, InZooKeeper, Repairable, "a hold, a pause or a setting's version is not what its history gives", redraw},
	{LockStale, InZooKeeper, Repairable, "a lock is held by nobody who lives", discard},
	{TreeBehind, InZooKeeper, Repairable, "a batch, job or setting is older than its history", redraw},
	{StrayNode, InZooKeeper, Repairable, "a node belongs to nothing", discard},
	{WorkOrphan, InWorkDir, Repairable, "a working directory has no job", discard},
	{NotInLog, InZooKeeper, Person, "a change is neither in the log nor on its way there", lostTail},
	{UnknownThere, InZooKeeper, Person, "the history knows nothing of a batch, job or setting", lostTail},
	{DamagedUnsent, InZooKeeper, Person, "something is damaged whose events may still be on their way to the log, so that nobody can say what it should be", "let the outbox drain (is a relay running, and does NATS answer? `accession status`), then check again"},
	{OutboxOld, InZooKeeper, Person, "events wait too long to be carried to the log", "is a relay running, and does NATS answer? `accession status`"},
	{HistoryBroken, InLog, Person, "an event cannot follow the one before it", "keep the log as it is and ask for help: nothing may be written over it"},
	{ProjectionBehind, InPostgres, Person, "the tables do not catch up with the log", "is a projector running? `accession status`"},
	{StreamChanged, InPostgres, Person, "the tables tell of another stream, or of events that the log has lost", "`accession restore log` puts lost events back; then the projector goes on"},
	{EventPoisoned, InPostgres, Person, "an event could not be applied; later ones of the same batch, job, file or setting wait", "its message says why; after the fix `accession poison retry --all` applies it and what waits behind it"},
	{EventRowWrong, InPostgres, Person, "the history in the tables is not that of the log", rebuild},
	{RowMissing, InPostgres, Person, "a row is missing", rebuild},
	{RowWrong, InPostgres, Person, "a row is not what the history gives", rebuild},
	{RowBehind, InPostgres, Person, "a row is older than what was applied", rebuild},
	{RowExtra, InPostgres, Person, "the history knows nothing of a row", rebuild},
	{SumWrong, InPostgres, Person, "numbers do not add up", rebuild},
}

var meaningOf = func() map[domain.Code]Meaning {
	m := make(map[domain.Code]Meaning, len(Meanings))
	for _, x := range Meanings {
		m[x.Code] = x
	}
	return m
}()

// finding makes a finding of a code.
func finding(code domain.Code, subject, where, want, got string) Finding {
	m := meaningOf[code]
	return Finding{Code: code, Severity: m.Severity, In: m.In, Subject: subject, Where: where, Want: want, Got: got, Remedy: m.Remedy}
}
