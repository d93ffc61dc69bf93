package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	oracle "github.com/accession-ingest/accession/internal/testkit/model"
)

// events checks what the log got: of each aggregate the rows that were to be taken,
// in this order and no others, and then takes them in the model.
func (s *scene) events(actor string, got []domain.Recorded, moves []move) {
	s.t.Helper()
	of := map[domain.Aggregate][]domain.Recorded{}
	for _, r := range got {
		of[r.Aggregate] = append(of[r.Aggregate], r)
	}
	for _, m := range moves {
		events := of[m.of]
		delete(of, m.of)
		for i, st := range m.steps {
			if i >= len(events) {
				s.t.Fatalf("%s: no event for %s", m.of, st.row)
			}
			s.event(actor, events[i], st)
		}
		if len(events) > len(m.steps) {
			s.t.Errorf("%s: %s came besides", m.of, events[len(m.steps)].Type)
		}
	}
	for a, more := range of {
		s.t.Errorf("%s: %s came, and nothing of it was to move", a, more[0].Type)
	}
}

// rowEvent is an event as a row must leave it.
type rowEvent struct {
	Row, From, To, Type, Code string
	Version                   int64
	Actor                     string
	Attempts                  string // what it says of attempts
	Uncounted                 bool   // it gives one back
}

// event checks one event and takes its row in the model.
func (s *scene) event(actor string, r domain.Recorded, st step) {
	s.t.Helper()
	want := rowEvent{Row: st.row, Code: st.code, Actor: actor, Uncounted: st.uncounted}
	got := rowEvent{Row: st.row, Type: string(r.Type), Version: r.Version, Actor: string(r.Actor)}
	var by string
	var why *domain.Reason
	switch r.Aggregate.Kind {
	case domain.KindBatch:
		id := domain.BatchID(r.Aggregate.ID)
		b, e := s.batches[id], oracle.BatchRows[st.row]
		if b == nil {
			s.t.Fatalf("%s came without being expected", r.ID())
		}
		m, _ := domain.MoveOfBatch(r.Data)
		got.From, got.To, why, by = string(m.From), string(m.To), m.Reason, e.By
		if st.row == "listed" {
			want.From, want.To, want.Type, by = "pending", "pending", "batch.listed", "daemon/batch-pending"
		} else {
			row := batchRow(st.row)
			want.From, want.To, want.Type = string(row.From), string(row.To), string(row.Event)
		}
		b.take(st)
		want.Version = b.version
	case domain.KindJob:
		id := domain.JobID(r.Aggregate.ID)
		j := s.jobs[id]
		if j == nil {
			s.t.Fatalf("%s came without being expected", r.ID())
		}
		m, _ := domain.MoveOfJob(r.Data)
		got.From, got.To, why, by = string(m.From), string(m.To), m.Reason, oracle.JobRows[st.row].By
		if stay, ok := oracle.JobStays[st.row]; ok {
			want.From, want.To, want.Type, by = j.status, j.status, stay.Event, stay.By
		} else {
			row := jobRow(st.row, j.status)
			want.From, want.To, want.Type = string(row.From), string(row.To), string(row.Event)
		}
		s.takeJob(id, st)
		want.Version = j.version
		want.Attempts = fmt.Sprintf("last=%s retries=%d priority=5 space=%d", j.last, j.retries, j.space)
		got.Attempts = fmt.Sprintf("last=%s retries=%d priority=%d space=%d", m.LastSuccessful, m.RetryCount, m.Priority, m.SpaceNeeded)
		if oracle.JobRows[st.row].Retry == oracle.Opens {
			want.Attempts += fmt.Sprintf(" failed=%d", j.retries+1)
			if st.row != "J24" {
				want.Attempts += " by a worker"
			}
			got.Attempts += fmt.Sprintf(" failed=%d", why.Attempt)
			if why.Worker != "" {
				got.Attempts += " by a worker"
			}
		}
	case domain.KindFile:
		f := s.file(domain.FileHash(r.Aggregate.ID))
		m, _ := domain.MoveOfFile(r.Data)
		row := fileRow(st.row)
		if failed, ok := r.Data.(*domain.FileFailed); ok {
			got.Uncounted = failed.Uncounted
		}
		got.From, got.To, why, by = string(m.From), string(m.To), m.Reason, oracle.FileRows[st.row].By
		want.From, want.To, want.Type = string(row.From), string(row.To), string(row.Event)
		f.take(st, r.Stored.UnixMilli())
		want.Version, want.Code = f.version, f.code
		want.Attempts = fmt.Sprintf("downloads=%d processes=%d", f.downloads, f.processes)
		got.Attempts = fmt.Sprintf("downloads=%d processes=%d", m.DownloadAttempts, m.ProcessingAttempts)
	}
	if why != nil {
		got.Code = string(why.Code)
		if why.Message == "" || why.Class == "" {
			s.t.Errorf("%s: %s has the reason %+v", st.row, r.ID(), why)
		}
	}
	if !slices.Contains(strings.Fields(by), actor) {
		s.t.Errorf("%s is taken by %s, and it is a matter of %s", st.row, actor, by)
	}
	if d := cmp.Diff(want, got); d != "" {
		s.t.Errorf("%s: the event %s (-want +got):\n%s", st.row, r.ID(), d)
	}
	s.moved = append(s.moved, moved{st, r, want})
}

