package operation

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// headers returns the names of the headers that an input takes.
func headers(in reflect.Type) map[string]bool {
	all := map[string]bool{}
	for f := range in.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			for name := range headers(f.Type) {
				all[name] = true
			}
		}
		all[f.Tag.Get("header")] = true
	}
	return all
}

// TestCommandsAreGivenOnce: what changes something takes the key of a request, and what changes
// a thing whose version is shown takes that version.
func TestCommandsAreGivenOnce(t *testing.T) {
	t.Parallel()
	for _, op := range Table() {
		has := headers(op.Input)
		why := always[op.Name]
		if keyed := has["Idempotency-Key"]; op.Write && keyed == (why != "") {
			t.Errorf("%s: takes a key %v, listed as what needs none %q", op.Name, keyed, why)
		}
		noun, _, _ := strings.Cut(op.Name, ".")
		where, known := versioned[noun]
		if known && op.Name == noun+".show" {
			if v, ok := op.Output.FieldByName("Version"); !otherwise[noun] && (!ok || v.Type.Kind() != reflect.Int64) {
				t.Errorf("%s shows no version", op.Name)
			}
		}
		shown := op.On == OnThing || known && slices.ContainsFunc(where, func(path string) bool { return strings.HasPrefix(op.Path, path) }) && !others[op.Name] && (!strings.HasSuffix(op.Name, ".add") || noun == "processor") // one that was removed has a version
		if op.Write && shown != has["If-Match"] {
			t.Errorf("%s: takes If-Match %v", op.Name, has["If-Match"])
		}
	}
}

// versioned are the things besides batches, jobs and files whose version is shown, with the
// paths of the commands about one of them.
var versioned = map[string][]string{"profile": {"/v1/profiles/"}, "dataset": {"/v1/datasets/"}, "discover": {"/v1/discoveries/"}, "query": {"/v1/queries/"},
	"compute": {"/v1/compute/entries/"}, "slot": {"/v1/slots/"}, "timeouts": {"/v1/timeouts/"}, "queue": {"/v1/deposit-queues/", "/v1/queues/"},
	"intake": {"/v1/intake/"}, "processor": {"/v1/deposit-queues/"},
	"collection": {"/v1/collections/"}, "drop": {"/v1/uploads/"}, "upload": {"/v1/uploads/{"}, "user": {"/v1/users/"}, "key": {"/v1/keys/"}}

// otherwise are the things that show their version as setting_version.
var otherwise = map[string]bool{"collection": true, "profile": true, "processor": true, "intake": true}

// others are the operations at these paths that change other things.
var others = map[string]bool{"profile.check": true, "queue.park": true, "queue.unpark": true}

// always are the operations that are the same however often they are requested.
var always = map[string]string{
	"compute.heartbeat": "the lease begins again from now on",
	"compute.complete":  "the lease ends with it, and there is one for each token",
	"compute.put":       "the same output again is one",
	"compute.fail":      "the lease ends with it, and there is one for each token",
	"task.heartbeat":    "the lease begins again from now on",
	"task.complete":     "the lease ends with it, and there is one for each token",
	"task.put":          "the same output again is one",
	"task.fail":         "the lease ends with it, and there is one for each token",
	"poison.retry":      "what is applied is held no more",
	"session.begin":     "each session ends by itself, also one whose token did not arrive",
	"session.end":       "it ends the session that the request comes with",
	"user.password":     "the same password is set, and a digest of it is not kept",
}
