package operation

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// listFilters are the filters that have the same name in every list.
var listFilters = []string{"batch", "profile", "collection", "submitter", "state", "code", "host", "since", "older_than"}

// Why lists lack filters.
const (
	isSetting = "it is a short list of what is set up, which no user has submitted"
	isOne     = "it lists what one thing has, whose id is in the path"
	isAct     = "it is about who did what, not about what was deposited: see user, action and on"
	isPeople  = "users and keys are no deposits"
)

// lackReasons says of each list which of the filters it lacks, and why; "" = all that it lacks.
var lackReasons = map[string]map[string]string{
	"batch.ls": {"batch": "batch.show shows one"},
	"job.ls":   {},
	"file.ls":  {},
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
		"code": "a query that failed says why in its reason", "host": "its list was sent, not fetched",
	},
	"slot.ls": {
		"batch": "a slot is of a dataset, not of a deposit", "profile": "it is of its dataset: dataset names it", "collection": "it is of its dataset: dataset names it",
		"submitter": "its files were found, not submitted", "code": "a slot that was missed has one code alone", "host": "its files may come from many",
		"since": "the list is in the order of names, not of time", "older_than": "the list is in the order of names, not of time",
	},
	"compute.ls": {
		"batch": "it is work of none", "profile": "it is requested with none", "collection": "it is about all collections", "submitter": "it is no deposit", "code": "work that failed says why in its reason",
		"host": "its inputs may come from several", "since": "its ids are in the order of their requests", "older_than": "its ids are in the order of their requests",
	},
	"event.follow": {
		"profile": "a collection has one profile: collection names it", "submitter": "an event has the batch that it is of, and many are of none", "state": "an event is a change: type names it",
		"code": "an event has a whole reason, and few have one", "host": "an event has no server", "older_than": "until is the time before which events are",
	},
	"bulk.ls":       {"": "what it selects is a filter itself, which is shown"},
	"bulk.items":    {"": isOne},
	"object.files":  {"": isOne},
	"poison.ls":     {"": "it is what keeps the tables from being right, and is seen as a whole"},
	"audit.ls":      {"": isAct},
	"user.ls":       {"": isPeople},
	"key.ls":        {"": isPeople},
	"collection.ls": {"": isSetting},
	"queue.ls":      {"": isSetting},
	"processor.ls":  {"": isSetting},
	"profile.ls":    {"": isSetting},
	"intake.show":   {"": isSetting},
	"dataset.ls":    {"": isSetting},
	"discover.ls":   {"": isSetting},
	"report.ls":     {"": isSetting},
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

// TestListsTakeTheFilters: every list, and the stream of events, takes the filters that all have in common, or the
// reason why it lacks one is written down.
func TestListsTakeTheFilters(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, op := range Table() {
		if op.Method != http.MethodGet || op.Name != "event.follow" && (op.Output == nil || !strings.HasPrefix(op.Output.Name(), "Page[")) {
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
