package zklive_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The tree that each row leaves, written down by hand from the documentation of
// the workflow: node names, the keys of their data, and which are ephemeral. The
// store must leave exactly this, node by node.

const (
	batchStatusKeys = "command last_modified status version"
	jobStatusKeys   = "command last_modification_date last_successful_status retry_count status version"
	failedKeys      = "command error last_modification_date last_successful_status message retry_count status version"
)

var submissionKeys = "erc_what erc_when erc_where erc_who payload_url profile_name submission_mode submitter type"

// theObject is the key of the object of which all jobs of the test are.
const theObject = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func objectEntry(jid string) string { return "/objects/9f/" + theObject + "-" + jid }

// tree is the expected part of the tree below /batches, /jobs, /space and /objects: path
// → keys.
type tree map[string]string

func (w tree) job(bid, jid, sub, state, entry string) {
	d := "/jobs/" + jid
	w[d] = ""
	w[d+"/configuration"] = "batch_id payload_type payload_url profile_name response_type row submission_mode submitter working_dir"
	w[d+"/identifiers"] = "local_id object_keys primary"
	w[d+"/metadata"] = "erc_what erc_when erc_where erc_who"
	w[d+"/status"] = jobStatusKeys
	w[d+"/priority"] = "integer"
	w[d+"/space_needed"] = "integer"
	w[d+"/claims"] = "claims version"
	w["/jobs/states/"+state+"/"+entry] = ""
	if state != "completed" {
		w[objectEntry(jid)] = ""
	}
	w["/batches/"+bid+"/states/"+sub+"/"+jid] = ""
}

func (w tree) move(from, to string) {
	if _, there := w[from]; !there {
		panic("the expectation moves a node that is not there: " + from)
	}
	delete(w, from)
	w[to] = ""
	// A job that downloads has working space promised to it.
	const downloads = "/jobs/states/downloading/"
	if entry, leaves := strings.CutPrefix(from, downloads); leaves {
		delete(w, "/space/"+entry[len("05-"):])
	}
	if entry, comes := strings.CutPrefix(to, downloads); comes {
		w["/space/"+entry[len("05-"):]] = "integer"
	}
	// One that completes or fails leaves the jobs of its object, and joins them again when
	// it is requeued.
	if ended, ok := strings.CutPrefix(to, "/jobs/states/completed/"); ok {
		delete(w, objectEntry(ended[len("05-"):]))
	}
	if failed, ok := strings.CutPrefix(to, "/jobs/states/failed/"); ok {
		delete(w, objectEntry(failed[len("05-"):]))
	}
	if failed, ok := strings.CutPrefix(from, "/jobs/states/failed/"); ok {
		w[objectEntry(failed[len("05-"):])] = ""
	}
}

// compact leaves of a job that leaves its queue its own node and its status, which takes
// what the others held.
func (w tree) compact(jid string) {
	d := "/jobs/" + jid
	for _, name := range []string{"configuration", "identifiers", "metadata", "priority", "space_needed", "claims"} {
		delete(w, d+"/"+name)
	}
	w[d+"/status"] = "cleaned command configuration identifiers last_modification_date last_successful_status metadata priority retry_count space_needed status version"
}

// keysOf gives the sorted keys of a JSON object, "integer" for a number, "" for
// no data.
func keysOf(t *testing.T, path, data string) string {
	t.Helper()
	if data == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%s holds %q, which is not JSON: %v", path, data, err)
	}
	switch v := v.(type) {
	case map[string]any:
		return strings.Join(slices.Sorted(maps.Keys(v)), " ")
	case float64:
		return "integer"
	default:
		t.Fatalf("%s holds %T", path, v)
		return ""
	}
}
