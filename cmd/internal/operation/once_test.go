package operation

import (
	"reflect"
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
		shown := op.On == OnThing || strings.HasPrefix(op.Path, "/v1/profiles/") ||
			(strings.HasPrefix(op.Path, "/v1/datasets/") || strings.HasPrefix(op.Path, "/v1/discoveries/")) && !strings.HasSuffix(op.Name, ".add")
		if op.Write && shown != has["If-Match"] {
			t.Errorf("%s: takes If-Match %v", op.Name, has["If-Match"])
		}
	}
}

// always are the operations that are the same however often they are requested.
var always = map[string]string{
	"compute.claim":     "a lease whose token did not arrive ends by itself",
	"compute.heartbeat": "the lease begins again from now on",
	"compute.complete":  "the lease ends with it, and there is one for each token",
	"compute.fail":      "the lease ends with it, and there is one for each token",
	"poison.retry":      "what is applied is held no more",
	"session.begin":     "each session ends by itself, also one whose token did not arrive",
	"session.end":       "it ends the session that the request comes with",
	"user.password":     "the same password is set, and a digest of it is not kept",
}
