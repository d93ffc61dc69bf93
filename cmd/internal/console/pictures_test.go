package console

import (
	"os"
	"strings"
	"testing"
)

// Why one picture stands for pages of several routes.
const (
	previews = "the preview of a command is laid out alike whatever it is about: what would be so, and the reason. One that asks for a text with the reason, and those that ask before, have pictures of their own"
	ofMany   = "a command to many is laid out alike whatever they are: what was chosen, the first of them, and the reason"
)

// pictureOf is the name of the picture in docs/console.md of each route that shows a page, and for
// those that TestPagesInABrowser takes the address; cmd/accession/e2e takes the others. Of several routes
// with one picture all but the one that is shown have the reason.
var pictureOf = map[string]struct{ name, address, why string }{
	"audit":                                  {"audit", "audit", ""},
	"batches/{id}/callbacks":                 {"callbacks", "batches/bid0000000001/callbacks", ""},
	"batches/{id}/retries":                   {"retries", "batches/bid0000000001/retries", ""},
	"compute":                                {"compute", "compute", ""},
	"compute/{id}":                           {"entry", "compute/eid0000000001", ""},
	"datasets":                               {"datasets", "datasets", ""},
	"datasets/{id}":                          {"dataset", "datasets/d1", ""},
	"datasets/{id}/do/{verb}":                {"dataset-set", "datasets/d1/do/set", ""},
	"deposit-queues/{id}/do/{verb}":          {"deposit-queue-limit", "deposit-queues/metadata/do/limit", ""},
	"deposits":                               {"deposits", "deposits", ""},
	"deposits/{id}":                          {"deposit", "deposits/u1", ""},
	"directories":                            {"directories", "directories", ""},
	"directories/{id}":                       {"directory", "directories/d1", ""},
	"files":                                  {"files", "files", ""},
	"jobs/{id}/do/{verb}":                    {"act", "jobs/jid0000000001/do/requeue", ""},
	"keys":                                   {"keys", "keys", ""},
	"more":                                   {"more", "more", ""},
	"new-user":                               {"new-user", "new-user", ""},
	"new/{verb}":                             {"new-profile", "new/profile", ""},
	"objects":                                {"objects", "objects", ""},
	"objects/{id}":                           {"object", "objects/ark:%2F1%2Fx", ""},
	"objects/{id}/versions/{n}":              {"version", "objects/ark:%2F1%2Fx/versions/2", ""},
	"people":                                 {"people", "people", ""},
	"people/{id}":                            {"user", "people/ana", ""},
	"people/{id}/do/{verb}":                  {"user-grant", "people/ana/do/grant", ""},
	"poison":                                 {"poison", "poison", ""},
	"processors":                             {"processors", "processors", ""},
	"processors/{id}/do/{verb}":              {"processor-set", "processors/metadata-films/do/set", ""},
	"profiles":                               {"profiles", "profiles", ""},
	"profiles/{id}":                          {"profile", "profiles/test", ""},
	"profiles/{id}/do/{verb}":                {"profile-set", "profiles/plain/do/set", ""},
	"queries":                                {"queries", "queries", ""},
	"queries/{id}":                           {"query", "queries/qid0000000001", ""},
	"reports":                                {"reports", "reports", ""},
	"sign-in":                                {"sign-in", "sign-in", ""},
	"slots":                                  {"slots", "slots", ""},
	"slots/{id}":                             {"slot", "slots/s1", ""},
	"withdrawals":                            {"withdrawals", "withdrawals", ""},
	"workers":                                {"workers", "workers", ""},
	"batches":                                {"batches", "", ""},
	"directories/all":                        {"many", "", ofMany},
	"slots/all":                              {"many", "", ofMany},
	"batches/all":                            {"many", "", ofMany},
	"batches/{id}":                           {"batch", "", ""},
	"batches/{id}/do/{verb}":                 {"act", "", previews},
	"bulk":                                   {"bulks", "bulk", ""},
	"bulk/{id}":                              {"bulk", "", ""},
	"bulk/{id}/do/{verb}":                    {"act", "", previews},
	"collections/{id}/do/{verb}":             {"act", "", previews},
	"compute/all":                            {"many", "", ofMany},
	"compute/{id}/do/{verb}":                 {"act", "", previews},
	"deposits/all":                           {"many", "", ofMany},
	"deposits/{id}/do/{verb}":                {"act", "", previews},
	"directories/{id}/do/{verb}":             {"act", "", previews},
	"events":                                 {"events", "", ""},
	"failures":                               {"failures", "", ""},
	"files/all":                              {"many", "", ofMany},
	"files/{id}":                             {"file", "", ""},
	"files/{id}/do/{verb}":                   {"act", "", previews},
	"jobs":                                   {"jobs", "", ""},
	"jobs/all":                               {"many", "", ""},
	"jobs/{id}":                              {"job", "", ""},
	"keys/{id}/do/{verb}":                    {"act", "", previews},
	"new":                                    {"new", "", ""},
	"objects/{id}/do/{verb}":                 {"act", "", previews},
	"queries/all":                            {"many", "", ofMany},
	"queries/{id}/do/{verb}":                 {"act", "", previews},
	"queues":                                 {"queues", "", ""},
	"queues/{id}/do/{verb}":                  {"act", "", previews},
	"reports/{name}":                         {"report-batch", "", ""},
	"servers":                                {"servers", "", ""},
	"slots/{id}/do/{verb}":                   {"act", "", previews},
	"{$}":                                    {"overview", "", ""},
	"compute/{id}/outputs/{name}":            {}, // no page
	"objects/{id}/versions/{n}/files/{name}": {}, // no page
	"objects/{id}/versions/{n}/manifest":     {}, // no page
	"queries/{id}/report":                    {}, // no page
	"sign-in/openid":                         {}, // no page
	"sign-in/openid/done":                    {}, // no page
	"static/{digest}/{name}":                 {}, // no page
	"stream":                                 {}, // no page
}