func batchRow(name string) domain.BatchTransition {
	i := slices.IndexFunc(domain.BatchTransitions, func(t domain.BatchTransition) bool { return t.Row == name })
	return domain.BatchTransitions[i]
}

// jobRow finds a row; J23 and J24 start from many states.
func jobRow(name, from string) domain.JobTransition {
	i := slices.IndexFunc(domain.JobTransitions, func(t domain.JobTransition) bool {
		return t.Row == name && (name != "J23" && name != "J24" || string(t.From) == from)
	})
	return domain.JobTransitions[i]
}

func fileRow(name string) domain.FileTransition {
	i := slices.IndexFunc(domain.FileTransitions, func(t domain.FileTransition) bool { return t.Row == name })
	return domain.FileTransitions[i]
}

// look compares the whole tree below /batches and /jobs with the model: what a row
// had to change, and that it changed nothing else.
func (s *scene) look(after string) {
	s.t.Helper()
	if d := cmp.Diff(s.tree(), s.dump()); d != "" {
		s.t.Errorf("%s leaves another tree (-want +got):\n%s", after, d)
	}
}

func (s *scene) dump() map[string]string {
	s.t.Helper()
	got := map[string]string{}
	for _, top := range []string{"/batches", "/jobs"} {
		for path, n := range s.nodesFrom(top) {
			got[path] = s.plain(path, n.Data)
			for name, data := range parts(path, n.Data) {
				got[path+"/"+name] = s.plain(path+"/"+name, data)
			}
			if n.Ephemeral {
				got[path] += " (ephemeral)"
			}
		}
	}
	return got
}

// parts returns what the status of a job that has left its queue holds of its other nodes.
func parts(path, data string) map[string]string {
	found, held := map[string]string{}, map[string]json.RawMessage{}
	if strings.HasPrefix(path, "/jobs/") && json.Unmarshal([]byte(data), &held) == nil && held["cleaned"] != nil {
		for _, name := range []string{"configuration", "identifiers", "metadata", "priority", "space_needed"} {
			found[name] = string(held[name])
		}
	}
	return found
}

// minted is what a name looks like that was made here.
var minted = regexp.MustCompile(`ark:/99999/fk4[a-z0-9]+`)

// there checks that a node has fields that differ in each run, and removes them.
func (s *scene) there(path string, v map[string]any, fields ...string) {
	s.t.Helper()
	for _, f := range fields {
		if text, ok := v[f].(string); !ok || text == "" {
			s.t.Errorf("%s has no %s: %v", path, f, v)
		}
		delete(v, f)
	}
}

// plain returns a node's data without what differs in each run.
func (s *scene) plain(path, data string) string {
	s.t.Helper()
	if data == "" {
		return ""
	}
	var v map[string]any
	name := path[strings.LastIndexByte(path, '/')+1:]
	if name != "priority" && name != "space_needed" {
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			s.t.Fatalf("%s holds %q: %v", path, data, err)
		}
	}
	code := ""
	if e, ok := v["error"].(map[string]any); ok {
		code = fmt.Sprint(e["code"])
		if v["message"] == "" || v["message"] == nil || e["class"] == nil {
			s.t.Errorf("%s tells no reason: %s", path, data)
		}
	}
	switch name {
	case "status":
		if v["command"] == "" || v["command"] == nil {
			s.t.Errorf("%s names no command: %s", path, data)
		}
		if strings.HasPrefix(path, "/batches") {
			return (&batchModel{status: fmt.Sprint(v["status"]), version: int64(v["version"].(float64)), code: code}).line()
		}
		j := jobModel{status: fmt.Sprint(v["status"]), version: int64(v["version"].(float64)), code: code, retries: int(v["retry_count"].(float64))}
		if last, ok := v["last_successful_status"].(string); ok {
			j.last = last
		}
		j.cleaned = v["cleaned"] == true
		return j.line()
	case "claims":
		return "claims"
	case "progress":
		return fmt.Sprintf("rows=%v first=%v next=%v", v["rows"], v["first_jid"], v["next_row"])
	case "status-report":
		for _, key := range []string{"last_modified", "report_url", "report_sha256"} {
			delete(v, key)
		}
	case "submission":
		s.there(path, v, "received", "profile_version")
	case "identifiers":
		delete(v, "object_keys") // of a minted name
	case "configuration":
		s.there(path, v, "profile_version")
		if f, ok := v["row_fault"].(map[string]any); ok {
			v["row_fault"] = f["code"]
		}
	case "priority", "space_needed":
		return data
	}
	short, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return minted.ReplaceAllString(string(short), "ark")
}
