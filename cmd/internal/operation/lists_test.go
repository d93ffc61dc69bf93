package operation

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/retries"
)

// listFilters are the filters that have the same name in every list.
var listFilters = []string{"batch", "profile", "collection", "submitter", "state", "code", "host", "since", "older_than"}

// Why lists lack filters.
const (
	isSetting = "it is a short list of what is set up, which no user has submitted: its items have no such field"
	isOne     = "it lists what one thing has, whose id is in the path"
	isAct     = "it is about who did what, not about what was deposited: see user, action and on"
	isPeople  = "users and keys are no deposits"
	ofTables  = "the tables may lack what a held event is of: that is why it is held"
	notFailed = "what is set up does not fail"
	byWhom    = "by and when of an item say who set it last, and audit.ls lists what was set"
)

// lackReasons says of each list which of the filters it lacks, and why; "" = all that it lacks.
var lackReasons = map[string]map[string]string{
	"batch.ls": {"batch": "batch.show shows one"},
	"job.ls":   {},
	"file.ls":  {},
	"job.failures": {
		"state": "they are in the state failed",
	},
	"object.ls": {
		"state": "what is stored has none", "code": "what is stored has not failed",
		"host": "the inventory does not say where a version came from: job.ls --host does",
	},
	"drop.ls": {
		"batch": "a deposit that has become a batch has left the folder", "code": "a refusal has a sentence and no code",
		"host": "the files were sent, not fetched",
	},
	"query.ls": {
		"batch": "a query never becomes a batch", "profile": "it is asked with none", "collection": "it is about all collections",
		"host": "its list was sent, not fetched",
	},
	"slot.ls": {
		"batch": "the files of a slot are of none until they are one deposit: file.ls --dataset --group has them", "submitter": "its files were found, not submitted",
		"host": "a slot has no server: file.ls --dataset --group --host has those of its files",
	},
	"compute.ls": {
		"batch": "work is about a dataset: job.show and file.show name the work of theirs",
	},
	"compute.workers": {"": "it lists processes: who is there now, and what they did"},
	"event.follow": {
		"state": "an event is a change: type names it", "host": "an event has no server", "older_than": "until is the time before which events are",
	},
	"bulk.ls":            {"": "what it selects is a filter itself, which is shown; it lists the own actions, and all for those who may act everywhere"},
	"batch.callbacks":    {"": isOne},
	"batch.retries":      {"": isOne},
	"bulk.items":         {"": isOne},
	"object.withdrawals": {"": "they are few, and each is about an object: object.ls finds those"},
	"object.files":       {"": isOne},
	"poison.ls":          {"profile": ofTables, "collection": ofTables, "submitter": ofTables, "host": ofTables, "state": "it is held or not there", "code": "an event is held with a sentence and no code"},
	"audit.ls":           {"": isAct},
	"user.ls":            {"": isPeople},
	"key.ls":             {"": isPeople},
	"collection.ls":      {"": isSetting},
	"queue.ls":           {"": isSetting},
	"processor.ls":       {"": isSetting},
	"profile.ls":         {"": isSetting, "profile": "profile.show shows one"},
	"intake.show":        {"": isSetting},
	"dataset.ls":         {"batch": isSetting, "submitter": isSetting, "state": "it has none", "code": notFailed, "host": "its directories have servers: discover.ls --host", "since": byWhom, "older_than": byWhom},
	"discover.ls":        {"batch": isSetting, "submitter": isSetting, "code": notFailed, "since": byWhom, "older_than": byWhom},
	"report.ls":          {"": isSetting},
}

// queryNames returns the names of the parameters of an input in its query.
func queryNames(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("query"), ","); name != "" {
			names = append(names, name)
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			names = append(names, queryNames(f.Type)...)
		}
	}
	return names
}

// showOne are the reads of one thing that has no id and has lists of its own.
var showOne = []string{"self.show", "status.show", "timeouts.show", "discover.look"}

// lists reports whether an operation reads a list: it is named so, or answers with a page, or
// has no id in its path and a list in its answer.
func lists(op *Operation) bool {
	if op.Method != http.MethodGet || slices.Contains(showOne, op.Name) {
		return false
	}
	_, verb, _ := strings.Cut(op.Name, ".")
	return verb == "ls" || verb == "follow" || strings.HasPrefix(op.Output.Name(), "Page[") || !strings.Contains(op.Path, "{") && hasList(op.Output)
}

// hasList reports whether an answer has a list of things in one of its fields.
func hasList(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			return true
		}
	}
	return false
}

// TestListsTakeTheFilters: every list, and the stream of events, takes the filters that all have in common, or the
// reason why it lacks one is written down.
func TestListsTakeTheFilters(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, op := range Table() {
		if !lists(op) {
			continue
		}
		reasons, known := lackReasons[op.Name]
		if !known {
			t.Errorf("%s is a list: say which of the filters %v it lacks, and why", op.Name, listFilters)
			continue
		}
		seen[op.Name] = true
		has := queryNames(op.Input)
		for _, filter := range listFilters {
			reason := reasons[filter]
			if reason == "" && !slices.Contains(has, filter) {
				reason = reasons[""]
			}
			if slices.Contains(has, filter) == (reason != "") {
				t.Errorf("%s takes the filter %s: %t; reason why it does not: %q", op.Name, filter, reason == "", reason)
			}
		}
	}
	for name := range lackReasons {
		if !seen[name] {
			t.Errorf("%s is no list", name)
		}
	}
}

// TestOutcomesAsInTheTables: failed attempts are chosen by each outcome that the tables have of jobs.
func TestOutcomesAsInTheTables(t *testing.T) {
	t.Parallel()
	field, _ := reflect.TypeFor[BatchRetries]().FieldByName("Outcome")
	if got := field.Tag.Get("enum"); got != strings.Join(retries.Outcomes, ",") {
		t.Errorf("the operation takes %s, the tables have %v", got, retries.Outcomes)
	}
}