// furtherPictures are those of pages that look otherwise than the one of their route: by their names,
// which kind of pages of TestPagesInABrowser they are of, and their addresses there.
var furtherPictures = map[string]struct{ kind, address string }{
	"batch-then":     {"plain", "batches/bid0000000001?at=7"},
	"file-then":      {"plain", "files/" + strings.Repeat("ab", 32) + "?at=7"},
	"act-priority":   {"plain", "jobs/jid0000000001/do/priority"},
	"user-password":  {"plain", "people/ana/do/password"},
	"act-refused":    {"refused", "jobs/jid0000000001/do/requeue"},
	"act-done":       {"done", "jobs/jid0000000001/do/requeue#reason because"},
	"key":            {"done", "people/ana/do/key#a-label one#reason because"},
	"empty":          {"empty", "batches"},
	"sign-in-openid": {"sign-in", "sign-in"},
	"sign-in-bare":   {"bare", "sign-in"},
}

// pictured returns the name of the picture of an address, "" = there is none.
func pictured(kind, path string) string {
	for name, is := range furtherPictures {
		if kind == is.kind && path == Path+is.address {
			return name
		}
	}
	for _, is := range pictureOf {
		if kind == "plain" && is.address != "" && Path+is.address == path {
			return is.name
		}
	}
	return ""
}

// TestEachPageHasItsPicture: each route that shows a page has a picture, which docs/console.md shows, and
// so has what looks otherwise; where one stands for several routes it is said why.
func TestEachPageHasItsPicture(t *testing.T) {
	t.Parallel()
	const docs = "../../../docs/"
	text, err := os.ReadFile(docs + "console.md")
	if err != nil {
		t.Fatal(err)
	}
	there := func(name, of string) {
		if !strings.Contains(string(text), "](console/"+name+".png)") {
			t.Errorf("docs/console.md does not show %s.png, the picture of %s", name, of)
		} else if _, err := os.Stat(docs + "console/" + name + ".png"); err != nil {
			t.Errorf("the picture of %s: %v: `make documents` takes it", of, err)
		}
	}
	for name, is := range furtherPictures {
		there(name, is.address)
	}
	of := map[string]string{}
	for _, r := range (&Console{}).Routes() {
		route, shows := strings.CutPrefix(r.Pattern, "GET "+Path)
		if !shows || strings.HasSuffix(route, ".csv") {
			continue
		}
		is, known := pictureOf[route]
		switch {
		case !known:
			t.Errorf("the page %s has no picture", route)
		case is.name == "": // no page
		case is.why == "" && of[is.name] != "":
			t.Errorf("why does %s.png stand for %s and for %s?", is.name, of[is.name], route)
		default:
			if is.why == "" {
				of[is.name] = route
			}
			there(is.name, route)
		}
	}
	for route, is := range pictureOf {
		if is.name != "" && of[is.name] == "" {
			t.Errorf("%s.png is the picture of no page of its own, but of %s", is.name, route)
		}
	}
}
